"""Where the bytes of a node go: which medium holds which client cache and which worker tier."""

from dataclasses import dataclass, field
from functools import cached_property

from alluxio_fuse.plan.intent import Medium, StageWish
from alluxio_fuse.plan.rules.caches import (
    BLOCK,
    PAGE,
    SMALLEST_CACHE,
    SMALLEST_TIER,
    client_cache_footprint,
    client_cache_need,
    client_cache_share,
    tier_footprint,
)
from alluxio_fuse.plan.rules.stage import SMALLEST_PART, stage_footprint, staged_share
from alluxio_fuse.plan.sizes import Sizes
from alluxio_fuse.plan.units import MIB, round_down

ALIASES: dict[Medium, str] = {"memory": "MEM", "ssd": "SSD", "hdd": "HDD"}
SPEED: dict[Medium, int] = {"memory": 0, "ssd": 1, "hdd": 2}


@dataclass(frozen=True)
class Shape:
    """What the planner knows of a dataset: its files, how it is to be cached, (uid, gid, mode) of its readers."""

    name: str
    index: int
    sizes: Sizes
    writable: bool
    within: int | None
    pin: bool
    share: float | None
    through_cluster: bool
    readers: tuple[int, int, str] = (0, 0, "0755")
    source: str = ""
    stage: StageWish = "off"

    @cached_property
    def files(self) -> int:
        return self.sizes.files

    @cached_property
    def size(self) -> int:
        return self.sizes.bytes

    @cached_property
    def pages(self) -> int:
        """Pages of a client cache that holds the set."""
        return self.sizes.parts(PAGE)

    @cached_property
    def blocks(self) -> int:
        """Blocks of workers that hold the set, and requests that bring it from the under store."""
        return self.sizes.parts(BLOCK)

    @cached_property
    def bytes_per_page(self) -> float:
        """The less a page holds, the more requests a client cache saves with each of its bytes."""
        return self.sizes.bytes_per_part(PAGE)

    @property
    def staged(self) -> bool:
        """Whether it is staged where it can be, so that its path is not that of its FUSE mount."""
        return self.stage != "off"

    @property
    def local(self) -> bool:
        """Whether the source is a folder of each node, the generated sample's included."""
        return not self.source or self.source.startswith("file://")

    @cached_property
    def cache_need(self) -> int:
        return client_cache_need(self.size)

    @cached_property
    def footprint(self) -> int:
        return client_cache_footprint(self.cache_need, self.pages, self.size)


@dataclass(frozen=True, slots=True)
class Room:
    """A medium that caches may use. `base`: the folder below which ours lie; capacity in bytes."""

    name: str
    medium: Medium
    base: str
    capacity: int
    device: str | None = None
    inodes: int | None = None
    wipe: bool = False


@dataclass(frozen=True, slots=True)
class ClientCache:
    """A dataset's page store on a node; size 0: none."""

    room: Room | None
    size: int
    footprint: int
    share: float


@dataclass(frozen=True, slots=True)
class Stage:
    """A dataset's copy on a node: the bytes of the medium that it takes, and which part of the dataset it is."""

    room: Room
    footprint: int
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Tier:
    """A folder of the worker: its quota, and the bytes of the medium that this takes."""

    room: Room
    quota: int
    footprint: int


@dataclass(slots=True)
class Layout:
    """What one node holds."""

    stages: dict[str, Stage] = field(default_factory=dict)
    client_caches: dict[str, ClientCache] = field(default_factory=dict)
    tiers: list["Tier"] = field(default_factory=list)
    worker_need: int = 0

    def used(self, room: Room) -> int:
        """Bytes of a medium that are given away."""
        return sum(held.footprint for held in self._held if held.room == room)

    @property
    def memory(self) -> int:
        """Bytes of memory that caches take."""
        return sum(held.footprint for held in self._held if held.room and held.room.medium == "memory")

    @property
    def rooms(self) -> list[Room]:
        """The media that hold something."""
        return list(dict.fromkeys(held.room for held in self._held if held.room))

    @property
    def _held(self) -> list[Stage | ClientCache | Tier]:
        return [*self.stages.values(), *self.client_caches.values(), *self.tiers]

    @property
    def capacity(self) -> int:
        """Bytes that this node holds of datasets."""
        return self.tier_capacity + sum(cache.size for cache in self.client_caches.values())

    @property
    def tier_capacity(self) -> int:
        """Bytes that this node's worker holds."""
        return sum(tier.quota for tier in self.tiers)


def allocate(
    rooms: tuple[Room, ...],
    datasets: tuple[Shape, ...],
    need: int,
    caps: dict[str, float],
    *,
    hosts_worker: bool,
    alone: bool,
    layers: bool,
    client_rooms: tuple[Room, ...],
) -> Layout:
    """Lay out one node.

    `need`: bytes of one worker; `alone`: there is no other; `caps`: the part of each set that a FUSE heap can index;
    `layers`: whether the node can stage a part of a set; `client_rooms`: those of `rooms` that client caches may take.
    """
    layout = Layout(worker_need=need if hosts_worker else 0)
    left = {room.name: room.capacity for room in rooms}
    _stages(layout, rooms, datasets, left, alone=alone, layers=layers)
    cached = [shape for shape in datasets if caps.get(shape.name, 0) > 0 and shape.name not in layout.stages]
    _client_caches(layout, client_rooms, cached, caps, left, alone=alone)
    for shape in datasets:
        layout.client_caches.setdefault(shape.name, ClientCache(None, 0, 0, 0.0))
    if hosts_worker:
        _tiers(layout, rooms, left)
    return layout


def _stages(
    layout: Layout,
    rooms: tuple[Room, ...],
    datasets: tuple[Shape, ...],
    left: dict[str, int],
    *,
    alone: bool,
    layers: bool,
) -> None:
    """Pinned sets first, then small files (which gain most), each whole on the first medium that holds it.

    Of a set that fits nowhere and need not be whole, a part is staged on the medium that holds most of it. What need
    not be staged leaves the worker what client caches leave it.
    """
    wished = [shape for shape in datasets if shape.staged]
    need = tier_footprint(max(layout.worker_need, SMALLEST_TIER), "memory") if layout.worker_need else 0
    kept = _kept_for_worker(need, rooms, sum(shape.size for shape in wished), alone)
    for shape in sorted(wished, key=lambda shape: (not shape.pin, shape.bytes_per_page, shape.name)):
        required = shape.stage == "require"
        free = {room.name: left[room.name] - (0 if required else kept[room.name]) for room in rooms}
        taken = {room.name: stage_footprint(shape.sizes, room.medium) for room in rooms}
        room = next((room for room in rooms if taken[room.name] <= free[room.name]), None)
        if room:
            stage = Stage(room, taken[room.name])
        elif required or not layers or not rooms:
            continue
        else:
            room = max(rooms, key=lambda room: free[room.name])
            budget = round_down(max(0, free[room.name]), MIB)
            stage = Stage(room, budget, staged_share(shape.sizes, room.medium, budget))
            if stage.share < SMALLEST_PART:
                continue
        left[room.name] -= stage.footprint
        layout.stages[shape.name] = stage


def _client_caches(
    layout: Layout,
    rooms: tuple[Room, ...],
    cached: list[Shape],
    caps: dict[str, float],
    left: dict[str, int],
    *,
    alone: bool,
) -> None:
    """Pinned sets first, then small files (which gain most), whole where a medium holds them whole, else a part.

    Sets come in the order of what a page of theirs holds: one request to a worker brings a page, or a small file.
    """
    kept = _kept_for_worker(layout.worker_need, rooms, sum(shape.footprint for shape in cached), alone)
    order = sorted(cached, key=lambda shape: (not shape.pin, shape.bytes_per_page, shape.name))
    rest = []
    for shape in order:
        limits = {room.name: _limit(shape, room, caps) for room in rooms}
        for room in rooms:
            if shape.footprint <= min(left[room.name] - kept[room.name], limits[room.name]):
                left[room.name] -= shape.footprint
                layout.client_caches[shape.name] = ClientCache(room, shape.cache_need, shape.footprint, 1.0)
                break
        else:
            rest.append(shape)
    whole = sum(shape.size for shape in rest)
    available = {room.name: left[room.name] - kept[room.name] for room in rooms}
    for shape in rest if rooms else []:
        room = max(rooms, key=lambda room: min(available[room.name], _limit(shape, room, caps)))
        granted = min(available[room.name] * shape.size / whole, _limit(shape, room, caps))
        size = round_down(granted * shape.cache_need / shape.footprint, max(MIB, shape.cache_need // 64))
        if size < SMALLEST_CACHE:
            continue
        footprint = min(int(granted), client_cache_footprint(size, shape.pages, shape.size))
        left[room.name] -= footprint
        layout.client_caches[shape.name] = ClientCache(room, size, footprint, client_cache_share(size, shape.size))


def _limit(shape: Shape, room: Room, caps: dict[str, float]) -> float:
    """Bytes of a medium that a dataset may take: its declared share, and what its FUSE heap can index."""
    declared = room.capacity * shape.share if shape.share is not None else float("inf")
    cap = caps[shape.name]
    return min(declared, shape.footprint * cap if cap < 1 else float("inf"))


def _kept_for_worker(need: int, rooms: tuple[Room, ...], client: int, alone: bool) -> dict[str, int]:
    """What client caches (`client` bytes if whole) leave to the worker, on the largest disk, else in memory.

    Workers of several nodes hold the sets first: they are what keeps cold reads from being multiplied. A node on its
    own is served best by a whole client cache.
    """
    kept = dict.fromkeys((room.name for room in rooms), 0)
    memory = next((room for room in rooms if room.medium == "memory"), None)
    if not need or not rooms or (memory and client + tier_footprint(need, "memory") <= memory.capacity):
        return kept
    keeper = max([room for room in rooms if room.medium != "memory"] or rooms, key=lambda room: room.capacity)
    least = keeper.capacity - client if alone and client < keeper.capacity else keeper.capacity // (2 if alone else 1)
    kept[keeper.name] = min(need, max(least, tier_footprint(SMALLEST_TIER, keeper.medium)), keeper.capacity)
    return kept


def _tiers(layout: Layout, rooms: tuple[Room, ...], left: dict[str, int]) -> None:
    """One tier where one medium holds the need; else disks, fastest first; else whatever is left everywhere."""
    need = max(layout.worker_need, SMALLEST_TIER)
    for medium in SPEED:
        group = [room for room in rooms if room.medium == medium]
        if sum(left[room.name] for room in group) >= tier_footprint(need, medium):
            layout.tiers = _spread(group, left, need)
            return
    for room in rooms:
        quota = round_down(left[room.name] / (tier_footprint(MIB, room.medium) / MIB), MIB)
        if quota >= SMALLEST_TIER:
            layout.tiers.append(Tier(room, quota, tier_footprint(quota, room.medium)))


def _spread(group: list[Room], left: dict[str, int], need: int) -> list[Tier]:
    """A need over the disks of one medium, in proportion to their room."""
    total = sum(left[room.name] for room in group)
    quotas = [(room, -(-need * left[room.name] // total)) for room in group if left[room.name] >= MIB]
    return [Tier(room, quota, tier_footprint(quota, room.medium)) for room, quota in quotas]

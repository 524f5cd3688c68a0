"""Where the bytes of a node go: which medium holds which client cache and which worker tier."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from alluxio_fuse.plan.intent.datasets import StageWish
from alluxio_fuse.plan.intent.parts import Medium
from alluxio_fuse.plan.nfs import is_export
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
from alluxio_fuse.plan.rules.stage import SMALLEST_PART, stage_footprint, staged_share, unstaged
from alluxio_fuse.plan.schemes import FOLDER
from alluxio_fuse.plan.sizes import Sizes
from alluxio_fuse.plan.units import MIB, round_down

Rests = Literal["never", "last", "before the worker"]
ALIASES: dict[Medium, str] = {"memory": "MEM", "ssd": "SSD", "hdd": "HDD"}
SPEED: dict[Medium, int] = {"memory": 0, "ssd": 1, "hdd": 2}


@dataclass(frozen=True)
class Shape:
    """What the planner knows of a dataset: its files, how it is to be cached, (uid, gid, mode) of its readers.

    source_keeps: seconds of `within` for which the source's own mount may answer with what was before.
    """

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
    source_keeps: int = 0

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
        return not self.source or self.source.startswith(FOLDER)

    @property
    def mounted(self) -> bool:
        """Whether nodes see the source as a folder, their own or a server's."""
        return self.local or is_export(self.source)

    @property
    def caches_within(self) -> int | None:
        """Seconds that are left of the freshness for Alluxio's caches and the kernel's; None where nothing changes."""
        return None if self.within is None else self.within - self.source_keeps

    @cached_property
    def cache_need(self) -> int:
        return client_cache_need(self.size)

    @cached_property
    def footprint(self) -> int:
        return client_cache_footprint(self.cache_need, self.pages, self.size)


@dataclass(frozen=True, slots=True)
class Space:
    """A medium that caches may use. `base`: the folder below which ours lie; capacity in bytes.

    sources: of datasets, folders of the node that are on it already.
    """

    name: str
    medium: Medium
    base: str
    capacity: int
    device: str | None = None
    inodes: int | None = None
    sources: frozenset[str] = frozenset()
    wipe: bool = False


@dataclass(frozen=True, slots=True)
class ClientCache:
    """A dataset's page store on a node; size 0: none. share: which part it holds of what no copy holds."""

    space: Space | None
    size: int
    footprint: int
    share: float


@dataclass(frozen=True, slots=True)
class Stage:
    """A dataset's copy on a node: the bytes of the medium that it takes, and which part of the dataset it is."""

    space: Space
    footprint: int
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Tier:
    """A folder of the worker: its quota, and the bytes of the medium that this takes."""

    space: Space
    quota: int
    footprint: int


@dataclass(slots=True)
class Layout:
    """What one node holds."""

    stages: dict[str, Stage] = field(default_factory=dict)
    client_caches: dict[str, ClientCache] = field(default_factory=dict)
    tiers: list["Tier"] = field(default_factory=list)
    worker_need: int = 0

    def used(self, space: Space) -> int:
        """Bytes of a medium that are given away."""
        return sum(held.footprint for held in self._held if held.space == space)

    def left(self, spaces: Iterable[Space]) -> dict[str, int]:
        """Bytes of each medium, by name, that are not given away."""
        return {space.name: space.capacity - self.used(space) for space in spaces}

    def staged(self, dataset: str) -> float:
        """The part of a dataset that this node stages: readers of it need neither FUSE nor network."""
        return self.stages[dataset].share if dataset in self.stages else 0.0

    def rest(self, shape: Shape) -> Shape:
        """What of a dataset this node's copy of a part leaves to FUSE; all of it where there is no copy."""
        stage = self.stages.get(shape.name)
        if stage is None or stage.share == 1:
            return shape
        return replace(shape, sizes=unstaged(shape.sizes, stage.space.medium, stage.footprint))

    def inodes(self, space: Space, shapes: Sequence[Shape], blocks: int) -> dict[str, int]:
        """Files and folders on a medium, by what they are of; blocks: of the worker's."""
        pages = [
            (self.rest(shape).pages, self.client_caches[shape.name].share)
            for shape in shapes
            if self.client_caches[shape.name].space == space
        ]
        copies = [(shape.files, self.stages[shape.name]) for shape in shapes if shape.name in self.stages]
        return {
            "client cache": int(sum(2 * count * share for count, share in pages)),
            "worker": blocks if any(tier.space == space for tier in self.tiers) else 0,
            "staged": sum(files * (1 if one.share == 1 else 2) for files, one in copies if one.space == space),
        }

    def cached(self, dataset: str) -> float:
        """The part of a dataset that this node's client cache holds beside what it stages."""
        return self.client_caches[dataset].share * (1 - self.staged(dataset))

    @property
    def memory(self) -> int:
        """Bytes of memory that caches take."""
        return sum(held.footprint for held in self._held if held.space and held.space.medium == "memory")

    @property
    def spaces(self) -> list[Space]:
        """The media that hold something."""
        return list(dict.fromkeys(held.space for held in self._held if held.space))

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
    spaces: tuple[Space, ...],
    datasets: tuple[Shape, ...],
    need: int,
    caps: dict[str, float],
    *,
    hosts_worker: bool,
    alone: bool,
    layers: bool,
    client_spaces: tuple[Space, ...],
    rests: Rests,
) -> Layout:
    """Lay out one node.

    `need`: bytes of one worker; `alone`: there is no other; `caps`: the part of each set that a FUSE heap can index;
    `layers`: whether the node can stage a part of a set; `client_spaces`: those of `spaces` for client caches;
    `rests`: when what copies of parts leave out gets client caches, in memory or on an SSD.
    """
    layout = Layout(worker_need=need if hosts_worker else 0)
    _stages(layout, spaces, datasets, layout.left(spaces), alone=alone, layers=layers)
    cached = [shape for shape in datasets if caps.get(shape.name, 0) > 0 and shape.name not in layout.stages]
    kept = _kept_for_worker(layout.worker_need, client_spaces, sum(shape.footprint for shape in cached), alone)
    free = {name: size - kept.get(name, 0) for name, size in layout.left(spaces).items()}
    _client_caches(layout, client_spaces, cached, caps, free)
    parts = [shape for shape in datasets if caps.get(shape.name, 0) > 0 and 0 < layout.staged(shape.name) < 1]
    fast = tuple(space for space in client_spaces if space.medium != "hdd")
    if rests == "before the worker":
        _rest_caches(layout, fast, parts, caps, layout.worker_need)
    if hosts_worker:
        _tiers(layout, spaces, layout.left(spaces))
    if rests == "last":
        _rest_caches(layout, fast, parts, caps, 0)
    for shape in datasets:
        layout.client_caches.setdefault(shape.name, ClientCache(None, 0, 0, 0.0))
    return layout


def _stages(
    layout: Layout,
    spaces: tuple[Space, ...],
    datasets: tuple[Shape, ...],
    left: dict[str, int],
    *,
    alone: bool,
    layers: bool,
) -> None:
    """Sets that must be, pinned ones, small files (which gain most): each whole on the first medium that holds it.

    Of a set that fits nowhere and need not be whole, a part is staged on the medium that holds most of it. What need
    not be staged leaves the worker what client caches leave it. Nothing is copied to the disk that its source is on.
    """
    wished = [shape for shape in datasets if shape.staged]
    need = tier_footprint(max(layout.worker_need, SMALLEST_TIER), "memory") if layout.worker_need else 0
    kept = _kept_for_worker(need, spaces, sum(shape.size for shape in wished), alone)
    for shape in sorted(
        wished, key=lambda shape: (shape.stage != "require", not shape.pin, shape.bytes_per_page, shape.name)
    ):
        required = shape.stage == "require"
        free = {space.name: left[space.name] - (0 if required else kept[space.name]) for space in spaces}
        taken = {space.name: stage_footprint(shape.sizes, space.medium) for space in spaces}
        others = [space for space in spaces if shape.source not in space.sources]
        space = next((space for space in others if taken[space.name] <= free[space.name]), None)
        if space:
            stage = Stage(space, taken[space.name])
        elif required or not layers or not others:
            continue
        else:
            space = max(others, key=lambda space: free[space.name])
            budget = round_down(max(0, free[space.name]), MIB)
            stage = Stage(space, budget, staged_share(shape.sizes, space.medium, budget))
            if stage.share < SMALLEST_PART:
                continue
        left[space.name] -= stage.footprint
        layout.stages[shape.name] = stage


def _client_caches(
    layout: Layout,
    spaces: tuple[Space, ...],
    cached: list[Shape],
    caps: dict[str, float],
    free: dict[str, int],
) -> None:
    """Whole where a medium holds a set whole, else a part. `free`: bytes of each medium; what is given is taken off."""
    rest = _whole_caches(layout, spaces, cached, caps, free)
    whole = sum(shape.size for shape in rest)
    available = dict(free)
    for shape in rest if spaces else []:
        space = max(spaces, key=lambda space: min(available[space.name], _limit(shape, space, caps)))
        granted = min(available[space.name] * shape.size / whole, _limit(shape, space, caps))
        size = round_down(granted * shape.cache_need / shape.footprint, max(MIB, shape.cache_need // 64))
        if size < SMALLEST_CACHE:
            continue
        footprint = min(int(granted), client_cache_footprint(size, shape.pages, shape.size))
        free[space.name] -= footprint
        layout.client_caches[shape.name] = ClientCache(space, size, footprint, client_cache_share(size, shape.size))


def _whole_caches(
    layout: Layout,
    spaces: tuple[Space, ...],
    cached: list[Shape],
    caps: dict[str, float],
    free: dict[str, int],
) -> list[Shape]:
    """Pinned sets first, then small files (which gain most): each on the first medium with room. Returns the others.

    Sets come in the order of what a page of theirs holds: one request to a worker brings a page, or a small file.
    """
    rest = []
    for shape in sorted(cached, key=lambda shape: (not shape.pin, shape.bytes_per_page, shape.name)):
        limits = {space.name: _limit(shape, space, caps) for space in spaces}
        for space in spaces:
            if shape.footprint <= min(free[space.name], limits[space.name]):
                free[space.name] -= shape.footprint
                layout.client_caches[shape.name] = ClientCache(space, shape.cache_need, shape.footprint, 1.0)
                break
        else:
            rest.append(shape)
    return rest


def _rest_caches(
    layout: Layout, spaces: tuple[Space, ...], parts: list[Shape], caps: dict[str, float], need: int
) -> None:
    """Client caches of what copies of parts leave out, each whole: to measure what one lacked would empty it.

    need: bytes of a worker, whose share they leave.
    """
    rests = {shape: layout.rest(shape) for shape in parts}
    indexed = {shape.name: caps[shape.name] * shape.pages / rest.pages for shape, rest in rests.items()}
    kept = _kept_for_worker(need, spaces, sum(rest.footprint for rest in rests.values()), alone=True)
    free = {name: size - kept[name] for name, size in layout.left(spaces).items()}
    _whole_caches(layout, spaces, list(rests.values()), indexed, free)


def _limit(shape: Shape, space: Space, caps: dict[str, float]) -> float:
    """Bytes of a medium that a dataset may take: its declared share, and what its FUSE heap can index."""
    declared = space.capacity * shape.share if shape.share is not None else float("inf")
    cap = caps[shape.name]
    return min(declared, shape.footprint * cap if cap < 1 else float("inf"))


def _kept_for_worker(need: int, spaces: tuple[Space, ...], client: int, alone: bool) -> dict[str, int]:
    """What client caches (`client` bytes if whole) leave to the worker, on the largest disk, else in memory.

    Workers of several nodes hold the sets first: they are what keeps cold reads from being multiplied. A node on its
    own is served best by a whole client cache.
    """
    kept = dict.fromkeys((space.name for space in spaces), 0)
    memory = next((space for space in spaces if space.medium == "memory"), None)
    if not need or not spaces or (memory and client + tier_footprint(need, "memory") <= memory.capacity):
        return kept
    keeper = max([space for space in spaces if space.medium != "memory"] or spaces, key=lambda space: space.capacity)
    least = keeper.capacity - client if alone and client < keeper.capacity else keeper.capacity // (2 if alone else 1)
    kept[keeper.name] = min(need, max(least, tier_footprint(SMALLEST_TIER, keeper.medium)), keeper.capacity)
    return kept


def _tiers(layout: Layout, spaces: tuple[Space, ...], left: dict[str, int]) -> None:
    """One tier where one medium holds the need; else disks, fastest first; else whatever is left everywhere."""
    need = max(layout.worker_need, SMALLEST_TIER)
    for medium in SPEED:
        group = [space for space in spaces if space.medium == medium]
        if sum(left[space.name] for space in group) >= tier_footprint(need, medium):
            layout.tiers = _spread(group, left, need)
            return
    for space in spaces:
        quota = round_down(left[space.name] / (tier_footprint(MIB, space.medium) / MIB), MIB)
        if quota >= SMALLEST_TIER:
            layout.tiers.append(Tier(space, quota, tier_footprint(quota, space.medium)))


def _spread(group: list[Space], left: dict[str, int], need: int) -> list[Tier]:
    """A need over the disks of one medium, in proportion to their space."""
    total = sum(left[space.name] for space in group)
    quotas = [(space, -(-need * left[space.name] // total)) for space in group if left[space.name] >= MIB]
    return [Tier(space, quota, tier_footprint(quota, space.medium)) for space, quota in quotas]

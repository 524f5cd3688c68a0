"""The memory of one node, divided: level of the services, room for caches, and the sum that must hold."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final

from alluxio_fuse.plan.fleet import Fleet, Kind
from alluxio_fuse.plan.layout import Shape
from alluxio_fuse.plan.rules import jvm, memory
from alluxio_fuse.plan.rules.jvm import Jvm, Level
from alluxio_fuse.plan.rules.stage import keeper_memory
from alluxio_fuse.plan.values import Value

SMALLEST_METADATA: Final = 1000
ROLES: Final[dict[str, jvm.Role]] = {
    "master": "master",
    "job_master": "job_master",
    "worker": "worker",
    "job_worker": "job_worker",
}


@dataclass(frozen=True, slots=True)
class Grant:
    """How many metadata entries and cache pages the heap of one FUSE process is made for."""

    entries: int
    pages: int
    cache_cap: float


@dataclass(frozen=True)
class Budget:
    """How a node's memory is divided, bytes; keeper: of the program that keeps copies of datasets, without these."""

    total: Value[int]
    reserve: Value[int]
    workload: Value[int]
    page_cache: Value[int]
    level: Level
    jvms: dict[str, Jvm]
    grants: dict[str, Grant]
    keeper: int = 0

    @property
    def available(self) -> int:
        """What is there for us and the page cache."""
        return self.total.amount - self.reserve.amount - self.workload.amount

    @cached_property
    def services(self) -> int:
        return sum(process.total for process in self.jvms.values()) + self.keeper

    @property
    def caches(self) -> int:
        """What is left for memory caches; below zero: the services do not fit."""
        return self.available - self.services - self.page_cache.amount

    def arithmetic(self) -> dict[str, int]:
        """The parts that make up the node's memory without caches."""
        parts = {"reserve": self.reserve.amount, "training": self.workload.amount, "page cache": self.page_cache.amount}
        return parts | {name: process.total for name, process in self.jvms.items()} | {"keeper": self.keeper}


def whole(shape: Shape, room: int) -> Grant:
    """Everything of a set: each file, a tenth more for folders, each page; of one that is copied once, the least.

    No more pages are held than fit into `room` bytes: the set is halved while a half is as large.
    """
    if shape.stage == "require":
        return _least(shape)
    part = 1.0
    while shape.footprint * part / 2 >= room:
        part /= 2
    return Grant(shape.files + shape.files // 10, int(shape.pages * part), part)


def _largest_medium(kind: Kind) -> int:
    """Bytes that a client cache of the node has at most: it lies on one medium."""
    return max([kind.memory, *(one.capacity for one in kind.volumes), *(one.size for one in kind.disks)])


def budget(kind: Kind, fleet: Fleet, *, hosts_worker: bool) -> Budget:
    """Full services where they take at most half of what training leaves, else lean ones with what metadata fits."""
    total = memory.memory_total(kind.memory, kind.memory_limit)
    reserve = fleet.overrides.apply("node", "memory_reserve", memory.memory_reserve(total.amount))
    workload = memory.memory_workload(total.amount, kind.workload_memory, kind.gpu_node)
    floor = fleet.overrides.apply("node", "page_cache_floor", memory.page_cache_floor(total.amount, workload.amount))
    available = total.amount - reserve.amount - workload.amount
    shapes = fleet.shapes if kind.gpu_node else ()
    staged = [shape for shape in shapes if shape.staged]
    keeper = keeper_memory(sum(shape.files for shape in staged)) if staged else 0

    def made(level: Level, grants: dict[str, Grant]) -> Budget:
        processes = _processes(kind, fleet, level, grants, hosts_worker=hosts_worker)
        return Budget(total, reserve, workload, floor, level, processes, grants, keeper)

    if fleet.upstream:
        nothing = {shape.name: Grant(0, 0, 0.0) for shape in shapes}
        return _bounded_upstream(made("upstream", nothing), made("full", nothing))
    everything = {shape.name: whole(shape, _largest_medium(kind)) for shape in shapes}
    full = made("full", everything)
    if full.services <= available // 2 and full.caches > 0:
        return full
    bare = made("lean", {shape.name: _least(shape) for shape in shapes})
    if bare.caches <= 0:
        return bare
    return made("lean", _granted(shapes, everything, bare.caches // 2))


def _granted(shapes: tuple[Shape, ...], everything: dict[str, Grant], room: int) -> dict[str, Grant]:
    """Grants that fit: page indexes first (a client cache is worth most), then metadata."""
    index = sum(grant.pages for grant in everything.values()) * jvm.CLIENT_PER_PAGE
    paged = _step(room * 0.8 / index) if index else 1.0
    names = sum(grant.entries for grant in everything.values()) * jvm.CLIENT_PER_ENTRY
    named = _step((room - index * paged) / names) if names else 1.0
    return {
        shape.name: Grant(
            max(int(everything[shape.name].entries * named), min(SMALLEST_METADATA, shape.files)),
            int(everything[shape.name].pages * paged),
            everything[shape.name].cache_cap * paged,
        )
        for shape in shapes
    }


def _least(shape: Shape) -> Grant:
    return Grant(min(SMALLEST_METADATA, shape.files), 0, 0.0)


def _step(part: float) -> float:
    """A part in steps of 1/32: nodes that differ by less get the same FUSE processes."""
    return min(1.0, int(part * 32) / 32)


def _bounded_upstream(wished: Budget, full: Budget) -> Budget:
    """Alluxio's own heaps; where they take more than half of the node, each gives up alike what it has over ours."""
    room = wished.available // 2
    excess = wished.services - full.services
    if wished.services <= room or excess <= 0:
        return wished
    part = max(0.0, (room - full.services) / excess)
    jvms = {name: _between(full.jvms[name], process, part) for name, process in wished.jvms.items()}
    return replace(wished, jvms=jvms)


def _between(least: Jvm, most: Jvm, part: float) -> Jvm:
    def middle(low: Value[int], high: Value[int]) -> Value[int]:
        amount = low.amount + (int((high.amount - low.amount) * part) >> 20 << 20)
        return replace(high, amount=amount, why=f"{high.why}, bounded by what the node has")

    return Jvm(middle(least.heap, most.heap), middle(least.direct, most.direct), most.native)


def _processes(
    kind: Kind, fleet: Fleet, level: Level, grants: dict[str, Grant], *, hosts_worker: bool
) -> dict[str, Jvm]:
    """Every Java process of a node, in the order of the data path's services."""
    processes: dict[str, tuple[Value[int], Value[int]]] = {}
    load = fleet.load
    if kind.master:
        processes["master"] = (jvm.master_heap(level, load), jvm.direct_memory(level, "master"))
        processes["job_master"] = (jvm.job_heap(level, "job_master"), jvm.direct_memory(level, "job_master"))
    if kind.gpu_node and hosts_worker:
        processes["worker"] = (jvm.worker_heap(level, load), jvm.worker_direct(level, load))
        processes["job_worker"] = (jvm.job_heap(level, "job_worker"), jvm.direct_memory(level, "job_worker"))
    for name, grant in grants.items():
        processes[f"fuse/{name}"] = _fuse(level, grant.entries, grant.pages)
    return {name: _jvm(name, level, heap, direct, fleet) for name, (heap, direct) in processes.items()}


@lru_cache(maxsize=8192)
def _fuse(level: Level, entries: int, held: int) -> tuple[Value[int], Value[int]]:
    return jvm.fuse_heap(level, entries, held), jvm.direct_memory(level, "fuse")


@lru_cache(maxsize=8192)
def _native(level: Level, role: jvm.Role, heap: int, commands: int) -> Value[int]:
    return jvm.native_memory(level, role, heap, commands)


def _jvm(service: str, level: Level, heap: Value[int], direct: Value[int], fleet: Fleet) -> Jvm:
    heap = fleet.overrides.apply(service, "heap", heap)
    role = ROLES.get(service, "fuse")
    native = _native(level, role, heap.amount, jvm.commands(role, by_fluid=fleet.intent.capabilities.by_fluid))
    return Jvm(heap, fleet.overrides.apply(service, "direct_memory", direct), native)

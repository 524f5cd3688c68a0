"""Heaps, direct memory, flags and container limits of the Java services."""

from dataclasses import dataclass
from typing import Final, Literal

from alluxio_fuse.plan.rules.caches import BLOCK
from alluxio_fuse.plan.units import GIB, KIB, MIB, format_size, round_up
from alluxio_fuse.plan.values import Value, rule

Level = Literal["full", "lean", "upstream"]
Role = Literal["master", "job_master", "worker", "job_worker", "fuse"]

HEAP: Final[dict[Level, dict[Role, int]]] = {
    "full": {"master": 1024, "job_master": 512, "worker": 1024, "job_worker": 512, "fuse": 1024},
    "lean": {"master": 320, "job_master": 192, "worker": 224, "job_worker": 192, "fuse": 288},
    "upstream": {"master": 8192, "job_master": 1024, "worker": 4096, "job_worker": 1024, "fuse": 1024},
}
DIRECT: Final[dict[Level, dict[Role, int]]] = {
    "full": {"master": 128, "job_master": 64, "worker": 512, "job_worker": 128, "fuse": 512},
    "lean": {"master": 32, "job_master": 32, "worker": 64, "job_worker": 32, "fuse": 128},
    "upstream": {"master": 1024, "job_master": 256, "worker": 4096, "job_worker": 256, "fuse": 4096},
}
NATIVE: Final[dict[Level, dict[Role, int]]] = {
    "full": {"master": 448, "job_master": 288, "worker": 416, "job_worker": 288, "fuse": 512},
    "lean": {"master": 288, "job_master": 224, "worker": 288, "job_worker": 224, "fuse": 288},
    "upstream": {"master": 448, "job_master": 288, "worker": 416, "job_worker": 288, "fuse": 512},
}
#: Thousandths of a processor that a pod's container asks for: as the chart by itself, and where nodes are small.
CPU_REQUEST: Final[dict[Role, int]] = {"master": 500, "job_master": 100, "worker": 1000, "job_worker": 100, "fuse": 500}
SMALL_CPU_REQUEST: Final[dict[Role, int]] = {
    "master": 100,
    "job_master": 50,
    "worker": 200,
    "job_worker": 50,
    "fuse": 100,
}
MASTER_PER_FILE: Final = 4 * KIB
MASTER_PER_NODE: Final = 2 * MIB
WORKER_PER_CLIENT: Final = 64 * MIB
WORKER_PER_BLOCK: Final = KIB
CLIENT_PER_ENTRY: Final = 4 * KIB
CLIENT_PER_PAGE: Final = 512
COMPRESSED_POINTERS: Final = 31 * GIB
#: Flags of every JVM: {heap} and {direct} are MiB.
FLAGS: Final = (
    "-Xms{heap}m",
    "-Xmx{heap}m",
    "-XX:MaxDirectMemorySize={direct}m",
    "-XX:+Use{collector}GC",
    "-XX:+ExitOnOutOfMemoryError",
)
#: Of a command that runs beside a master in its container: `fs count` took 1.3 s of a processor with these, 2.4 s
#: without. Of a folder with 100,000 files it took 176 MiB of memory (Alluxio 2.9.6, JDK 17).
COMMAND_FLAGS: Final = ("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
COMMAND_MEMORY: Final = 192 * MIB
#: That Fluid and we run at once: its controller's, its probe's, and ours.
COMMANDS_OF_FLUID: Final = 3
#: What logs garbage collection, by the first Java that knows it.
GC_LOG: Final = {8: "-verbose:gc", 11: "-Xlog:gc:stdout:time,uptime"}


@dataclass(frozen=True, slots=True)
class Load:
    """What the services of a plan have to carry: files and blocks of all datasets, nodes, clients of one worker."""

    files: int
    blocks: int
    nodes: int
    clients: int


@dataclass(frozen=True, slots=True)
class Jvm:
    """The memory of one Java process, bytes; tmpfs pages that it writes are not in it."""

    heap: Value[int]
    direct: Value[int]
    native: Value[int]

    @property
    def total(self) -> int:
        return self.heap.amount + self.direct.amount + self.native.amount


@rule("Alluxio: about 4 KB of master memory per file (PR #13530)")
def master_heap(level: Level, load: Load) -> tuple[int, str]:
    """Bytes: a base, 4 KiB for each file, 2 MiB for each node."""
    if level == "upstream":
        return HEAP[level]["master"] * MIB, "Alluxio's own default"
    heap = HEAP[level]["master"] * MIB + load.files * MASTER_PER_FILE + load.nodes * MASTER_PER_NODE
    return round_up(heap, 32 * MIB), f"{HEAP[level]['master']}Mi + 4Ki for each of {load.files} files + 2Mi per node"


@rule("its job table is small: loads are tracked per file in batches")
def job_heap(level: Level, role: Role) -> tuple[int, str]:
    """Bytes of a job master's or job worker's heap."""
    return HEAP[level][role] * MIB, f"{level} base"


@rule("about 1 KiB of metadata per block")
def worker_heap(level: Level, load: Load) -> tuple[int, str]:
    """Bytes: a base and 1 KiB for each block the worker may hold."""
    if level == "upstream":
        return HEAP[level]["worker"] * MIB, "Alluxio's own default"
    heap = HEAP[level]["worker"] * MIB + load.blocks * WORKER_PER_BLOCK
    return round_up(heap, 32 * MIB), f"{HEAP[level]['worker']}Mi + 1Ki for each of {load.blocks} blocks"


@rule("Alluxio: 64 MB per concurrent client on a worker (PR #13870)")
def worker_direct(level: Level, load: Load) -> tuple[int, str]:
    """Bytes of direct memory: network buffers of the clients that read at once."""
    if level == "upstream":
        return DIRECT[level]["worker"] * MIB, "Alluxio's own default"
    direct = DIRECT[level]["worker"] * MIB + load.clients * WORKER_PER_CLIENT
    return direct, f"{DIRECT[level]['worker']}Mi + 64Mi for each of {load.clients} concurrent clients"


@rule("a load holds each block of a batch in direct memory, and its pool keeps as much again: seen on 2.9.6")
def load_batch(level: Level) -> tuple[int, str]:
    """Blocks that a worker loads at once: twice as many must fit into its direct memory."""
    batch = DIRECT[level]["worker"] * MIB // (2 * BLOCK)
    return batch, f"2 x {batch} blocks of {format_size(BLOCK)} in {DIRECT[level]['worker']}Mi of direct memory"


@rule("Alluxio: about 4 KB of client heap per cached path; page index measured at about 0.5 KiB a page")
def fuse_heap(level: Level, entries: int, pages: int) -> tuple[int, str]:
    """Bytes: a base, 4 KiB for each metadata entry, 0.5 KiB for each page of the client cache."""
    if level == "upstream":
        return HEAP[level]["fuse"] * MIB, "Alluxio's own default"
    heap = HEAP[level]["fuse"] * MIB + entries * CLIENT_PER_ENTRY + pages * CLIENT_PER_PAGE
    why = f"{HEAP[level]['fuse']}Mi + 4Ki for each of {entries} metadata entries + 512 bytes for each of {pages} pages"
    return round_up(heap, 32 * MIB), why


@rule("buffers of requests in flight")
def direct_memory(level: Level, role: Role) -> tuple[int, str]:
    """Bytes of direct memory of a service that serves no blocks."""
    return DIRECT[level][role] * MIB, "Alluxio's own default" if level == "upstream" else f"{level} base"


@rule("JDK 17: metaspace, code cache, thread stacks; RocksDB in the master, request buffers in FUSE")
def native_memory(level: Level, role: Role, heap: int, commands: int) -> tuple[int, str]:
    """Bytes outside heap and direct memory. commands: that run at once in the service's container."""
    native, why = NATIVE[level][role] * MIB + heap // 20, f"{NATIVE[level][role]}Mi + 5 % of the heap for the collector"
    if not commands:
        return native, why
    beside = f"{format_size(COMMAND_MEMORY)} for each of {commands} commands in its container"
    return native + commands * COMMAND_MEMORY, f"{why} + {beside}"


def commands(role: Role, *, by_fluid: bool) -> int:
    """Commands that run at once in a service's container; elsewhere its native memory has room for one."""
    return COMMANDS_OF_FLUID if by_fluid and role == "master" else 0


@rule("a command is a JVM of its own, and takes what it may")
def command_flags() -> tuple[list[str], str]:
    """Flags of commands that run in the service's container."""
    return list(COMMAND_FLAGS), f"within {format_size(COMMAND_MEMORY)}, and short-lived"


@rule("a limit below heap + direct + native is how services get killed")
def container_memory(jvm_heap: int, direct: int, native: int, tmpfs: int) -> tuple[int, str]:
    """Bytes of the container's limit. tmpfs pages are charged to the container that writes them."""
    why = f"heap {format_size(jvm_heap)} + direct {format_size(direct)} + native {format_size(native)}"
    if tmpfs:
        why += f" + {format_size(tmpfs)} of tmpfs, charged to the container that writes it"
    return round_up(jvm_heap + direct + native + tmpfs, MIB), why


@rule("one CPU silently means SerialGC")
def collector(cpus: int) -> tuple[str, str]:
    """The garbage collector, which is always named."""
    return "Serial" if cpus < 2 else "G1", f"{cpus} CPUs"


@rule("each pool of a JVM is sized for the processors that it sees")
def jvm_extra(cpus: int) -> tuple[list[str], str]:
    """Flags beside those of memory, collector, log and exit, which a chart makes of values."""
    return [f"-XX:ActiveProcessorCount={cpus}"], f"{cpus} CPUs"


@rule("JDK release notes: removed flags stop a JVM from starting")
def jvm_flags(heap: int, direct: int, java: int, cpus: int) -> tuple[list[str], str]:
    """Flags that start this JDK."""
    chosen = collector(cpus).amount
    flags = [flag.format(heap=heap // MIB, direct=direct // MIB, collector=chosen) for flag in FLAGS]
    log = GC_LOG[max(first for first in GC_LOG if first <= java)]
    return [*flags, log, *jvm_extra(cpus).amount], f"JDK {java}, {cpus} CPUs: Use{chosen}GC, stop when out of memory"


@rule("a pod that asks for more than its node has left is never placed")
def cpu_request(role: Role, scarce: bool) -> tuple[int, str]:
    """Thousandths of a processor, the same on every node. scarce: see `requests_scarce`."""
    if scarce:
        return SMALL_CPU_REQUEST[role], "beside training some node has too few for the chart's own requests"
    return CPU_REQUEST[role], "the chart's own request"


def requests_scarce(left: float, datasets: int) -> bool:
    """Whether the chart's own requests of all services exceed the processors `left` beside training."""
    return sum(CPU_REQUEST.values()) + (datasets - 1) * CPU_REQUEST["fuse"] > 1000 * left


@rule("training gets its CPUs first")
def active_cpus(cpus: float, workload: float) -> tuple[int, str]:
    """CPUs that each JVM sizes its pools for."""
    return max(1, int(cpus - workload)), f"{cpus:g} less {workload:g} of training, at least 1"

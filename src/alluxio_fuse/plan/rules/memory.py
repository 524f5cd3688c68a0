"""How a node's memory is divided: training first, then everything of ours, each byte counted once."""

from alluxio_fuse.plan.units import GIB, MIB, format_size, round_up
from alluxio_fuse.plan.values import rule

TRAINING_SHARE = 0.75


@rule("facts of the node")
def memory_total(total: int, limit: int | None) -> tuple[int, str]:
    """Bytes that may be planned with."""
    if limit is not None and limit < total:
        return limit, f"the cgroup allows {format_size(limit)} of the node's {format_size(total)}"
    return total, "all memory of the node"


@rule("kubelet's and systemd's own reservations have this order")
def memory_reserve(total: int) -> tuple[int, str]:
    """Bytes for the operating system: 6 %, from 384 MiB to 8 GiB."""
    return min(max(round_up(total * 0.06, MIB), 384 * MIB), 8 * GIB), "6 % for the operating system, 384Mi to 8Gi"


@rule("alluxio_workload_memory")
def memory_workload(total: int, declared: int | None, trains: bool) -> tuple[int, str]:
    """Bytes that training gets before anything of ours."""
    if declared is not None:
        return declared, "declared: training gets its share first"
    if not trains:
        return 0, "nothing trains on a node without mounts"
    return int(total * TRAINING_SHARE), "not declared: 75 % of the node, training gets its share first"


@rule("alluxio_workload_cpus")
def cpus_workload(cpus: float, declared: float | None, trains: bool) -> tuple[float, str]:
    """CPUs that training gets."""
    if declared is not None:
        return declared, "declared"
    return (cpus * TRAINING_SHARE, "not declared: 75 % of the node") if trains else (0.0, "nothing trains here")


@rule("a second epoch is read from it")
def page_cache_floor(total: int, workload: int) -> tuple[int, str]:
    """Bytes that stay free for the page cache, whatever the caches would like."""
    ours = total - workload
    if ours < 8 * GIB:
        return 128 * MIB, "small node: 128Mi"
    return round_up(ours * 0.1, MIB), "10 % of what training leaves"


@rule("each byte is counted once: heaps, direct and native memory, tmpfs pages of tiers and client caches")
def memory_services(size: int) -> tuple[int, str]:
    """Bytes of all containers of ours."""
    return size, "all services of ours and their memory caches"


@rule("total - reserve - training - services")
def memory_page_cache(size: int, floor: int) -> tuple[int, str]:
    """Bytes that are left for the page cache."""
    return size, f"what is left; at least {format_size(floor)} is kept free"


@rule("footprints of the services")
def level(name: str) -> tuple[str, str]:
    """How large the services are made: full, lean, or Alluxio's own defaults (upstream)."""
    return name, {
        "full": "full services take at most half of what training leaves",
        "lean": "a small node: small heaps, metadata cached as far as memory goes",
        "upstream": "Alluxio's own heaps, bounded by what the node has",
    }[name]


def sum_text(parts: dict[str, int]) -> str:
    """The arithmetic of a refusal: `2Gi reserve + 1Gi master = 3Gi`."""
    terms = " + ".join(f"{format_size(size)} {name}" for name, size in parts.items() if size)
    return f"{terms} = {format_size(sum(parts.values()))}"

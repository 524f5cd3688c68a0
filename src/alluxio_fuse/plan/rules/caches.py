"""Sizes of client caches and worker tiers."""

from typing import Final

from alluxio_fuse.plan.units import KIB, MIB, format_size, round_up
from alluxio_fuse.plan.values import rule

PAGE: Final = MIB
BLOCK: Final = 64 * MIB
STORE_OVERHEAD: Final = 0.05
PER_PAGE: Final = 4 * KIB
HIGH: Final = 0.99
LOW: Final = 0.8
SMALLEST_CACHE: Final = 128 * MIB
SMALLEST_TIER: Final = 256 * MIB


def pages(files: int, size: int) -> int:
    """Pages that a set takes: a file has at least one."""
    return files + size // PAGE


def blocks(files: int, size: int) -> int:
    """Blocks that a set takes: a file has at least one."""
    return files + size // BLOCK


def client_cache_need(files: int, size: int) -> int:
    """Bytes of page store that hold a whole set: Alluxio keeps 5 % of a LOCAL store for itself."""
    return round_up(size * (1 + STORE_OVERHEAD) + 64 * MIB, MIB)


def client_cache_footprint(cache: int, files: int, size: int) -> int:
    """Bytes that a page store of `cache` bytes takes: pages are files, 4 KiB lost on each (block rounding, inode)."""
    held = min(1.0, cache / client_cache_need(files, size))
    return round_up(cache + pages(files, size) * PER_PAGE * held, MIB)


def client_cache_share(cache: int, size: int) -> float:
    """Part of a set that a page store holds."""
    return min(1.0, max(0, cache - 64 * MIB) / (1 + STORE_OVERHEAD) / size) if cache else 0.0


def tier_need(size: int, files: int, workers: int) -> int:
    """Bytes of one worker's tiers, so that all workers together hold the set below the high watermark."""
    spread = 1.0 if workers == 1 else 1.2  # blocks are placed by hash: some workers get more
    return round_up((size / workers * spread + blocks(files, size) / workers * PER_PAGE) / HIGH + 256 * MIB, MIB)


def tier_footprint(quota: int, medium: str) -> int:
    """Bytes that a tier folder takes: a tmpfs is 2 % larger than the quota, for its own rounding."""
    return round_up(quota * 1.02, KIB) if medium == "memory" else quota


@rule("measured: x3 to x7 over the worker path; small files and whole sets first")
def client_cache(size: int, medium: str, whole: bool, need: int) -> tuple[int, str]:
    """Bytes of one dataset's page store on a node."""
    if not size:
        return 0, "no medium has room: reads come from the worker"
    state = "the whole set" if whole else f"{size / need:.0%} of the {format_size(need)} that the whole set needs"
    return size, f"{state}, on {medium}"


@rule("an eviction starts at the high watermark: the set must fit below it")
def tier_quota(quota: int, need: int, medium: str) -> tuple[int, str]:
    """Bytes of one tier folder."""
    if quota >= need:
        return quota, f"this worker's part of all datasets, on {medium}"
    return quota, f"what {medium} has left; {format_size(need)} would hold this worker's part of all datasets"


@rule("Alluxio reserves 5 % of a LOCAL page store; tmpfs rounds each page file up to 4 KiB")
def tmpfs_size(size: int, used_for: str) -> tuple[int, str]:
    """Bytes of a tmpfs. tmpfs keeps to its size, ramfs would not."""
    return size, f"bounds {used_for}; a tmpfs keeps to its size, a ramfs would grow until the node dies"

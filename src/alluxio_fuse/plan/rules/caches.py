"""Sizes of client caches and worker tiers."""

from typing import Final

from alluxio_fuse.plan.intent.parts import Medium
from alluxio_fuse.plan.parts import PlannedCache, PlannedTier
from alluxio_fuse.plan.units import KIB, MIB, format_size, round_up
from alluxio_fuse.plan.values import rule

PAGE: Final = MIB
BLOCK: Final = 16 * MIB
STORE_OVERHEAD: Final = 0.05
PER_PAGE: Final = 4 * KIB
HIGH: Final = 0.99
LOW: Final = 0.8
SMALLEST_CACHE: Final = 128 * MIB
SMALLEST_TIER: Final = 256 * MIB


def client_cache_need(size: int) -> int:
    """Bytes of page store that hold a whole set: Alluxio keeps 5 % of a LOCAL store for itself."""
    return round_up(size * (1 + STORE_OVERHEAD) + 64 * MIB, MIB)


def client_cache_footprint(cache: int, pages: int, size: int) -> int:
    """Bytes that a page store of `cache` bytes takes, for a set of `size` bytes in `pages` pages.

    Pages are files, 4 KiB lost on each (block rounding, inode).
    """
    held = min(1.0, cache / client_cache_need(size))
    return round_up(cache + pages * PER_PAGE * held, MIB)


def client_cache_share(cache: int, size: int) -> float:
    """Part of a set that a page store holds."""
    return min(1.0, max(0, cache - 64 * MIB) / (1 + STORE_OVERHEAD) / size) if cache else 0.0


def tier_need(size: int, blocks: int, workers: int) -> int:
    """Bytes of one worker's tiers, so that all workers together hold the set below the high watermark.

    blocks: those of the whole set; each is a file, as a page is.
    """
    spread = 1.0 if workers == 1 else 1.2  # blocks are placed by hash: some workers get more
    return round_up((size / workers * spread + blocks / workers * PER_PAGE) / HIGH, MIB)


def tier_footprint(quota: int, medium: str) -> int:
    """Bytes that a tier folder takes: a tmpfs is 2 % larger than the quota, for its own rounding."""
    return round_up(quota * 1.02, KIB) if medium == "memory" else quota


@rule("measured: x3 to x7 over the worker path; whole sets and small files first")
def client_cache(
    size: int, medium: Medium | None, path: str | None, share: float, need: int, *, staged: float
) -> tuple[PlannedCache, str]:
    """One dataset's page store on a node; bytes. share: what it holds of what is not staged; staged: what is."""
    is_part = 0 < staged < 1
    amount = PlannedCache(
        enabled=path is not None,
        medium=medium,
        path=path,
        size=size,
        page_size=PAGE,
        of_rest=is_part and share >= 1,
    )
    if path is None:
        return amount, "no page store: reads come from a worker"
    whole = "the whole rest" if is_part else "the whole set"
    state = whole if share >= 1 else f"{share:.0%} of the set; all of it takes {format_size(need)}"
    return amount, f"{state}, on {medium}"


@rule("one tier where one medium holds the need, fastest first, else what each medium has left; tmpfs, never ramfs")
def tiers(
    folders: list[tuple[Medium, str, int]], need: int, *, with_room: bool = False
) -> tuple[list[PlannedTier], str]:
    """Tiers of these (medium, path, quota in bytes).

    need: bytes for this worker's part of all datasets and, if `with_room`, of alluxio_room.
    """
    amount = [PlannedTier(medium, path, quota, high=HIGH, low=LOW) for medium, path, quota in folders]
    held = sum(quota for _, _, quota in folders)
    part = "this worker's part of all datasets" + (" and of alluxio_room" if with_room else "")
    if held >= need:
        return amount, f"{part}, {format_size(need)}"
    return amount, f"{format_size(held)} are left; {format_size(need)} would hold {part}"

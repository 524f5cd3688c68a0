"""Staged datasets: what a copy on a node takes, and what it gives."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from alluxio_fuse.plan.facts import Bucket
from alluxio_fuse.plan.parts import PlannedKeeper, PlannedStage
from alluxio_fuse.plan.sizes import Sizes
from alluxio_fuse.plan.units import KIB, MIB, format_size, round_up
from alluxio_fuse.plan.values import rule

BLOCK: Final = 4 * KIB  # of a filesystem, and a page of memory
PER_FILE: Final = {"memory": 1500, "ssd": 512, "hdd": 512}  # measured: 1,275 bytes of slab on a tmpfs; an inode
ROOM: Final = 1.02  # folders, and what a filesystem keeps of each file in blocks of its own
KEEPER: Final = 192 * MIB  # five processes that copy, 22 MiB each, and what they read ahead
KEEPER_PER_FILE: Final = 600  # measured: 484 bytes while it chooses the files of a part
KEEPER_CPU: Final = 50  # thousandths of a processor: it compares a file now and then
SMALLEST_PART: Final = 0.01  # of a dataset: less is not worth a composition


def stage_footprint(sizes: Sizes, medium: str) -> int:
    """Bytes of a medium that a whole copy takes."""
    return round_up((sizes.parts(BLOCK) * BLOCK + sizes.files * PER_FILE[medium]) * ROOM, MIB)


def staged_share(sizes: Sizes, medium: str, budget: int) -> float:
    """Part of a dataset's bytes in a copy of `budget` bytes that has the names of all files; small ones come first."""
    return sum(bucket.bytes * part for bucket, part in _held(sizes, medium, budget)) / sizes.bytes


def unstaged(sizes: Sizes, medium: str, budget: int) -> Sizes:
    """Sizes of the files that such a copy leaves to FUSE."""
    rest = [
        Bucket(bucket.bound, math.ceil(bucket.files * (1 - part)), math.ceil(bucket.bytes * (1 - part)))
        for bucket, part in _held(sizes, medium, budget)
        if part < 1
    ]
    return Sizes(tuple(rest), sizes.listed)


def _held(sizes: Sizes, medium: str, budget: int) -> Iterator[tuple[Bucket, float]]:
    """Each bucket of sizes, and the part of its files that a copy holds."""
    left = budget / ROOM - sizes.files * PER_FILE[medium]
    for bucket in sizes.buckets:
        taken = Sizes((bucket,)).parts(BLOCK) * BLOCK + bucket.files * PER_FILE[medium]
        yield bucket, min(1.0, max(0.0, left) / taken)
        left -= taken


@rule("measured: x10 over FUSE for small files, x7 for large ones; a whole copy needs neither FUSE nor Alluxio")
def stage(copy: PlannedStage, size: int) -> tuple[PlannedStage, str]:
    """The copy of a dataset of `size` bytes on a node."""
    if copy.share == 1:
        return copy, f"the whole set on {copy.medium}, {format_size(copy.footprint)}"
    held = f"{copy.share:.0%} of the set, {format_size(round(copy.share * size))}, small files first"
    return copy, f"{held}; no medium has room for more than {format_size(copy.footprint)}, and FUSE serves the rest"


def keeper_memory(files: int) -> int:
    """Bytes that the keeper of so many files needs beside their copies."""
    return round_up(KEEPER + files * KEEPER_PER_FILE, MIB)


@rule("a pod is charged for what it writes to memory, and its limit reserves on the node what a run writes")
def keeper(own: int, tmpfs: int) -> tuple[PlannedKeeper, str]:
    """The keeper's pod; own: bytes that it needs itself, tmpfs: bytes of copies in memory."""
    held = f" and {format_size(tmpfs)} for copies in memory, whoever writes them" if tmpfs else ""
    return PlannedKeeper(own + tmpfs, tmpfs, KEEPER_CPU), f"{format_size(own)} for itself{held}"


@rule("a set is staged where a medium of the node has room for it, or for a part where the kernel layers mounts")
def nothing_staged(
    parent: Mapping[str, Any], footprint: int, *, layers: bool, on_source: bool
) -> tuple[PlannedStage, str]:
    """Of a dataset that need not be staged; footprint: what a whole copy would take.

    on_source: a medium was left out, as the source is on it.
    """
    part = "nor for a part of it" if layers else "and the node stages no parts of sets"
    medium = "no medium but the source's own disk" if on_source else "no medium"
    why = f"nothing: {medium} has room for {format_size(footprint)}, {part}; FUSE serves it"
    return PlannedStage("none", "", f"{parent['path']}/data", dict(parent), 0, share=0.0), why

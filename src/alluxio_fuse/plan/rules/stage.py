"""Staged datasets: what a copy on a node takes, and what it gives."""

from collections.abc import Mapping
from typing import Any, Final

from alluxio_fuse.plan.parts import PlannedStage
from alluxio_fuse.plan.sizes import Sizes
from alluxio_fuse.plan.units import KIB, MIB, format_size, round_up
from alluxio_fuse.plan.values import rule

BLOCK: Final = 4 * KIB  # of a filesystem, and a page of memory
PER_FILE: Final = {"memory": 1500, "ssd": 512, "hdd": 512}  # measured: 1,275 bytes of slab on a tmpfs; an inode
ROOM: Final = 1.02  # folders, and what a filesystem keeps of each file in blocks of its own


def stage_footprint(sizes: Sizes, medium: str) -> int:
    """Bytes of a medium that a whole copy takes."""
    return round_up((sizes.parts(BLOCK) * BLOCK + sizes.files * PER_FILE[medium]) * ROOM, MIB)


@rule("measured: x10 over FUSE for small files, x7 for large ones; a whole copy needs neither FUSE nor Alluxio")
def stage(medium: str, folder: str, parent: Mapping[str, Any], footprint: int) -> tuple[PlannedStage, str]:
    """The copy of a dataset on a node; parent: the folder that readers enter, {path, uid, gid, mode}."""
    made = PlannedStage(medium, folder, f"{parent['path']}/data", dict(parent), footprint)
    return made, f"the whole set on {medium}, {format_size(footprint)}"

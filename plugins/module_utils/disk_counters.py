"""What a disk has read, by the kernel's counters: of all that read it meanwhile, not of one program."""

from __future__ import annotations

import os
from pathlib import Path

SECTOR = 512  # bytes, whatever the disk's own sectors are (Documentation/admin-guide/iostats.rst)
STATS = "/proc/diskstats"
FIELDS = {"reads": 3, "bytes": 5, "wait_s": 6}  # columns of a disk; times are in milliseconds there
WRAP_S = 2**32 / 1000  # the kernel prints times of 32 bits

Counters = dict[str, float]


def counters(folder: str | None, stats: str = STATS) -> Counters | None:
    """Of the disk or partition that holds a folder: what it has read since it is there; None where no disk does.

    reads: requests. wait_s: of all of them together, from the request to its answer.
    """
    if not folder:
        return None
    try:
        device = Path(folder).stat().st_dev
        lines = Path(stats).read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    number = [str(os.major(device)), str(os.minor(device))]
    row = next((fields for line in lines if (fields := line.split())[:2] == number), None)
    if row is None:
        return None
    found = {name: float(row[column]) for name, column in FIELDS.items()}
    scale = {"reads": 1, "bytes": SECTOR, "wait_s": 1e-3}
    return {name: value * scale[name] for name, value in found.items()}


def difference(before: Counters | None, after: Counters | None) -> Counters | None:
    """What was added meanwhile; None where either is not known."""
    if not before or not after:
        return None
    added = {name: after[name] - before[name] for name in after}
    return added | {"wait_s": added["wait_s"] % WRAP_S}

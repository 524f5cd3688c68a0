"""What a disk has read, by the kernel's counters: of all that read it meanwhile, not of one program."""

from __future__ import annotations

import os
from pathlib import Path

SECTOR = 512  # bytes, whatever the disk's own sectors are (Documentation/admin-guide/iostats.rst)
STATS = "/proc/diskstats"
FIELDS = {"reads": 3, "bytes": 5, "wait_s": 6, "queue_s": 13}  # columns of a disk; times are in milliseconds there

Counters = dict[str, float]


def counters(folder: str | None, stats: str = STATS) -> Counters | None:
    """Of the disk or partition that holds a folder: what it has read since it is there; None where no disk does.

    reads: requests, after the kernel has merged neighbours. wait_s: of all of them together, from the request to its
    answer. queue_s: the number of requests under way, over time; writes are in it.
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
    scale = {"reads": 1, "bytes": SECTOR, "wait_s": 1e-3, "queue_s": 1e-3}
    return {name: value * scale[name] for name, value in found.items()}


def difference(before: Counters | None, after: Counters | None) -> Counters | None:
    """What was added meanwhile; None where either is not known."""
    return {name: after[name] - before[name] for name in after} if before and after else None

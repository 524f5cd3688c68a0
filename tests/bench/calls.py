"""Where the time of a small file goes: each call as one reader waits for it, and Alluxio's own time for what it caused.

What a call takes beyond Alluxio's time is the kernel's: the request to the FUSE process, its wake-up, the way back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import counters, residency
from rich import box
from rich.console import Console
from rich.table import Table

CALLS = ("open", "first read", "further reads", "close")
CAUSES = {  # of a call of ours: what FUSE is asked. The kernel asks for names when a path is opened
    "open": ("Fuse.Getattr", "Fuse.Open"),
    "first read": ("Fuse.Read",),
    "further reads": (),
    "close": ("Fuse.Flush", "Fuse.Release"),
}
BUFFER = 1 << 20


def explained(mount: str, memory: str, names: Sequence[str], metrics: str) -> str:
    """A table: median microseconds of each call on the mount and in memory, and the requests that reached FUSE."""
    residency.drop_caches()
    before = timers(metrics)
    on_mount = by_call(mount, names)
    after = timers(metrics)
    residency.drop_caches()
    in_memory = by_call(memory, names)
    table = Table("call", "mount", "memory", "asked of FUSE, for each file", "in Alluxio", box=box.SIMPLE)
    for call in CALLS:
        asked = [name for name in CAUSES[call] if name in after]
        counts = {name: (after[name]["count"] - before.get(name, {"count": 0})["count"]) / len(names) for name in asked}
        table.add_row(
            call,
            f"{on_mount[call]:.0f}",
            f"{in_memory[call]:.0f}",
            ", ".join(f"{name.removeprefix('Fuse.')} {count:.1f} times" for name, count in counts.items()),
            ", ".join(f"{1000 * after[name]['p50']:.0f}" for name in asked),
        )
    together = (sum(times.values()) for times in (on_mount, in_memory))
    table.add_row("together", *(f"{total:.0f}" for total in together))
    out = StringIO()
    Console(file=out, width=120).print(table)
    return out.getvalue().rstrip()


def by_call(root: str, names: Sequence[str]) -> dict[str, float]:
    """Median microseconds of each call over all files, one after the other."""
    taken: dict[str, list[float]] = {call: [] for call in CALLS}
    buffers = [bytearray(BUFFER)]
    for name in names:
        path = str(Path(root, name))
        times = [time.perf_counter()]
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        times.append(time.perf_counter())
        length = os.readv(fd, buffers)
        times.append(time.perf_counter())
        while length:
            length = os.readv(fd, buffers)
        times.append(time.perf_counter())
        os.close(fd)
        times.append(time.perf_counter())
        for call, begun, ended in zip(CALLS, times[:-1], times[1:], strict=True):
            taken[call].append((ended - begun) * 1e6)
    return {call: median(values) for call, values in taken.items()}


def timers(address: str) -> dict[str, dict[str, Any]]:
    """Alluxio's timers of a FUSE process: how often, and milliseconds, the latest calls weighing most."""
    found: dict[str, dict[str, Any]] = counters.fetch(address).get("timers", {})
    return found

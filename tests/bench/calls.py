"""Where the time of a small file goes: each call as one reader waits for it, and the requests that it caused.

What a call takes beyond the same call in memory is the way through FUSE: the kernel's request, the wake-up of the FUSE
process, its work, the way back. Alluxio's timers count whole milliseconds, so of it they tell how often, not how long.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from statistics import median

from ansible_collections.alluxio.fuse.plugins.module_utils import counters, residency
from rich import box
from rich.console import Console
from rich.table import Table

CALLS = ("open", "first read", "further reads", "close")
CAUSES = {  # of a call of ours: what FUSE is asked. The kernel asks for names when a path is opened
    "open": ("Getattr", "Open"),
    "first read": ("Read",),
    "further reads": (),
    "close": ("Flush", "Release"),
}
BUFFER = 1 << 20


def explained(mount: str, memory: str, names: Sequence[str], metrics: str) -> str:
    """A table: median microseconds of each call on the mount and in memory, and the requests that reached FUSE."""
    residency.drop_caches()
    before = counters.flatten(counters.fetch(metrics))
    on_mount = by_call(mount, names)
    after = counters.flatten(counters.fetch(metrics))
    residency.drop_caches()
    in_memory = by_call(memory, names)
    table = Table("call", "mount", "memory", "asked of FUSE, for each file", box=box.SIMPLE)
    for call in CALLS:
        asked = {name: f"Client.Fuse.{name}" for name in CAUSES[call]}
        times = {name: (after.get(key, 0) - before.get(key, 0)) / len(names) for name, key in asked.items()}
        said = ", ".join(f"{name} {count:.1f} times" for name, count in times.items())
        table.add_row(call, f"{on_mount[call]:.0f}", f"{in_memory[call]:.0f}", said)
    together = (sum(taken.values()) for taken in (on_mount, in_memory))
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

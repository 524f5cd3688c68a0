"""Emulated training, as MLPerf Storage does it: accelerators take batches at their rate from processes that read.

Standard library only. An accelerator is a process that waits for a batch and then sleeps as long as its computation
takes; its utilisation is that time over all that went by.
"""

from __future__ import annotations

import os
import select
import time
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import reader

STALL_S = 300
AHEAD = 2  # batches per accelerator that may be ready before they are wanted
LEAST_STEPS = 3  # the first one of an accelerator is not counted: until then nothing could have been read ahead


def steps_of(files: int, accelerators: int, batch: int) -> int:
    """Batches for each accelerator in one epoch over `files`; 0 where they are too few to tell anything."""
    steps = files // (accelerators * batch)
    return steps if steps >= LEAST_STEPS else 0


def timed(root: str, entries: list[reader.Entry], readers: int, emulated: dict[str, Any]) -> dict[str, Any]:
    """Figures of the reader over one epoch, and `utilisation` of the accelerators.

    `emulated` has `accelerators`, `batch` (samples, a file each) and `compute_s` of a batch.
    """
    count, batch = emulated["accelerators"], emulated["batch"]
    steps = steps_of(len(entries), count, batch)
    if not steps:
        raise ValueError(
            f"{len(entries)} files are too few for {LEAST_STEPS} batches of {batch} for {count} accelerators"
        )
    used = entries[: steps * count * batch]
    batches = [used[at : at + batch] for at in range(0, len(used), batch)]
    room_out, room_in = os.pipe()
    ready_out, ready_in = os.pipe()
    os.write(room_in, bytes(AHEAD * count))

    def work(share: Any) -> Any:
        if share is None:
            return _accelerator(steps, emulated["compute_s"], ready_out, room_in)
        read = []
        for part in share:
            os.read(room_out, 1)
            read.append(reader.read_share(root, part))
            os.write(ready_in, b"b")
        return read

    busy = reader.busy_seconds()
    try:
        parts: list[Any] = [*(batches[i::readers] for i in range(readers)), *[None] * count]
        answers = reader.fork_map(work, parts)
    finally:
        for pipe in (room_out, room_in, ready_out, ready_in):
            os.close(pipe)
    shares = [share for answer in answers[:readers] for share in answer]
    figures = reader.figures(shares, used, reader.busy_seconds() - busy)
    computing = steps * emulated["compute_s"]
    whole = answers[readers:]
    return figures | {"readers": readers, "utilisation": sum(computing / seconds for seconds in whole) / count}


def _accelerator(steps: int, compute_s: float, ready: int, room: int) -> float:
    """Seconds from the first batch to the end of the last computation."""
    _take(ready)
    began = time.perf_counter()
    for step in range(steps):
        os.write(room, b"r")
        time.sleep(compute_s)
        if step + 1 < steps:
            _take(ready)
    return time.perf_counter() - began


def _take(ready: int) -> None:
    if not select.select([ready], [], [], STALL_S)[0]:
        raise OSError(f"no batch came for {STALL_S} s")
    os.read(ready, 1)

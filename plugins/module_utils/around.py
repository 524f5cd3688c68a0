"""What is looked at around a reading: counters once they have settled, and who else is at work."""

from __future__ import annotations

import os
import time
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import counters, reader

LISTEN_S = 0.2  # before a reading, for what others do on this node, and after it, for counters to settle
MOST_WAITS = 5


def settled(metrics: dict[str, Any]) -> dict[str, Any]:
    """Counters when they have stopped growing: a worker counts a stream when it is closed, a little after the read."""
    last = counters.snapshot(metrics, counters.SOURCES)
    for _ in range(MOST_WAITS):
        time.sleep(LISTEN_S)
        now = counters.snapshot(metrics, counters.SOURCES)
        if now == last:
            break
        last = now
    return last


def foreign_share() -> float:
    """Share of the node's processors that other programs keep busy: this one reads nothing meanwhile."""
    busy, begin = reader.busy_seconds(), time.monotonic()
    time.sleep(LISTEN_S)
    return (reader.busy_seconds() - busy) / (time.monotonic() - begin) / (os.cpu_count() or 1)

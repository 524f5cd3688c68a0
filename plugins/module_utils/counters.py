"""Alluxio's own counters over HTTP: where the bytes of a read came from."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

TIMEOUT_S = 10
Counters = dict[str, float]

FUSE_CALLS = "Client.Fuse.TotalCalls"  # that a FUSE process has answered
# counter of ours: (process, names of Alluxio; instances and tags after a further dot are added up)
SOURCES = {
    "client_cache": ("fuse", ["Client.CacheBytesReadCache"]),
    "client_external": ("fuse", ["Client.CacheBytesReadExternal"]),
    "client_local": ("fuse", ["Client.BytesReadLocal"]),
    "worker": ("worker", ["Worker.BytesReadRemote", "Worker.BytesReadDirect", "Worker.BytesReadDomain"]),
    "under_store": ("worker", ["Worker.BytesReadPerUfs"]),
    "fuse_calls": ("fuse", [FUSE_CALLS]),  # calls: all that a FUSE process without caches counts
}
LEVELS = {
    "client_cache_used": ("fuse", ["Client.CacheSpaceUsed"]),
    "worker_used": ("master", ["Cluster.CapacityUsed"]),
    "worker_capacity": ("master", ["Cluster.CapacityTotal"]),
}


def flatten(metrics: dict[str, Any]) -> Counters:
    """Value of each counter, meter and numeric gauge of one process, and how often each timer was used."""
    flat: Counters = {}
    for group in ("counters", "meters", "gauges", "timers"):
        for name, fields in metrics.get(group, {}).items():
            value = fields.get("count", fields.get("value"))
            if isinstance(value, (int, float)):
                flat.setdefault(name, value)
    return flat


def total(flat: Counters, name: str) -> float:
    """Sum of a counter over its instances and tags; Alluxio shows a counter only after it first counted."""
    return sum(value for key, value in flat.items() if key == name or key.startswith(f"{name}."))


def snapshot(addresses: dict[str, list[str]], wanted: dict[str, tuple[str, list[str]]]) -> dict[str, Any]:
    """Value of each wanted counter, summed over the processes at `addresses` ({fuse, worker, master: ["host:port"]}).

    A counter whose process cannot be asked is None and the reason is listed in `unreachable`.
    """
    flat: dict[str, list[Counters] | None] = {}
    unreachable = []
    for process in {process for process, _ in wanted.values()}:
        try:
            flat[process] = [flatten(fetch(address)) for address in addresses.get(process, [])]
        except (OSError, ValueError) as error:
            flat[process] = None
            unreachable.append(f"{process}: {error}")
    values: dict[str, Any] = {"unreachable": unreachable}
    for counter, (process, names) in wanted.items():
        found = flat[process]
        values[counter] = sum(total(one, name) for one in found for name in names) if found else None
    return values


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What was counted in between; negative where a process was started again."""
    counted = {key: _minus(after[key], before[key]) for key in before if key != "unreachable"}
    return {**counted, "unreachable": sorted({*before["unreachable"], *after["unreachable"]})}


def _minus(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def fetch(address: str, timeout: float = TIMEOUT_S, path: str = "metrics/json/") -> dict[str, Any]:
    """The metrics, or what is at another path, that the process at `address` ("host:port") shows; else an OSError."""
    # an environment's proxy must not stand between a node and its own counters
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{address}/{path}", timeout=timeout) as answer:
        metrics: dict[str, Any] = json.load(answer)
    return metrics

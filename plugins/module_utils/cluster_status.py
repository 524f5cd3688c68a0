"""What masters and workers say of themselves over HTTP: versions, who is lost, how full, what a store refused."""

from __future__ import annotations

import re
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import counters

ANSWER_S = 3.0
_FAILURES = re.compile(r"Failures\..*?UFS:(?P<store>.+?)(\.UFS_TYPE:.*)?$")

Said = dict[str, Any]


def ask(masters: list[str], workers: list[str]) -> Said:
    """{masters: {address: Master}, workers: {address: Worker}} of the web ports "host:port", asked all at once.

    Both have `why`, "" where the process answered. Master: {version, workers (live), lost, capacity, used (bytes),
    paths (mounted in the namespace)}. Worker: {version, failures: {under store: calls that failed since its start}}.
    """
    with ThreadPoolExecutor(max_workers=32) as pool:
        led = pool.map(_safely(_master), masters)
        served = pool.map(_safely(_worker), workers)
        return {"masters": dict(zip(masters, led)), "workers": dict(zip(workers, served))}  # noqa: B905 - Python 3.9


def failures(flat: counters.Counters) -> dict[str, int]:
    """{under store: calls that failed}, from the names that Alluxio gives to its counters of failed calls."""
    found: dict[str, int] = {}
    for name, count in flat.items():
        if (match := _FAILURES.search(name)) and count:
            store = urllib.parse.unquote(match["store"])
            found[store] = found.get(store, 0) + int(count)
    return found


def _safely(asked: Any) -> Any:
    def answer(address: str) -> Said:
        try:
            return {"why": "", **asked(address)}
        except (OSError, ValueError, KeyError) as error:
            return {"why": f"{address}: {getattr(error, 'reason', error)}"}

    return answer


def _master(address: str) -> Said:
    info = counters.fetch(address, ANSWER_S, "api/v1/master/info?raw_configuration=false")
    return {
        "version": info["version"],
        "workers": len(info["workers"]),
        "lost": len(info.get("lostWorkers") or []),
        "capacity": info["capacity"]["total"],
        "used": info["capacity"]["used"],
        "paths": sorted(info["mountPoints"]),
    }


def _worker(address: str) -> Said:
    info = counters.fetch(address, ANSWER_S, "api/v1/worker/info")
    return {"version": info["version"], "failures": failures(counters.flatten(counters.fetch(address, ANSWER_S)))}

"""What several nodes have trained together, as one run: their epochs added up, and compared with the manifest."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import counters, programs, reader, train_pod

ABOUT = ("name", "path", "kind", "root", "medium", "direct", "round", "loaders")
SHOWN = 4  # names of nodes


def where(hosts: Sequence[str]) -> str:
    """What the table calls the nodes."""
    if len(hosts) == 1:
        return hosts[0]
    more = ", …" if len(hosts) > SHOWN else ""
    return f"{len(hosts)} nodes ({', '.join(hosts[:SHOWN])}{more})"


def told_by(log: str) -> dict[str, Any] | None:
    """What a pod says in its log of its run; None if it did not come to that, or not all of it is there yet."""
    lines = [line for line in log.splitlines() if line.startswith(train_pod.TOLD)]
    try:
        found: dict[str, Any] | None = json.loads(lines[-1].removeprefix(train_pod.TOLD)) if lines else None
    except ValueError:
        return None
    return found


def is_whole(log: str) -> bool:
    """Whether the log has all that a pod says of its run."""
    return told_by(log) is not None


def failure(pods: Sequence[Mapping[str, Any]], count: int, why: str) -> str:
    """Why a run of so many pods has no result; empty if it has one. Each pod is {node, why, log}."""
    said = []
    for pod in pods:
        told = told_by(pod["log"])
        if told is None:
            last = (pod["log"].strip().splitlines() or ["it said nothing"])[-1]
            cut = "its log is cut off" if last.startswith(train_pod.TOLD) else last
            said.append(f"{pod['node']}: {pod['why'] or cut}")
        elif told.get("failed"):
            said.append(f"{told['node']}: {told['failed']}")
    if said or len(pods) == count:
        return "; ".join(said)
    return f"{len(pods)} of {count} pods are there: {why or 'somebody removed the others'}"


def result(
    run: Mapping[str, Any], pods: Sequence[Mapping[str, Any]], count: int, why: str, files: list[reader.Entry]
) -> dict[str, Any]:
    """A run as module train_run gives it, of what the pods of its Job have told; one that failed says why."""
    if failed := failure(pods, count, why):
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return {**{key: run.get(key) for key in ABOUT}, "at": at, "epochs": [], "failed": failed}
    return merged(run, [found for pod in pods if (found := told_by(pod["log"]))], files)


def merged(run: Mapping[str, Any], told: Sequence[Mapping[str, Any]], files: list[reader.Entry]) -> dict[str, Any]:
    """A run as module train_run gives it, of what each node has told.

    What the processes have added up among themselves is the same on all nodes, so the first one's is taken.
    """
    nodes = sorted(told, key=lambda one: int(one["index"]))
    first = nodes[0]
    return {
        **{key: run.get(key) for key in ABOUT},
        **{key: first[key] for key in ("at", "framework", "device", "listing_s")},
        "foreign_cpu": max(one["foreign_cpu"] for one in nodes),
        "processors": sum(one["processors"] for one in nodes),
        "epochs": [
            _epoch({one["node"]: epoch for one, epoch in zip(nodes, epochs, strict=True)}, files)
            for epochs in zip(*(one["epochs"] for one in nodes), strict=True)
        ],
    }


def _epoch(by_node: Mapping[str, Mapping[str, Any]], files: list[reader.Entry]) -> dict[str, Any]:
    epochs = list(by_node.values())
    first, resident = dict(epochs[0]), [one["resident_before"] for one in epochs]
    first.pop("read", None)
    compared = _compared({node: epoch["read"] for node, epoch in by_node.items()}, files) if "mount" in first else {}
    return {
        **first,
        **compared,
        "seconds": max(one["seconds"] for one in epochs),
        "cpu_s": sum(one["cpu_s"] for one in epochs),
        "resident_before": None if None in resident else fmean(resident),
        "disk": _added([one.get("disk") for one in epochs]),
        "counters": _counters([one["counters"] for one in epochs]),
    }


def _compared(read: Mapping[str, str], files: list[reader.Entry]) -> dict[str, Any]:
    """Each node has read its share: together they have read exactly the manifest. A problem names who read the file."""
    shown = {node: train_pod.unpacked(base64.b64decode(part)) for node, part in read.items()}
    found = programs.compare("".join(shown.values()), files)
    readers = {line.split(" ", 2)[2]: node for node, text in shown.items() for line in text.splitlines()}
    problems = [
        {**one, "what": f"{one['what']} on {readers[one['path']]}" if one["path"] in readers else one["what"]}
        for one in found["problems"]
    ]
    return {**found, "problems": problems}


def _added(several: Sequence[Mapping[str, float] | None]) -> dict[str, float] | None:
    found = [one for one in several if one]
    return {key: sum(one[key] for one in found) for key in found[0]} if len(found) == len(several) else None


def _counters(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Each node has asked its own FUSE process, and all of them the same workers."""
    added: dict[str, Any] = {}
    for name, (process, _) in counters.SOURCES.items():
        values = [one[name] for one in several]
        added[name] = values[0] if process != "fuse" else None if None in values else sum(values)
    return {**added, "unreachable": sorted({reason for one in several for reason in one["unreachable"]})}

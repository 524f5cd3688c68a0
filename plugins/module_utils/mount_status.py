"""What a node tells of its FUSE mounts. Only a child touches one: a stat of a hung mount never comes back."""

from __future__ import annotations

import json
import os
import time
import urllib.error
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import counters, fuse_connection, mount_table, users

ANSWER_S = 2.0  # that a process has for an answer about itself
PROGRESS_S = 3.0  # within which a process that serves has served something, if anything waits for it
AGAIN_S = 0.2

Seen = dict[str, Any]


def look(point: str, address: str | None, connections: Path) -> Seen:
    """{state, type, options, waiting, readers, cached, why} of a mount point.

    state: serves | not mounted | foreign (a mount, but not of FUSE) | dead (its process is gone) | hung (its process is
    there and answers nothing). address: host:port of the process's counters, None where it shows none.
    cached: bytes in the client cache, None where nobody tells. waiting: requests that wait in the kernel.
    """
    mount = mount_table.mount_at(mount_table.read_mounts(), point)
    process = ask(address)
    if mount is None or not mount["type"].startswith("fuse"):
        state = "foreign" if mount else "not mounted"
        why = f"a {mount['type']} is mounted there" if mount else process["why"]
        return {"state": state, "type": mount["type"] if mount else None, "why": why, "readers": [], "cached": None}
    found = {
        "type": mount["type"],
        "options": mount["options"],
        "waiting": fuse_connection.waiting(mount["device"], connections),
        "readers": users.readers_of(mount),
        "cached": process["cached"],
    }
    return {**found, **_judge(mount, address, process, connections)}


def _judge(mount: mount_table.Mount, address: str | None, process: Seen, connections: Path) -> Seen:
    if process["gone"]:
        return {"state": "dead", "why": f"the FUSE process is gone: {process['why']}"}
    if process["why"]:
        return {"state": "hung", "why": f"the FUSE process is there and does not answer: {process['why']}"}
    device = mount["device"]
    waits = fuse_connection.waiting(device, connections)
    if waits is None:  # the mount's own process is gone, or this is a pod that may not see connections
        return _without_connection(mount["point"], address)
    if not waits or process["calls"] is None:
        return {"state": "serves", "why": ""}
    deadline = time.monotonic() + PROGRESS_S
    while time.monotonic() < deadline:
        time.sleep(AGAIN_S)
        if not fuse_connection.waiting(device, connections) or ask(address)["calls"] != process["calls"]:
            return {"state": "serves", "why": ""}
    return {"state": "hung", "why": f"{waits} requests wait, and none was answered within {PROGRESS_S:g} s"}


def _without_connection(point: str, address: str | None) -> Seen:
    """By what the process of the mount itself answers, which the kernel keeps no copy of."""
    try:
        answer = mount_table.in_child(lambda: os.statvfs(point).f_namemax, PROGRESS_S)
    except OSError:
        other = "the one that answers serves another mount" if address else "none runs here"
        return {"state": "dead", "why": f"its FUSE process is gone, and {other}"}
    if answer == mount_table.HUNG:
        return {"state": "hung", "why": f"it has not answered within {PROGRESS_S:g} s"}
    return {"state": "serves", "why": ""}


def ask(address: str | None) -> Seen:
    """{calls, cached, gone, why}: calls that a FUSE process has served, and bytes in its client cache.

    gone: nobody listens there. why: what kept it from answering, "" where it did, or shows no counters at all.
    """
    nothing = {"calls": None, "cached": None, "gone": False, "why": ""}
    if not address:
        return nothing
    try:
        shown = counters.fetch(address, ANSWER_S)
    except (OSError, json.JSONDecodeError) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        return {**nothing, "gone": isinstance(cause, ConnectionRefusedError), "why": f"{address}: {cause}"}
    flat = counters.flatten(shown)
    calls = flat.get(counters.FUSE_CALLS)
    return {**nothing, "calls": calls, "cached": counters.total(flat, "Client.CacheSpaceUsed")}

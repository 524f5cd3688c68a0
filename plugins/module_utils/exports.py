"""Exports of NFS that are dataset sources, tried on a node by a mount that no other process sees."""

from __future__ import annotations

import errno
import os
import socket
import time
from functools import partial

from ansible_collections.alluxio.fuse.plugins.module_utils import mount_calls, mount_table, sources

PORT = 2049
MOUNTING_S = 20
ANSWER_S = 3.0
_POINT = "/mnt"  # in a namespace of its own: what others have there stays as it is

_STATES = {
    errno.ENODEV: ("unsupported", "the kernel has no NFS client"),
    errno.ENOENT: ("missing", "the server exports no such path"),
    errno.ENOTDIR: ("missing", "it is no folder"),
    errno.EACCES: ("denied", "the server does not let this node mount it"),
    errno.EPERM: ("denied", "the server does not let this node mount it"),
    errno.EPROTONOSUPPORT: ("unreachable", "the server does not speak this version"),
    errno.EINVAL: ("unsupported", "the kernel's NFS client does not know this version"),
}


def try_export(export: dict[str, str], uids: list[int], budget: float) -> sources.Source:
    """What :func:`.sources.read_source` tells of a folder, told of `export`: {server, path, options}.

    It is mounted read-only with these options, listed as each of `uids`, of whom the server may know none, and not
    mounted any more when this returns. `unsupported`: this node's kernel cannot mount it.
    """
    address = f"{export['server']}:{export['path']}"
    try:
        found = socket.getaddrinfo(export["server"], PORT, socket.AF_INET, socket.SOCK_STREAM)
    except OSError as error:
        return _state("unreachable", f"{export['server']}: {error.strerror}")
    options = f"{export['options']},addr={found[0][4][0]}"
    answer = mount_table.in_child(
        partial(_tried, address, options, uids, budget), MOUNTING_S + (budget + 2) * len(uids)
    )
    if answer == mount_table.HUNG:
        return _state("unreachable", f"{address} does not answer")
    return dict(answer)


def why_away(folder: str) -> str:
    """What keeps a mounted export from being read, "" if nothing does."""
    mount = mount_table.mount_at(mount_table.read_mounts(), folder)
    if mount is None or not mount["type"].startswith("nfs"):
        return f"nothing is mounted at {folder}: playbooks/nodes.yml mounts it"
    try:
        answer = mount_table.in_child(lambda: os.statvfs(folder).f_namemax, ANSWER_S)  # the server is always asked
    except OSError as error:
        return f"{mount['source']}: {error.strerror}"
    return f"{mount['source']} has not answered within {ANSWER_S:g} s" if answer == mount_table.HUNG else ""


def _tried(address: str, options: str, uids: list[int], budget: float) -> sources.Source:
    try:
        mount_calls.leave_namespace()
    except OSError as error:
        return _state("unsupported", f"this node lets nobody mount: {error.strerror}")
    try:
        mount_calls.mount("nfs", address, _POINT, options)
    except OSError as error:
        state, why = _STATES.get(error.errno or 0, ("unreachable", os.strerror(error.errno or errno.EIO)))
        return _state(state, f"{address}: {why} ({options.partition(',')[0]})")
    for uid in uids:
        answer = mount_table.in_child(lambda: sources.look(_POINT, time.monotonic() + budget), budget + 1, uid)
        if answer == mount_table.HUNG:
            return _state("unreachable", f"{address} does not answer")
        if answer["state"] != "ok":
            return {**answer, "detail": answer["detail"].replace(_POINT, address)}
    return dict(answer)


def _state(state: str, detail: str) -> sources.Source:
    return {"state": state, "detail": detail, "files": None, "bytes": None, "sizes": None}

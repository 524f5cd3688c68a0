"""State of file:// dataset sources, seen as the service user will see them."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import HUNG, in_child
from ansible_collections.alluxio.fuse.plugins.module_utils.sizes import Sizes
from ansible_collections.alluxio.fuse.plugins.module_utils.source_names import (
    has_control_character,
    hidden_name,
    unreadable_name,
)

Source = dict[str, Any]


def read_source(url: str, uid: int, budget: float, marker: dict[str, str] | None = None) -> Source:
    """{state, detail, files, bytes, sizes, number} of a file:// source; `state` is ok, or says why it cannot be read.

    state: ok | missing | empty | unreachable | denied | foreign. sizes: histogram as of :meth:`.sizes.Sizes.rows`.
    number: of the device that its folder is on, MAJ:MIN; "" where `state` is not ok.

    marker: {file, sha256} of a file without which the source is foreign: another filesystem than was meant. Counted is
    what a manifest holds: regular files with names that can be served, hidden ones left out. Counting stops after
    `budget` seconds; files, bytes and sizes are then None and `detail` says so.
    """
    path = unquote(urlsplit(url).path)
    try:
        answer = in_child(lambda: _look_here(path, time.monotonic() + budget, marker), budget + 2, uid)
    except OSError as error:
        answer = _failure(path, error)
    if answer == HUNG:
        return _state("unreachable", f"{path} does not answer: the mount that holds it hangs")
    return dict(answer)


def unreadable(paths: list[str], uid: int) -> dict[str, str]:
    """Of files, those that a user cannot read, and why."""
    found = {}
    for path in paths:
        try:
            answer = in_child(partial(_is_filled, path), 5, uid)
        except OSError as error:
            found[path] = error.strerror or str(error)
        else:
            if answer is not True:
                found[path] = "it does not answer" if answer == HUNG else "it is empty"
    return found


def _is_filled(path: str) -> bool:
    with Path(path).open("rb") as file:
        return bool(file.read(1))


def _look_here(root: str, deadline: float, marker: dict[str, str] | None) -> Source:
    found, device = look(root, deadline, marker), Path(root).stat().st_dev
    return {**found, "number": f"{os.major(device)}:{os.minor(device)}" if found["state"] == "ok" else ""}


def look(root: str, deadline: float, marker: dict[str, str] | None = None) -> Source:
    """What :func:`read_source` tells, of a folder that answers, as this process' user; counting ends at `deadline`."""
    found = _count(root, deadline)
    if marker and found["state"] == "ok":
        path = Path(root, marker["file"])
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except FileNotFoundError:
            return _state("foreign", f"the marker {path} is missing")
        if digest != marker["sha256"]:
            return _state("foreign", f"the marker {path} has another digest")
    return found


def _count(root: str, deadline: float) -> Source:
    sizes = Sizes()
    folders = [root]
    late = _state("ok", "not counted: too many files for the time allowed")
    while folders:
        folder = folders.pop()
        if time.monotonic() > deadline:  # empty folders have no entries to look at it
            return late
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if time.monotonic() > deadline:
                        return late
                    if hidden_name(entry.name) or has_control_character(entry.name) or unreadable_name(entry.name):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        sizes.add(entry.stat(follow_symlinks=False).st_size)
                        if not os.access(entry.path, os.R_OK, effective_ids=True):
                            return _state("denied", f"uid {os.geteuid()} may not read {entry.path}")
        except OSError as error:
            return _failure(folder, error)
    if sizes.files == 0:
        return _state("empty", f"no file below {root}")
    return {"state": "ok", "detail": None, "files": sizes.files, "bytes": sizes.bytes, "sizes": sizes.rows()}


def _failure(path: str, error: OSError) -> Source:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return _state("missing", f"{path}: {error.strerror}")
    if error.errno in (errno.EACCES, errno.EPERM):
        return _state("denied", f"uid {os.geteuid()} may not read {path}")
    return _state("unreachable", f"{path}: {error.strerror}")


def _state(state: str, detail: str) -> Source:
    return {"state": state, "detail": detail, "files": None, "bytes": None, "sizes": None}

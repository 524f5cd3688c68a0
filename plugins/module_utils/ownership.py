"""The ownership record: what this deployment made on a node, written down before it is made.

Preflight refuses only what the record does not name, and removal takes away exactly what it names. The file is
`{"version": 1, "name": <deployment>, "items": [{"kind", "id", "data"}, ...]}`, items in the order of making.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

VERSION = 1
FILE = "owned.json"
LOCK = "owned.lock"
KINDS = (
    "directory",  # id: path
    "file",  # id: path
    "mount",  # id: mount point
    "tmpfs",  # id: mount point
    "filesystem",  # id: the device it was made on
    "container",  # id: name
    "image",  # id: reference
    "volume",  # id: name
    "unit",  # id: unit name
    "line",  # id: file and the line's key
    "sysctl",  # id: key below /proc/sys, or a path below /sys; data: the value before
    "package",  # id: name
)

Item = dict[str, Any]


class RecordError(Exception):
    """The record cannot be trusted, so nothing may be made or removed by it."""


def empty(name: str) -> dict[str, Any]:
    """A record of deployment `name` that names nothing."""
    return {"version": VERSION, "name": name, "items": []}


def load(state_dir: str, name: str) -> dict[str, Any]:
    """The record kept in `state_dir`, or an empty one of deployment `name` where there is none."""
    path = Path(state_dir) / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return empty(name)
    try:
        record = json.loads(text)
        version, owner, items = record["version"], record["name"], record["items"]
        well_formed = isinstance(items, list) and all(item["kind"] in KINDS and item["id"] for item in items)
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(
            f"{path} is no ownership record ({error}): restore it, or move it away to start anew"
        ) from error
    if version != VERSION or not well_formed:
        raise RecordError(
            f"{path} has another version or unknown kinds: it was written by another release of this bundle"
        )
    if owner != name:
        raise RecordError(f"{path} belongs to deployment '{owner}', not to '{name}': give this one another name")
    return {**record, "items": [_of_now(item) for item in items]}


def _of_now(item: Item) -> Item:
    """The item with the role that makes it now: up to version 0.3.0 role `limits` did what three roles do."""
    data = item.get("data") or {}
    if data.get("role") != "limits":
        return item
    if item["kind"] == "sysctl" or item["id"].startswith(("/etc/sysctl.d", "/etc/udev")):
        role = "kernel_settings"
    elif "mount-settings" in Path(item["id"]).parts:
        role = "mount_settings"
    else:
        role = "open_files"
    return {**item, "data": {**data, "role": role}}


def update(
    state_dir: str, name: str, change: Callable[[dict[str, Any], list[Item]], dict[str, Any]], items: list[Item]
) -> None:
    """Have :func:`add` or :func:`drop` change the record as it is now, which another run may have changed meanwhile."""
    with _locked(Path(state_dir)):
        save(state_dir, change(load(state_dir, name), items))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Held by one process at a time; a process that ends, however it ends, lets go of it."""
    handle = _lock(folder)
    try:
        yield
    finally:
        (folder / LOCK).unlink()
        _remove_if_empty(folder)
        os.close(handle)


def _lock(folder: Path) -> int:
    """The open lock file. Its last holder removes it, so a file that was waited for may be replaced by now."""
    path = folder / LOCK
    while True:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        try:
            handle = os.open(str(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:  # the folder went with the last item
            continue
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            if os.path.samestat(os.fstat(handle), path.lstat()):
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # another run may be about to lock it
        folder.rmdir()


def save(state_dir: str, record: dict[str, Any]) -> None:
    """Write the record so that a crash leaves either the old or the new one, never a part.

    An empty record is removed, and with it the folder it was kept in, if nothing else is there.
    """
    folder = Path(state_dir)
    path = folder / FILE
    if not record["items"]:
        path.unlink(missing_ok=True)
        _remove_if_empty(folder)
        return
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=str(folder), prefix=FILE + ".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(record, stream, indent=2)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(part, 0o644)  # noqa: PTH101  (a name from mkstemp)
        os.replace(part, path)  # noqa: PTH105
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    directory = os.open(str(folder), os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def find(record: dict[str, Any], kind: str, key: str) -> Item | None:
    """The item of that kind and id, if the record names it."""
    return next((item for item in record["items"] if (item["kind"], item["id"]) == (kind, key)), None)


def add(record: dict[str, Any], items: list[Item]) -> dict[str, Any]:
    """The record with `items` in it. What it already names keeps its data: the first writing knew the state before."""
    known = {(item["kind"], item["id"]) for item in record["items"]}
    new: list[Item] = []
    for item in items:
        if (item["kind"], item["id"]) not in known:
            known.add((item["kind"], item["id"]))
            new.append({"kind": item["kind"], "id": item["id"], "data": item.get("data") or {}})
    return {**record, "items": record["items"] + new}


def missing_parents(path: str) -> list[str]:
    """Folders above `path` that do not exist yet, outermost first."""
    return [str(parent) for parent in reversed(Path(path).parents) if not parent.exists()]


def with_parents(items: list[Item]) -> list[Item]:
    """The items, files and folders preceded by the folders that are missing above them, each named once."""
    full: list[Item] = []
    for item in items:
        above = missing_parents(item["id"]) if item["kind"] in ("directory", "file") else []
        folders = [{"kind": "directory", "id": path, "data": {"role": item["data"].get("role")}} for path in above]
        full += [folder for folder in folders if folder not in full]
        full.append(item)
    return full


def drop(record: dict[str, Any], items: list[Item]) -> dict[str, Any]:
    """The record without `items` (matched by kind and id)."""
    gone = {(item["kind"], item["id"]) for item in items}
    return {**record, "items": [item for item in record["items"] if (item["kind"], item["id"]) not in gone]}

"""What a deployment may take for its own: nothing that was on the node before, and is not in its ownership record.

An item with `data: {contents: true}` is a folder that is removed with all that is in it; one with `data: {new: true}`
is ours alone, too. Either must be absent, or an empty folder, when the record first names it; so must the file of a
unit. Any other folder that was there is recorded with `before`, what it was, so that removal leaves it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table, ownership

UNITS = "/etc/systemd/system"
LIMIT = 2.0  # seconds: a healthy local folder answers at once
SHOWN = 3

Item = dict[str, Any]


def taken(record: dict[str, Any], paths: Iterable[str], beside: Iterable[str] = ()) -> list[dict[str, Any]]:
    """[{path, holds}] of the paths that the record does not name: a file, or a folder with something in it.

    beside: paths that are looked at elsewhere, and do not count where they lie in a folder. Mounts are not looked into.
    """
    paths = list(dict.fromkeys(paths))
    points = {mount["point"] for mount in mount_table.read_mounts()}
    known = {*paths, *beside, *points}
    found = []
    for path in paths:
        if path in points or is_ours(record, path):
            continue
        holds = [name for name in _names(path) if name is None or f"{path}/{name}" not in known]
        if holds:
            found.append({"path": path, "holds": [name for name in holds[:SHOWN] if name]})
    return found


def claimed(record: dict[str, Any], items: list[Item]) -> list[Item]:
    """The items as they are to be recorded; a RecordError names what another user made."""
    new = [item for item in items if not ownership.find(record, item["kind"], item["id"])]
    alone = [
        item["id"] for item in new if (item.get("data") or {}).get("contents") or (item.get("data") or {}).get("new")
    ]
    alone += [f"{UNITS}/{item['id']}" for item in new if item["kind"] == "unit"]
    found = taken(record, alone, [item["id"] for item in items])
    if found:
        raise ownership.RecordError("; ".join(said(one["path"], one["holds"]) for one in found))
    return [_with_before(record, item) if item in new and item["kind"] == "directory" else item for item in items]


def said(path: str, holds: list[str]) -> str:
    """A refusal."""
    what = f"holds {', '.join(holds)}" if holds else "is there"
    return f"{path} {what}, and this deployment did not make it: move it away, or choose another alluxio_name"


def is_ours(record: dict[str, Any], path: str) -> bool:
    """Whether the record names a path, the unit of that file, or a folder above that is removed with its contents."""
    above = {str(parent) for parent in PurePosixPath(path).parents}
    return any(
        item["id"] == path or (item["id"] in above and item["data"].get("contents"))
        for item in record["items"]
        if item["kind"] in ("directory", "file")
    ) or any(f"{UNITS}/{item['id']}" == path for item in record["items"] if item["kind"] == "unit")


def _with_before(record: dict[str, Any], item: Item) -> Item:
    data = item.get("data") or {}
    if "before" in data or is_ours(record, item["id"]) or mount_table.mount_at(mount_table.read_mounts(), item["id"]):
        return item
    try:
        about = Path(item["id"]).stat()
    except (FileNotFoundError, NotADirectoryError):
        return item
    before = {"uid": about.st_uid, "gid": about.st_gid, "mode": f"{stat.S_IMODE(about.st_mode):04o}"}
    return {**item, "data": {**data, "before": before}}


def _names(path: str) -> list[str | None]:
    """What a folder holds; [None] of what is there and is no folder, or does not answer."""

    def look() -> list[str | None]:
        try:
            return [*sorted(entry.name for entry in Path(path).iterdir())]
        except (FileNotFoundError, NotADirectoryError):
            return [None] if os.path.lexists(path) else []

    answer = mount_table.in_child(look, LIMIT)
    return [None] if answer == mount_table.HUNG else list(answer)

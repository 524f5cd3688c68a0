"""Local filesystems of a node, and how much of each this deployment already holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils.blockdev import rotational_by_number
from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import Mount, mount_at, mount_of

LOCAL = {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"}
SYSTEM = ("/dev", "/proc", "/run", "/sys")
BLOCK = 512


def read_filesystems(mounts: list[Mount], record: dict[str, Any]) -> list[dict[str, Any]]:
    """[{mount, type, device, number, size, free, inodes_free, owned, rotational}] of writable local filesystems, bytes.

    `owned` is what the things that the ownership record names take up there: free + owned stays as caches fill.
    `inodes_free` is None where there may be as many files as there is room for, as on btrfs.
    A folder that is mounted from elsewhere, and a file bound onto a file, are no place to store things: left out.
    """
    owned = owned_bytes(mounts, record)
    listed: set[str] = set()
    found = []
    for mount in mounts:
        point = mount["point"]
        if (
            mount["type"] not in LOCAL
            or point in listed
            or point.startswith(SYSTEM)
            or "ro" in mount["options"]
            or mount_at(mounts, point) is not mount
            or not Path(point).is_dir()
        ):
            continue
        listed.add(point)
        room = os.statvfs(point)
        found.append(
            {
                "mount": point,
                "type": mount["type"],
                "device": mount["source"],
                "number": mount["device"],
                "size": room.f_blocks * room.f_frsize,
                "free": room.f_bavail * room.f_frsize,
                "inodes_free": room.f_favail if room.f_files else None,
                "owned": owned.get(point, 0),
                "rotational": rotational_by_number(mount["device"]),
            }
        )
    return found


def owned_bytes(mounts: list[Mount], record: dict[str, Any]) -> dict[str, int]:
    """Bytes held by recorded things, per mount point.

    A recorded folder or file is measured; images, volumes and the like count by their item's `data: {path, bytes}`.
    """
    totals: dict[str, int] = {}
    points = {mount["point"] for mount in mounts}
    for path in _outermost(
        [item["id"] for item in record["items"] if item["kind"] in ("directory", "file", "mount", "tmpfs")]
    ):
        mount = mount_of(mounts, path)
        if mount["type"] in LOCAL:
            totals[mount["point"]] = totals.get(mount["point"], 0) + disk_usage(path, points - {path})
    for item in record["items"]:
        if "bytes" in item["data"] and "path" in item["data"]:
            point = mount_of(mounts, item["data"]["path"])["point"]
            totals[point] = totals.get(point, 0) + int(item["data"]["bytes"])
    # Folders below a recorded mount are on that mount, so each recorded mount is measured from its own root.
    return totals


def disk_usage(path: str, stop: set[str]) -> int:
    """Bytes allocated below `path`; places in `stop` (mount points) are not even looked at."""
    total, folders = 0, [path]
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        return 0
    if not Path(path).is_dir():
        return about.st_blocks * BLOCK
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.path in stop:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    total += entry.stat(follow_symlinks=False).st_blocks * BLOCK
        except (FileNotFoundError, PermissionError):
            continue  # evicted meanwhile, or not ours to see
    return total


def _outermost(paths: list[str]) -> list[str]:
    return [
        path for path in paths if not any(path != other and path.startswith(other.rstrip("/") + "/") for other in paths)
    ]

"""Read-ahead of the disks that caches live on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import blockdev
from ansible_collections.alluxio.fuse.plugins.module_utils.media import filesystem_id
from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import Mount, mount_of

BLOCK = "/sys/dev/block"
Medium = dict[str, Any]


def read_ahead_settings(media: list[Medium], mounts: list[Mount], name: str, machine: str) -> list[dict[str, Any]]:
    """[{path, before, rule, writable}] of the disks below `media`, by the media's own description.

    A device is known before its filesystem is made, so that a check predicts what the run does. A tmpfs has no disk,
    and the disk of `/` serves more than caches: both are left out.
    path: the setting below /sys; before: its value in KiB; rule: what a udev rule matches the disk by at boot, None if
    the filesystem has no UUID to know it by; writable: false where /sys is read-only.
    """
    system = _disk(BLOCK, mount_of(mounts, "/")["device"])
    settings: dict[Path, dict[str, Any]] = {}
    for entry, identity in _places(media, mounts, name, machine):
        if entry is None:
            continue
        partition = (entry / "partition").exists()
        disk = entry.parent if partition else entry
        setting = disk / "queue/read_ahead_kb"
        if disk == system or not setting.exists():
            continue
        known = identity or blockdev.probe(f"/dev/{entry.name}").get("UUID")
        attribute = "../queue/read_ahead_kb" if partition else "queue/read_ahead_kb"
        settings.setdefault(
            setting,
            {
                "path": str(setting),
                "before": int(setting.read_text(encoding="ascii")),
                "rule": {"uuid": known, "attribute": attribute} if known else None,
                "writable": os.access(setting, os.W_OK),
            },
        )
    return list(settings.values())


def _places(
    media: list[Medium], mounts: list[Mount], name: str, machine: str
) -> Iterator[tuple[Path | None, str | None]]:
    """(entry below /sys, UUID of the filesystem if it is ours) of every medium; what lies on a device goes by that."""
    devices = [medium for medium in media if medium["kind"] == "device"]
    for device in devices:
        real = Path(blockdev.SYS) / Path(device["device"]).resolve().name
        yield (real.resolve() if real.exists() else None), filesystem_id(name, machine, device["device"])
    for medium in media:
        on_device = any(f"{medium['path']}/".startswith(f"{device['path']}/") for device in devices)
        if medium["kind"] in ("directory", "filesystem") and not on_device:
            yield _entry(BLOCK, mount_of(mounts, medium["path"])["device"]), None


def _entry(root: str, number: str) -> Path | None:
    link = Path(root) / number
    return link.resolve() if link.exists() else None


def _disk(root: str, number: str) -> Path | None:
    entry = _entry(root, number)
    return entry.parent if entry and (entry / "partition").exists() else entry

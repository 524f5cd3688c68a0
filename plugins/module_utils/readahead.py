"""Read-ahead of the disks below cache folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import blockdev
from ansible_collections.alluxio.fuse.plugins.module_utils.mounts import Mount, mount_of

BLOCK = "/sys/dev/block"


def read_ahead_settings(paths: list[str], mounts: list[Mount]) -> list[dict[str, Any]]:
    """[{path, before, rule}] of the disks that hold `paths`; tmpfs and other filesystems without a disk have none.

    path: the setting below /sys; before: its value in KiB; rule: what a udev rule matches the disk by at boot, None if
    the filesystem has no UUID to know it by.
    """
    settings: dict[str, dict[str, Any]] = {}
    for path in paths:
        mount = mount_of(mounts, path)
        entry = Path(BLOCK) / mount["device"]
        if not entry.exists():
            continue
        disk = entry.resolve()
        partition = (disk / "partition").exists()
        setting = (disk.parent if partition else disk) / "queue/read_ahead_kb"
        if setting.exists():
            identity = blockdev.probe(f"/dev/{disk.name}").get("UUID")
            attribute = "../queue/read_ahead_kb" if partition else "queue/read_ahead_kb"
            rule = {"uuid": identity, "attribute": attribute} if identity else None
            before = int(setting.read_text(encoding="ascii"))
            settings.setdefault(str(setting), {"path": str(setting), "before": before, "rule": rule})
    return list(settings.values())

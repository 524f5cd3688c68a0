"""Block devices of a node, from /sys/class/block and blkid; nothing is written and no device is held."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import Mount
from ansible_collections.alluxio.fuse.plugins.module_utils.system import TOOLS

SYS = "/sys/class/block"
BY_ID = "/dev/disk/by-id"
SECTOR = 512
NOTHING, AMBIVALENT = 2, 8  # exit status of blkid: nothing was found, signatures contradict each other
PSEUDO = ("ram", "zram", "sr", "fd", "nbd")

Device = dict[str, Any]


def read_devices(mounts: list[Mount], sys_root: str = SYS, by_id: str = BY_ID) -> list[Device]:
    """[{name, path, by_id, size, rotational, signature, partitions, holders, mounted}] of disks, partitions and loops.

    Sizes in bytes. `signature` is what blkid finds on it (type of filesystem, RAID or partition table), None if blank.
    """
    mounted = {mount["device"] for mount in mounts}
    names = {str(link.resolve()): link for link in sorted(Path(by_id).glob("*"), reverse=True)}
    devices = []
    for entry in sorted(Path(sys_root).glob("*")):
        size = int(_attribute(entry / "size") or 0) * SECTOR
        path = f"/dev/{entry.name.replace('!', '/')}"
        if size == 0 or entry.name.startswith(PSEUDO) or not Path(path).exists():
            continue
        stable = names.get(path)
        devices.append(
            {
                "name": entry.name,
                "path": path,
                "by_id": str(stable) if stable else None,
                "size": size,
                "rotational": is_rotational(entry),
                "signature": signature(path),
                "partitions": sorted(part.parent.name for part in entry.glob("*/partition")),
                "holders": sorted(holder.name for holder in (entry / "holders").glob("*")) + _swap(path),
                "mounted": _attribute(entry / "dev") in mounted,
            }
        )
    return devices


def is_rotational(entry: Path) -> bool | None:
    """Whether the disk below a /sys/class/block entry spins; a partition asks its disk; None if nothing says so."""
    flag = _attribute(entry / "queue/rotational") or _attribute(entry.resolve().parent / "queue/rotational")
    return flag == "1" if flag else None


def rotational_by_number(number: str) -> bool | None:
    """The same by "MAJ:MIN"; None for what is no block device."""
    entry = Path("/sys/dev/block") / number
    return is_rotational(entry.resolve()) if entry.exists() else None


def signature(path: str) -> str | None:
    """The type of what is on a device (filesystem, RAID or partition table), None if blank."""
    tags = probe(path)
    return tags.get("TYPE") or tags.get("PTTYPE")


def probe(path: str) -> dict[str, str]:
    """What blkid reads from the device itself, never from its cache: TYPE, UUID, PTTYPE and so on; nothing if blank.

    What cannot be read gets a TYPE that says so: it is never taken for blank.
    """
    found = subprocess.run(
        ["blkid", "--probe", "--output", "export", path], capture_output=True, text=True, check=False, env=TOOLS
    )
    if found.returncode == AMBIVALENT:
        return {"TYPE": "several signatures"}
    # blkid says 2 of what it may not open, too, and then why
    if found.returncode and (found.returncode != NOTHING or found.stderr):
        return {"TYPE": f"something unknown ({found.stderr.strip() or f'blkid ends with {found.returncode}'})"}
    return dict(line.split("=", 1) for line in found.stdout.splitlines() if "=" in line)


def in_use(path: str) -> bool:
    """Whether the kernel holds the device: mounted in any namespace, swapped on, or part of another device."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_EXCL)
    except OSError:
        return True
    os.close(handle)
    return False


def is_block_device(path: str) -> bool:
    """Whether `path` (or what it links to) is a block device."""
    try:
        return stat.S_ISBLK(Path(path).stat().st_mode)
    except OSError:
        return False


def _swap(path: str) -> list[str]:
    lines = _attribute(Path("/proc/swaps")).splitlines()[1:]
    return ["swap"] if any(line.split()[0] == path for line in lines) else []


def _attribute(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""

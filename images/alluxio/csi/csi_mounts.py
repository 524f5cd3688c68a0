"""What is mounted on a node, and the kernel's calls for it. Nothing here touches what is mounted: that may hang."""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from pathlib import Path

# linux/mount.h
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_SLAVE = 0x1, 0x2, 0x4, 0x20, 0x1000, 0x4000, 1 << 19
MNT_DETACH, UMOUNT_NOFOLLOW = 0x2, 0x8

_LIBC = ctypes.CDLL(None, use_errno=True)


def points() -> list[str]:
    """Where something is mounted, in the order of mounting."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [_unescaped(line.split(" ")[4]) for line in lines]


def bind(source: str, target: str) -> None:
    """Mounts a folder, with all that is and will be mounted below it, at another place; the folder itself read-only.

    It is put together out of sight: where `target` is shared with the node, the node gets it as it is attached.
    """
    with tempfile.TemporaryDirectory() as staging:
        _mount(source, staging, MS_BIND | MS_REC)
        try:
            # What is mounted below the source comes to the target; nothing goes the other way.
            _mount("none", staging, MS_SLAVE | MS_REC)
            _mount("none", staging, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)
            _mount(staging, target, MS_BIND | MS_REC)
        finally:
            _unmount(staging, MNT_DETACH)


def unmount(target: str) -> None:
    """Unmounts what is mounted at a folder and below it, the last first; an OSError where something uses it."""
    below = f"{target}/"
    for point in reversed([one for one in points() if one == target or one.startswith(below)]):
        _unmount(point)


def _mount(source: str, path: str, flags: int) -> None:
    if _LIBC.mount(os.fsencode(source), os.fsencode(path), None, ctypes.c_ulong(flags), None) < 0:
        raise _error(f"mount of {source} at {path}")


def _unmount(path: str, flags: int = 0) -> None:
    if _LIBC.umount2(os.fsencode(path), flags | UMOUNT_NOFOLLOW) < 0:
        raise _error(f"umount of {path}")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)

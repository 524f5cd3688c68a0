"""Folders that must stay what they are: made with an owner and mode, kept unwritable, removed only when empty."""

from __future__ import annotations

import array
import errno
import fcntl
import os
from pathlib import Path

_GETFLAGS, _SETFLAGS, _IMMUTABLE = 0x80086601, 0x40086602, 0x10
_UNSUPPORTED = (errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.EPERM)


def immutable(path: str) -> bool:
    """Whether the folder carries the immutable flag; False where the filesystem knows none."""
    try:
        return bool(_flags(path) & _IMMUTABLE)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise


def set_immutable(path: str, wanted: bool) -> bool:
    """Set or clear the immutable flag, which binds root, too. False where the filesystem knows none."""
    try:
        flags = _flags(path)
        _flags(path, flags | _IMMUTABLE if wanted else flags & ~_IMMUTABLE)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise
    return True


def _flags(path: str, new: "int | None" = None) -> int:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        value = array.array("l", [0 if new is None else new])
        fcntl.ioctl(handle, _GETFLAGS if new is None else _SETFLAGS, value, True)
        return value[0]
    finally:
        os.close(handle)


def ensure(path: str, uid: int, gid: int, mode: int, check: bool) -> bool:
    """Make the folder, or mend its owner and mode. Returns whether that changed (or in check mode would change) anything."""
    folder = Path(path)
    if not folder.is_dir():
        if not check:
            folder.mkdir(parents=True, mode=mode)
            os.chown(path, uid, gid)
            folder.chmod(mode)
        return True
    have = folder.stat()
    if (have.st_uid, have.st_gid, have.st_mode & 0o7777) == (uid, gid, mode):
        return False
    if not check:
        os.chown(path, uid, gid)
        folder.chmod(mode)
    return True


def remove_empty(path: str, check: bool) -> bool:
    """Remove the folder if it is there; an error if anything is in it."""
    folder = Path(path)
    if not folder.is_dir():
        return False
    if not check:
        set_immutable(path, False)
        folder.rmdir()
    return True

"""The immutable flag of a file or folder: not even root writes there while it is set."""

from __future__ import annotations

import fcntl
import struct

GETFLAGS = 0x80086601  # FS_IOC_GETFLAGS
SETFLAGS = 0x40086602  # FS_IOC_SETFLAGS
IMMUTABLE = 0x10


def get(handle: int) -> bool | None:
    """Whether the flag of what is open is set, None where the filesystem does not know it."""
    try:
        return bool(_flags(handle) & IMMUTABLE)
    except OSError:
        return None


def set_flag(handle: int, wanted: bool) -> bool:
    """Set or clear the flag; whether it is set now. A filesystem without it is left as it is."""
    try:
        flags = _flags(handle)
        if bool(flags & IMMUTABLE) != wanted:
            fcntl.ioctl(handle, SETFLAGS, struct.pack("l", flags ^ IMMUTABLE))
    except OSError:
        return False
    return wanted


def _flags(handle: int) -> int:
    answer = fcntl.ioctl(handle, GETFLAGS, struct.pack("l", 0))
    return int(struct.unpack("l", answer)[0])

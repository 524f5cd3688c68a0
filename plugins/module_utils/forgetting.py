"""Tells a FUSE process to forget the names, sizes and places of blocks that it knows, by a path that Alluxio reserves.

Only where `alluxio.fuse.special.command.enabled` is true. Names that the kernel has stay until their time is over.
"""

from __future__ import annotations

import ctypes
import functools
import os

from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import HUNG, in_child

COMMAND = ".alluxiocli.metadatacache.dropAll"
LIMIT_S = 20.0
AT_FDCWD, AT_SYMLINK_NOFOLLOW, AT_STATX_FORCE_SYNC = -100, 0x100, 0x2000
STATX_BASIC_STATS, STATX_BYTES = 0x7FF, 256


def forget(mount_point: str) -> None:
    """Has the process at a mount point forget; OSError where it knows no such command or does not answer."""
    if in_child(functools.partial(_ask, f"{mount_point}/{COMMAND}"), LIMIT_S) == HUNG:
        raise TimeoutError(f"{mount_point} does not answer within {LIMIT_S:.0f} s")


def _ask(path: str) -> int:
    """Have FUSE itself look at a path, which the kernel may remember for hours; Python has no statx before 3.15."""
    found = ctypes.create_string_buffer(STATX_BYTES)
    library = ctypes.CDLL(None, use_errno=True)
    if library.statx(AT_FDCWD, os.fsencode(path), AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, found):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return 0

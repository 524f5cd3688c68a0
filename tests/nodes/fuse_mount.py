#!/usr/bin/env python3
"""Mounts a FUSE filesystem whose daemon is of no use, to see what others make of it.

usage: fuse_mount.py hung|dead MOUNT_POINT [TYPE]     hung: a daemon that never answers; dead: one that is gone
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path


def main(kind: str, point: str, fstype: str = "fuse") -> None:
    """Mount, and stay or go."""
    libc = ctypes.CDLL(None, use_errno=True)
    Path(point).mkdir(parents=True, exist_ok=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(kind.encode(), point.encode(), fstype.encode(), 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), point)
    if kind == "hung":
        signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])

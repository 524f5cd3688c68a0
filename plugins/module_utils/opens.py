"""Who opens files of a mount, as the kernel tells it (fanotify): however short they are open, in whatever container."""

from __future__ import annotations

import ctypes
import os
import select
import struct
import time
from collections.abc import Callable
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.namespaces import number_of

# linux/fanotify.h, linux/fcntl.h
FAN_CLOEXEC, FAN_NONBLOCK = 0x1, 0x2
FAN_MARK_ADD, FAN_MARK_FILESYSTEM = 0x1, 0x100
FAN_OPEN = 0x20
AT_FDCWD = -100
EVENT = struct.Struct("=IBBHQii")  # event_len, vers, reserved, metadata_len, mask, fd, pid
PAUSE_S = 0.02  # each event that is fetched opens its file once more


def openers(points: list[str], seconds: float, is_ours: Callable[[str], bool]) -> list[str]:
    """Processes that open a file of what is mounted at `points` within `seconds`, as "name (number)".

    is_ours: whether a mount, by its number, is meant, as the kernel tells of a whole filesystem. On a busy machine the
    kernel has told by then of more than this process has fetched: it fetches the rest, for as long again at most.
    It needs CAP_SYS_ADMIN (OSError), and waits as long as a mount that is hung.
    """
    watch = _called("fanotify_init", FAN_CLOEXEC | FAN_NONBLOCK, os.O_RDONLY | os.O_CLOEXEC)
    found: dict[str, None] = {}
    try:
        for point in points:
            mask = ctypes.c_uint64(FAN_OPEN)
            _called("fanotify_mark", watch, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, mask, AT_FDCWD, os.fsencode(point))
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < 2 * seconds:
            if select.select([watch], [], [], max(0.0, seconds - passed))[0]:
                found |= dict.fromkeys(_fetched(watch, is_ours))
            elif passed >= seconds:
                break
    finally:
        os.close(watch)
    return list(found)


def _fetched(watch: int, is_ours: Callable[[str], bool]) -> list[str]:
    """The process that opened the file of the next event; none if that is on another mount, or the process has ended.

    It is never this one, which opens the file of each event: of an overlay, the kernel tells of the layer below, too.
    """
    *_, opened, process = EVENT.unpack(os.read(watch, EVENT.size))
    if opened >= 0:
        through = number_of(Path(f"/proc/self/fdinfo/{opened}"))
        os.close(opened)
        if process == os.getpid() or not is_ours(through):
            return []
    time.sleep(PAUSE_S)
    try:
        return [f"{Path(f'/proc/{process}/comm').read_text().strip()} ({process})"]
    except OSError:
        return []


def _called(name: str, *arguments: object) -> int:
    result: int = getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result

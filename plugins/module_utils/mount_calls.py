"""The kernel's calls for mounts that mount(8) of older distributions does not offer, by ctypes."""

from __future__ import annotations

import ctypes
import os

# asm-generic/unistd.h, linux/mount.h, linux/fcntl.h: the same numbers on every processor of 64 bits
OPEN_TREE, MOVE_MOUNT, FSOPEN, FSCONFIG = 428, 429, 430, 431
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC = 0x1, os.O_CLOEXEC
MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_BENEATH = 0x4, 0x200
FSOPEN_CLOEXEC, FSCONFIG_SET_FLAG, FSCONFIG_SET_STRING = 0x1, 0, 1
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 0x1, 0x2, 0x4, 0x20, 0x1000
MS_REC, MS_PRIVATE, CLONE_NEWNS = 0x4000, 1 << 18, 0x20000
MNT_DETACH, UMOUNT_NOFOLLOW = 0x2, 0x8
AT_FDCWD = -100
READ_ONLY = MS_RDONLY | MS_NOSUID | MS_NODEV
IN_MEMORY = MS_NOSUID | MS_NODEV
HUGE = "huge=within_size"  # measured: large files of a copy, 2.7 times as fast as on a plain tmpfs (docs/bench.md)
NOSWAP = "noswap"  # Linux 6.4
ALL_FILES = "nr_inodes=0"  # else a tmpfs has an inode for each 8 KiB of the node's memory, and smaller files fill it

_LIBC = ctypes.CDLL(None, use_errno=True)


def mount(kind: str, source: str, path: str, options: str = "") -> None:
    """Mounts a filesystem, read-only; `options` may be longer than mount(8) of util-linux 2.39 lets through."""
    _mount(source, path, kind, READ_ONLY, options)


def mount_tmpfs(path: str, *options: str) -> None:
    """Mounts an empty filesystem in memory, to be written to by its owner."""
    _mount("tmpfs", path, "tmpfs", IN_MEMORY, ",".join(["mode=0700", *options]))


def resize_tmpfs(path: str, size: int, *options: str) -> None:
    """Gives a filesystem in memory another size; OSError (EINVAL) where it holds more.

    options: NOSWAP where it has that, as kernels refuse to be told nothing of it (Linux 6.4 to 6.17).
    """
    _mount("none", path, None, MS_REMOUNT | IN_MEMORY, ",".join([f"size={size}", *options]))


def accepts(kind: str, option: str) -> bool:
    """Whether this kernel mounts a filesystem with an option, `key` or `key=value`. Nothing is mounted (Linux 5.2)."""
    key, _, value = option.partition("=")
    how, said = (FSCONFIG_SET_STRING, value.encode()) if value else (FSCONFIG_SET_FLAG, None)
    try:
        handle = _called(FSOPEN, kind.encode(), FSOPEN_CLOEXEC)
    except OSError:
        return False
    try:
        _called(FSCONFIG, handle, how, key.encode(), said, 0)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def bind(folder: str, path: str) -> None:
    """Mounts a folder at another place, read-only."""
    _mount(folder, path, None, MS_BIND, "")
    _mount("none", path, None, MS_BIND | MS_REMOUNT | READ_ONLY, "")


def copy(path: str) -> int:
    """What is mounted at `path` once more, in no folder yet; its handle, to be closed."""
    return _called(OPEN_TREE, AT_FDCWD, os.fsencode(path), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)


def attach(handle: int, path: str, beneath: bool = False) -> None:
    """Mounts a copy at `path`: on top of what is mounted there, or directly beneath that (Linux 6.5, else EINVAL)."""
    flags = MOVE_MOUNT_F_EMPTY_PATH | (MOVE_MOUNT_BENEATH if beneath else 0)
    _called(MOVE_MOUNT, handle, b"", AT_FDCWD, os.fsencode(path), flags)


def detach(path: str) -> None:
    """Takes the topmost mount at `path` out of the file tree, of every namespace that shares it; open files read on."""
    if _LIBC.umount2(os.fsencode(path), MNT_DETACH | UMOUNT_NOFOLLOW) < 0:
        raise _error(f"umount of {path}")


def leave_namespace() -> None:
    """Gives this process mounts of its own: no other process sees those that it makes from now on."""
    if _LIBC.unshare(CLONE_NEWNS) < 0:
        raise _error("unshare of the mounts")
    _mount("none", "/", None, MS_REC | MS_PRIVATE, "")


def _mount(source: str, path: str, kind: str | None, flags: int, options: str) -> None:
    type_ = kind.encode() if kind else None
    flags_ = ctypes.c_ulong(flags)
    if _LIBC.mount(os.fsencode(source), os.fsencode(path), type_, flags_, os.fsencode(options)) < 0:
        raise _error(f"mount of {source} at {path}")


def _called(number: int, *arguments: object) -> int:
    result: int = _LIBC.syscall(number, *arguments)
    if result < 0:
        raise _error(f"system call {number}")
    return result


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")

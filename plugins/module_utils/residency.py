"""The page cache: how much of some files is in it, and how to empty it."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

SAMPLE = 256  # files looked at; each costs an open and a mapping
_PAGE = mmap.PAGESIZE
_FAILED = ctypes.c_void_p(-1).value
_CAP_FOWNER = 3  # capabilities(7)


def resident_share(paths: list[str], sample: int = SAMPLE) -> float | None:
    """Share of the files' pages that the page cache holds, over at most `sample` of them; None if it cannot be told."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    resident = pages = 0
    for path in paths[:: -(-len(paths) // sample)] if paths else []:
        try:
            vector = _pages(libc, path)
        except OSError:  # missing, or a mount with direct_io that cannot be mapped
            return None
        resident += sum(byte & 1 for byte in vector)
        pages += len(vector)
    return resident / pages if pages else None


def _pages(libc: ctypes.CDLL, path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        about = os.fstat(fd)
        size = about.st_size
        if size == 0:
            return b""
        if os.geteuid() != about.st_uid and not _acts_as_owner():
            raise PermissionError(path)  # to others than the owner the kernel says that all of it is there
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        if address == _FAILED:
            raise OSError(ctypes.get_errno(), "mmap", path)
        vector = ctypes.create_string_buffer(-(-size // _PAGE))
        failed = libc.mincore(address, size, vector)
        libc.munmap(address, size)
        if failed:
            raise OSError(ctypes.get_errno(), "mincore", path)
        return vector.raw
    finally:
        os.close(fd)


def _acts_as_owner() -> bool:
    """Whether this process has CAP_FOWNER."""
    fields = dict(line.split(":\t") for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    return bool(int(fields["CapEff"], 16) & 1 << _CAP_FOWNER)


def drop_caches() -> None:
    """Empties page, dentry and inode caches of the whole node; dirty pages would stay, so they are written first."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def forget(paths: list[str]) -> None:
    """Drops the page cache of these files alone, which disturbs nobody else; who then reads them tells of errors."""
    for path in paths:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)

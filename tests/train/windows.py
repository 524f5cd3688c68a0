"""Reads small windows of a large array at random places, in one of the ways that trainings have.

usage: windows.py WAY FILE BYTES PLACE…      tells the digest of all windows, in order
"""

from __future__ import annotations

import hashlib
import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy


def memmap(path: str) -> Callable[[int, int], bytes]:
    """As numpy.memmap maps it."""
    array = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    return lambda place, size: array[place : place + size].tobytes()


def random_map(path: str) -> Callable[[int, int], bytes]:
    """A mapping of which the kernel is told that reads are random; numpy.frombuffer makes an array of it."""
    with Path(path).open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    mapped.madvise(mmap.MADV_RANDOM)
    return lambda place, size: mapped[place : place + size]


def pread(path: str) -> Callable[[int, int], bytes]:
    """Read calls, of which the kernel is told the same."""
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    return lambda place, size: os.pread(file, size, place)


way, name, size, *places = sys.argv[1:]
read = {"memmap": memmap, "random_map": random_map, "pread": pread}[way](name)
print(hashlib.sha256(b"".join(read(int(place), int(size)) for place in places)).hexdigest())

"""What a process has open, mapped, or is in: the links in /proc, and the number of the mount that each goes through.

A path is another one in a container, a disk is also that of other folders, and asking the file itself would hang on a
mount that is dead. So files are told by the number of their mount.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.namespaces import namespace_of, number_of

AT_FDCWD, AT_STATX_DONT_SYNC = -100, 0x4000  # linux/fcntl.h
STATX_BYTES, DEVICE_AT = 256, 136  # struct statx: its size, and where it has the device's numbers
_LIBC = ctypes.CDLL(None, use_errno=True)


def name_of(process: Path) -> str:
    """A process as people know it: "python3 (4711)"; an OSError where it has ended."""
    return f"{(process / 'comm').read_text().strip()} ({process.name})"


def opened(process: Path) -> dict[Path, str]:
    """By the link to each open file, the number of its mount."""
    found = {}
    for info in (process / "fdinfo").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found[process / "fd" / info.name] = number_of(info)
    return found


def folders_it_is_in(process: Path) -> Iterator[tuple[Path, str]]:
    """The links to the folder that a process is in, and to what it has for its root, and the number of their mounts."""
    for link in (process / "cwd", process / "root"):
        with suppress(FileNotFoundError):
            yield link, _number_through(link)


class Mapped:
    """By the link to each mapped file the same: a mapping outlives its file descriptor, as where tensors are read."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, ...], str] = {}  # libraries are mapped by most processes: each is asked for once

    def of(self, process: Path) -> dict[Path, str]:
        namespace, found = namespace_of(process), {}
        for line in (process / "maps").read_text(errors="surrogateescape").splitlines():
            area, _, _, device, inode, *path = line.split(maxsplit=5)
            if inode == "0":
                continue
            file, link = (namespace, device, inode, *path), process / "map_files" / area
            with suppress(FileNotFoundError):  # unmapped meanwhile
                found[link] = self._numbers[file] = self._numbers.get(file) or _number_through(link)
        return found


def path_below_root(link: Path) -> str:
    """Where a file is from the root of its mount, which is in no namespace any more; "" where it never had a place."""
    try:
        path = os.readlink(link)  # noqa: PTH115 (a link that leads nowhere)
    except OSError:
        return ""
    return path if path.startswith("/") else ""


def device_of(link: Path) -> str:
    """The device "MAJ:MIN" of an open or mapped file, as the kernel knows it; "" where it cannot be told."""
    about = ctypes.create_string_buffer(STATX_BYTES)
    if _LIBC.statx(AT_FDCWD, os.fsencode(link), AT_STATX_DONT_SYNC, 0, about) < 0:
        return ""
    return "{}:{}".format(*struct.unpack_from("II", about, DEVICE_AT))


def _number_through(link: Path) -> str:
    """O_PATH asks nothing of what is mounted."""
    there = os.open(link, os.O_PATH)
    try:
        return number_of(Path(f"/proc/self/fdinfo/{there}"))
    finally:
        os.close(there)

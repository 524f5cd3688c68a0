"""Who still needs a copy that its path does not show any more, and in which way.

A file that is open or mapped is read to its end after it has lost its name. So a copy can be removed under its readers,
but not under those who go by names in it: a container that kept its mount, and a process that has a folder of it open,
or is in one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import open_files
from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import Mount
from ansible_collections.alluxio.fuse.plugins.module_utils.namespaces import every_mount, processes


class Held(NamedTuple):
    """Processes that need a copy: those that go by `names` in it, and those that have `files` of it open or mapped."""

    names: list[str]
    files: list[str]


def held(is_shown: Callable[[Mount], bool], folders: list[Path], files: Path, instead: Path) -> Held:
    """Who needs a copy.

    is_shown: whether a mount shows it. folders: have the names of its folders. files: its files; of those, what is the
    same file below `instead` takes no room of its own.
    """
    numbers, mounted = _mounted(is_shown)
    by_name, by_file = dict.fromkeys(mounted), dict[str, None]()
    mapped = open_files.Mapped()
    for process in processes():
        with suppress(OSError):  # ended meanwhile, or is a thread of the kernel
            links = {**open_files.opened(process), **mapped.of(process), **dict(open_files.folders_it_is_in(process))}
            paths = {open_files.path_below_root(link) for link, number in links.items() if number not in numbers}
            if any(_is_folder(path, folders) for path in paths):
                by_name[open_files.name_of(process)] = None
            if any(_takes_room(path.removesuffix(" (deleted)"), files, instead) for path in paths):
                by_file[open_files.name_of(process)] = None
    return Held(list(by_name), list(by_file))


def _mounted(is_shown: Callable[[Mount], bool]) -> tuple[set[str], list[str]]:
    """Numbers of the mounts of all namespaces, and where the copy is one: its first process, and the mount point."""
    numbers, found = set[str](), list[str]()
    for process, mount in every_mount():
        numbers.add(mount["number"])
        if is_shown(mount):
            with suppress(OSError):  # ended meanwhile, and its mounts with it
                found.append(f"{open_files.name_of(process)} by its mount at {mount['point']}")
    return numbers, found


def _is_folder(path: str, folders: list[Path]) -> bool:
    """Whether it is one of the copy; the root of a mount that is gone may be."""
    return path == "/" or bool(path and any(os.path.isdir(f"{one}{path}") for one in folders))  # noqa: PTH112


def _takes_room(path: str, files: Path, instead: Path) -> bool:
    if not path or not os.path.isfile(f"{files}{path}"):  # noqa: PTH113
        return False
    try:
        return not os.path.samefile(f"{files}{path}", f"{instead}{path}")  # noqa: PTH121
    except FileNotFoundError:
        return True

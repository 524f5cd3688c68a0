"""Folders opened step by step, so that root follows no symbolic link that another user could have put there.

A link counts only where root alone could have put it, and every folder that leads to it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path, PurePosixPath

STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LINKS = 40  # as many as the kernel follows


def roots(handle: int) -> bool:
    """Whether nobody but root (or this process's user) can make, replace or take away what is in a folder."""
    about = os.fstat(handle)
    others = about.st_mode & stat.S_IWOTH or (about.st_mode & stat.S_IWGRP and about.st_gid != 0)
    return about.st_uid in (0, os.geteuid()) and not others


def folder(path: str | Path, make: bool = False) -> int:
    """A handle on a folder, for the caller to close; with `make` folders that are missing are made (0755).

    A ValueError names a link that another user could have put there.
    """
    whole = PurePosixPath(path)
    if not whole.is_absolute():
        raise ValueError(f"{path} is no absolute path")
    todo = list(reversed(whole.parts[1:]))
    here, at, trusted, links = os.open("/", STEP), PurePosixPath("/"), True, 0
    try:
        while todo:
            name = todo.pop()
            try:
                about = os.stat(name, dir_fd=here, follow_symlinks=False)
            except FileNotFoundError:
                if not make:
                    raise
                os.mkdir(name, 0o755, dir_fd=here)
                about = os.stat(name, dir_fd=here, follow_symlinks=False)
            trusted = trusted and (roots(here) or _kept(here, about))
            if stat.S_ISLNK(about.st_mode):
                links += 1
                if not trusted:
                    raise ValueError(said_of_link(at / name))
                if links > LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
                target = PurePosixPath(os.readlink(name, dir_fd=here))
                todo += reversed(target.parts[1:] if target.is_absolute() else target.parts)
                if target.is_absolute():
                    here, at = _step(here, "/"), PurePosixPath("/")
                continue
            here, at = _step(here, name), at / name
        return os.open(".", OPEN, dir_fd=here)
    except NotADirectoryError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error
    finally:
        os.close(here)


def above(path: str | Path, make: bool = False) -> tuple[int, str]:
    """A handle on the folder above `path`, for the caller to close, and the name that `path` has in it."""
    whole = PurePosixPath(path)
    return folder(str(whole.parent), make), whole.name


def kind(name: str, handle: int) -> str | None:
    """What has that name in a folder: "folder", "link", "file" (anything else), or None."""
    try:
        mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    return "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "file"


def empty(handle: int) -> None:
    """Take away what is in a folder. Links are taken away themselves, and nothing that they lead to."""
    with os.scandir(handle) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        if not is_folder:
            os.unlink(name, dir_fd=handle)
            continue
        below = os.open(name, OPEN, dir_fd=handle)
        try:
            empty(below)
        finally:
            os.close(below)
        os.rmdir(name, dir_fd=handle)


def said_of_link(path: PurePosixPath | str) -> str:
    """Why nothing is done through a link."""
    return (
        f"{path} is a symbolic link that a user other than root could have put there: look where it leads, take it away"
    )


def _kept(handle: int, about: os.stat_result) -> bool:
    """Whether root's entry is in a folder like /tmp, where only its owner can replace it."""
    folder = os.fstat(handle)
    mine = (0, os.geteuid())
    return bool(folder.st_mode & stat.S_ISVTX) and folder.st_uid in mine and about.st_uid in mine


def _step(here: int, name: str) -> int:
    following = os.open(name, STEP, dir_fd=here)
    os.close(here)
    return following

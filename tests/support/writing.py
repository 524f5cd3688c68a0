#!/usr/bin/env python3
"""What programs do to files, each as one function of a folder.

usage: writing.py OPERATION FOLDER       prints the name of the errno that it ended with, or "works"

The folder has `there` with THERE as its content, and the folder `empty`.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import shutil
import sqlite3
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

THERE = b"there" * 100_000
CONTENT = b"written" * 100_000


def write(folder: Path) -> None:
    """A new file from its begin to its end, as torch.save to a file object, numpy.save and cp write."""
    (folder / "new").write_bytes(CONTENT)


def write_and_fsync(folder: Path) -> None:
    with (folder / "new").open("wb") as stream:
        stream.write(CONTENT)
        stream.flush()
        os.fsync(stream.fileno())


def rename(folder: Path) -> None:
    """The careful way: another name until it is whole."""
    write_and_fsync(folder)
    (folder / "new").rename(folder / "final")


def rename_over(folder: Path) -> None:
    write_and_fsync(folder)
    (folder / "new").replace(folder / "there")


def overwrite(folder: Path) -> None:
    (folder / "there").write_bytes(CONTENT)


def append(folder: Path) -> None:
    with (folder / "there").open("ab") as stream:
        stream.write(CONTENT)


def write_in_the_middle(folder: Path) -> None:
    with (folder / "there").open("r+b") as stream:
        stream.seek(1000)
        stream.write(b"changed")


def seek_back_in_a_new_file(folder: Path) -> None:
    with (folder / "new").open("wb") as stream:
        stream.write(CONTENT)
        stream.seek(0)
        stream.write(b"WRITTEN")


def zip_archive(folder: Path) -> None:
    """numpy.savez: zipfile seeks back to what it wrote."""
    with zipfile.ZipFile(folder / "new", "w") as archive:
        archive.writestr("part", CONTENT)


def database(folder: Path) -> None:
    with sqlite3.connect(folder / "new") as connection:
        connection.execute("create table steps (loss real)")


def database_again(folder: Path) -> None:
    """A step after the first one: pages of the file are written in place."""
    database(folder)
    with sqlite3.connect(folder / "new") as connection:
        connection.execute("insert into steps values (0.5)")


def truncate(folder: Path) -> None:
    os.truncate(folder / "there", 1000)


def empty(folder: Path) -> None:
    os.truncate(folder / "there", 0)


def map_and_write(folder: Path) -> None:
    with (folder / "there").open("r+b") as stream, mmap.mmap(stream.fileno(), 0) as mapped:
        mapped[:7] = b"changed"
        mapped.flush()


def preallocate(folder: Path) -> None:
    with (folder / "new").open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, len(CONTENT))
        stream.write(CONTENT)


def delete(folder: Path) -> None:
    (folder / "there").unlink()


def new_folder(folder: Path) -> None:
    (folder / "made").mkdir()


def remove_a_folder(folder: Path) -> None:
    (folder / "empty").rmdir()


def rename_a_folder(folder: Path) -> None:
    (folder / "empty").rename(folder / "renamed")


def copy_with_times(folder: Path) -> None:
    """cp -p, rsync -t, tar: times and mode of the first one."""
    shutil.copy2(folder / "there", folder / "new")


def chmod(folder: Path) -> None:
    (folder / "there").chmod(0o600)


def symbolic_link(folder: Path) -> None:
    """What trainers call `latest`."""
    (folder / "new").symlink_to("there")


def hard_link(folder: Path) -> None:
    os.link(folder / "there", folder / "new")


def lock(folder: Path) -> None:
    with (folder / "there").open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


def extended_attribute(folder: Path) -> None:
    os.setxattr(folder / "there", "user.step", b"1")


OPERATIONS: dict[str, Callable[[Path], None]] = {
    function.__name__.replace("_", " "): function
    for function in (
        write, write_and_fsync, rename, rename_over, overwrite, append, write_in_the_middle, seek_back_in_a_new_file,
        zip_archive, database, database_again, truncate, empty, map_and_write, preallocate, delete, new_folder,
        remove_a_folder, rename_a_folder, copy_with_times, chmod, symbolic_link, hard_link, lock, extended_attribute,
    )
}  # fmt: skip


def main(operation: str, folder: str) -> None:
    """Do one of them."""
    try:
        OPERATIONS[operation](Path(folder))
    except OSError as error:
        print(errno.errorcode.get(error.errno or 0, error))
    except sqlite3.Error as error:
        print(f"sqlite3: {error}")
    else:
        print("works")


if __name__ == "__main__":
    main(*sys.argv[1:])

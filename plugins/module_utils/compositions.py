"""What a dataset's path is made of: a folder on the node's own media, and where that holds a part, the FUSE mount.

A composition is mounted once in a place of its own, its view, and published by a copy of that mount. A path changes
from one composition to the next without a moment at which it shows nothing; open files read on from the former one.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import mount_calls, mount_table, users
from ansible_collections.alluxio.fuse.plugins.module_utils.staging import Rights

SOURCE = users.STAGE  # what the overlays are called in the mount table, before what their makers add
PROBE_S = 10.0
LOOK_S = 2.0  # a reader may open a file only now and then
TAKES = "a part of a copy takes Linux 6.5; `stage: off` gives up a whole one"
REDIRECT, METACOPY = "trusted.overlay.redirect", "trusted.overlay.metacopy"


class InUseError(Exception):
    """A path that this kernel cannot change under its readers; the message names them."""


class Name(NamedTuple):
    """A file or, without a size, a folder of a dataset: its path below that, and what `stat` says of it."""

    path: str
    size: int | None
    mtime: int


def view_of_folder(folder: str, view: str) -> None:
    """A whole dataset: the folder itself, which needs neither FUSE nor Alluxio."""
    mount_calls.bind(folder, view)


def view_of_layers(names: str, layers: Sequence[str], view: str, label: str = "") -> None:
    """A dataset of which the first of `layers` that has a file gives its bytes; folder `names` says what there is.

    An overlay of data-only layers (Linux 6.5, else OSError): the kernel asks the last layer, the FUSE mount, for
    nothing but the bytes of files that no other one has. label: what the mount table tells of it.
    """
    lower = "::".join(_escaped(folder) for folder in (names, *layers))
    try:
        mount_calls.mount("overlay", f"{SOURCE}/{label}", view, f"metacopy=on,lowerdir={lower}")
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise OSError(errno.EINVAL, f"{error.strerror}: {TAKES}") from None
        raise


def write_names(folder: str, names: Iterable[Name], rights: Rights) -> None:
    """Fills folder `names` of view_of_layers: empty files with the sizes of the real ones, and the rights of all."""
    made: set[Path] = set()

    def make(path: Path) -> None:
        if path not in made:
            if path != Path(folder):
                make(path.parent)
            path.mkdir(exist_ok=True)
            os.chown(path, rights.uid, rights.gid)
            path.chmod(rights.mode & 0o555)
            made.add(path)

    Path(folder).parent.mkdir(parents=True, exist_ok=True)
    make(Path(folder))
    for name in names:
        path = Path(folder, name.path)
        if name.size is None:
            make(path)
            continue
        make(path.parent)
        with path.open("wb") as file:
            os.truncate(file.fileno(), name.size)
            os.fchown(file.fileno(), rights.uid, rights.gid)
            os.fchmod(file.fileno(), rights.mode & 0o444)
            os.setxattr(file.fileno(), REDIRECT, os.fsencode(f"/{name.path}"))
            os.setxattr(file.fileno(), METACOPY, b"")
            os.utime(file.fileno(), (name.mtime, name.mtime))


def can_layer() -> bool:
    """Whether this node's kernel takes part in view_of_layers, by doing it once out of everybody's sight."""
    try:
        return bool(mount_table.in_child(_layers_once, PROBE_S))
    except OSError:
        return False


def _layers_once() -> bool:
    mount_calls.leave_namespace()
    with tempfile.TemporaryDirectory(prefix="alluxio-fuse-") as probe:
        mount_calls.mount_tmpfs(probe)
        try:
            names, data, view = (str(Path(probe, part)) for part in ("names", "data", "view"))
            Path(data).mkdir()
            Path(view).mkdir()
            Path(data, "file").write_bytes(b"seen")
            write_names(names, [Name("file", 4, 0)], Rights(0, 0, 0o755))
            view_of_layers(names, [data], view)
            return Path(view, "file").read_bytes() == b"seen"
        finally:
            mount_calls.detach(probe)


def opens_directly(path: str) -> bool:
    """Whether a file can be opened to be read past the page cache; a tmpfs before Linux 6.6 refuses that."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False
    return True


def publish(view: str, path: str) -> None:
    """Shows at `path` what is mounted at `view`, in place of what is mounted there.

    A kernel before 6.5 cannot do so in one step: while a process reads, it changes nothing (InUseError).
    """
    table = mount_table.read_mounts()
    for _ in [mount for mount in table if mount["point"] == path][1:]:
        mount_calls.detach(path)  # one was to go when a process was killed, and what is beneath it was to be shown
    handle = mount_calls.copy(view)
    try:
        if mount_table.mount_at(table, path) is None:
            mount_calls.attach(handle, path)
            return
        try:
            mount_calls.attach(handle, path, beneath=True)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            withdraw(path)
            mount_calls.attach(handle, path)
        else:
            mount_calls.detach(path)
    finally:
        os.close(handle)


def withdraw(path: str, *, in_use: bool = False, look: bool = False) -> bool:
    """Takes away what is mounted at `path`; whether there was anything.

    in_use: also from those who read it. look: only say so.
    """
    table = mount_table.read_mounts()
    if mount_table.mount_at(table, path) is None:
        return False
    if readers := [] if in_use else users.readers_at(path, table, LOOK_S):
        raise InUseError(f"{path} is read by {', '.join(readers)}")
    if not look:
        mount_calls.detach(path)
    return True


def _escaped(folder: str) -> str:
    """A folder as an overlay's options have it."""
    return "".join(f"\\{letter}" if letter in "\\:," else letter for letter in folder)

"""Lists and reads a folder that is a dataset's source."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.known_digests import Digest
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import (
    FILE,
    FOLDER,
    LINK,
    RECORD_HEAD,
    SPECIAL,
    Digests,
    Entry,
    Heads,
    Source,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.reader import BUFFER_BYTES, file_digest, fork_map
from ansible_collections.alluxio.fuse.plugins.module_utils.source_names import (
    BROKEN_LINK,
    ENDLESS_LINK,
    LINK_OUT,
    hidden_path,
    left_out,
    unreadable_name,
)


def source_of(root: str, processes: int) -> Source:
    """A folder as a manifest's source, read by some processes."""
    listed = list_folder(root)
    return Source(listed, folder_digests(root, processes), folder_heads(root), lambda path: path.split("/"))


def list_folder(root: str) -> Iterator[Entry]:
    """Everything below a folder, a folder before what it holds; links are not followed.

    Memory holds the names of one folder and of those above it. Of a folder that Alluxio cannot serve, and of a hidden
    one that may not be listed, the entry alone is given.
    """
    open_folders = [("", _items(root, ""))]
    while open_folders:
        folder, items = open_folders[-1]
        item = next(items, None)
        if item is None:
            open_folders.pop()
            continue
        entry = _entry(root, item, f"{folder}{item.name}")
        yield entry
        if entry.type == FOLDER and not entry.unreadable:
            open_folders.append((f"{entry.path}/", _items(root, entry.path)))


def _items(root: str, folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(f"{root}/{folder}".rstrip("/") or "/") as found:
            return iter(sorted(found, key=lambda item: item.name))
    except PermissionError:
        if not hidden_path(folder):
            raise
        return iter(())


def _entry(root: str, item: os.DirEntry[str], path: str) -> Entry:
    status = item.stat(follow_symlinks=False)
    kinds = {stat.S_IFREG: FILE, stat.S_IFDIR: FOLDER, stat.S_IFLNK: LINK}
    kind = kinds.get(stat.S_IFMT(status.st_mode), SPECIAL)
    hidden = hidden_path(path)
    return Entry(
        path,
        kind,
        status.st_size if kind == FILE else 0,
        stat.S_IMODE(status.st_mode),
        status.st_mtime_ns // 1_000_000_000,
        str(status.st_mtime_ns) if kind == FILE else "",
        target=str(Path(item.path).readlink()) if kind == LINK else None,
        left_out=left_out(path),
        unreadable=None if hidden else unreadable_name(item.name) or unreadable_link(root, item),
    )


def unreadable_link(root: str, item: os.DirEntry[str]) -> str | None:
    """Why Alluxio cannot serve a link, which it follows in a container that sees the source alone."""
    if not item.is_symlink():
        return None
    top, place = Path(root).resolve(), Path(item.path)
    try:
        target = place.resolve(strict=True)
    except (OSError, RuntimeError):  # the latter for a circle of links, up to Python 3.12
        return BROKEN_LINK
    if target != top and top not in target.parents:
        return LINK_OUT
    return ENDLESS_LINK if target in place.parent.resolve().joinpath(place.name).parents else None


def folder_digests(root: str, processes: int) -> Digests:
    """Digests of files below `root`, computed by `processes` processes."""

    def digests(files: list[Entry], _md5: bool) -> dict[str, Digest]:
        # largest first, dealt in turn: the processes end together
        order = sorted(files, key=lambda entry: -entry.size)
        shares = [share for share in (order[index::processes] for index in range(processes)) if share]
        parts = fork_map(lambda share: _digest_share(root, share), shares)
        return {path: digest for part in parts for path, digest in part.items()}

    return digests


def _digest_share(root: str, files: list[Entry]) -> dict[str, Digest]:
    view = memoryview(bytearray(BUFFER_BYTES))
    out = {}
    for entry in files:
        size, digest = file_digest(f"{root}/{entry.path}", view)
        out[entry.path] = Digest(digest.partition(":")[2])
        if size != entry.size:
            raise OSError(f"{entry.path} changed while it was read")
    return out


def folder_heads(root: str) -> Heads:
    """The first bytes of a file below `root`."""

    def head(path: str) -> bytes:
        with Path(root, path).open("rb") as stream:
            return stream.read(RECORD_HEAD)

    return head

"""What a bucket holds, whatever store it is in: keys become paths, and objects are read for digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ansible_collections.alluxio.fuse.plugins.module_utils.bucket import THREADS, Bucket, Object, listed
from ansible_collections.alluxio.fuse.plugins.module_utils.etags import md5_of
from ansible_collections.alluxio.fuse.plugins.module_utils.known_digests import Digest
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import (
    FILE,
    FOLDER,
    KEY,
    RECORD_HEAD,
    Digests,
    Entry,
    Heads,
    Source,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.source_names import hidden_name, left_out, unreadable_name

NO_NAMES = frozenset(("", ".", ".."))  # a key with one of these between slashes leads elsewhere as a path


def entries(bucket: Bucket) -> Iterator[Entry]:
    """Everything below the prefix, a folder before what it holds; folders are what keys have before their slashes.

    Of a folder that Alluxio cannot serve the entry alone is given.
    """
    within: list[str] = []
    for item in listed(bucket):
        path = item.key[len(bucket.prefix) :]
        *folders, name = path.split("/")
        if not NO_NAMES.isdisjoint([*folders, name] if name else folders):
            yield _entry(path, KEY, item)
            continue
        yield from _entered(within, folders)
        within = folders
        if name and not _unreadable(path.rpartition("/")[0]):
            yield _entry(path, FILE, item)


def _entered(before: list[str], folders: list[str]) -> list[Entry]:
    """The folders that were not entered yet: a bucket lists the keys of each one together."""
    known = [depth for depth in range(len(folders)) if before[: depth + 1] == folders[: depth + 1]]
    entered = []
    for depth in range(len(known), len(folders)):
        path = "/".join(folders[: depth + 1])
        entered.append(Entry(path, FOLDER, left_out=left_out(path), unreadable=_unreadable(path)))
        if entered[-1].unreadable:
            break
    return entered


def _entry(path: str, kind: str, item: Object) -> Entry:
    """A file, or a key that is no path."""
    size = item.size if kind == FILE else 0
    return Entry(path, kind, size, None, item.mtime, item.etag, left_out=left_out(path), unreadable=_unreadable(path))


def _unreadable(path: str) -> str | None:
    parts = path.split("/")
    if any(hidden_name(part) for part in parts):
        return None
    return next((reason for part in parts if (reason := unreadable_name(part))), None)


def source_of(bucket: Bucket) -> Source:
    """A bucket's part as a manifest's source."""
    return Source(entries(bucket), digests(bucket), heads(bucket), bucket.order)


def heads(bucket: Bucket) -> Heads:
    """The first bytes of an object."""
    return lambda path: b"".join(bucket.read(bucket.prefix + path, RECORD_HEAD))


def digests(bucket: Bucket) -> Digests:
    """Digests of objects, read by several threads."""

    def digest(entry: Entry, md5: bool) -> Digest:
        kinds = [hashlib.sha256()]
        if md5 and md5_of(entry.stamp):
            kinds.append(hashlib.md5(usedforsecurity=False))
        for chunk in bucket.read(bucket.prefix + entry.path, None):
            for kind in kinds:
                kind.update(chunk)
        return Digest(*(kind.hexdigest() for kind in kinds))

    def of(files: list[Entry], md5: bool) -> dict[str, Digest]:
        with ThreadPoolExecutor(THREADS) as pool:
            found = pool.map(partial(digest, md5=md5), files)
            return {entry.path: one for entry, one in zip(files, found)}  # noqa: B905 - of Python 3.10

    return of

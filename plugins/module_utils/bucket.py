"""A bucket, whatever store it is in, and its listing, which several requests at once make short.

A request lists a thousand keys, and the next one begins where it ended. So folders are listed side by side, each by
requests of its own. No store has to list in an order for that: what two folders hold is apart by their names.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, NamedTuple

THREADS = 16  # requests at once
CHUNK_BYTES = 1 << 20
FEW_PAGES = 8  # that are listed one after the other: a request for each folder would take longer
FULL = 250  # objects that folders hold at least, so that a request for each is worth it
DEPTH = 3  # of folders that hold few others, into which the listing looks for more
AHEAD_PAGES = 2  # of each folder that wait to be taken


class Object(NamedTuple):
    """What a store lists of an object. mtime: seconds since 1970; etag: without quotation marks."""

    key: str
    size: int
    mtime: int | None
    etag: str


class Page(NamedTuple):
    """What a store lists in one request. folders: prefixes up to the next slash, where the listing ends at slashes."""

    objects: list[Object]
    folders: list[str]


class Bucket(NamedTuple):
    """The part of a bucket that is a source: `prefix` is empty, or ends with a slash.

    pages: what is below a prefix, all of it or (True) up to the next slash, in the order of keys. read: an object's
    bytes, or the first `limit` of them. order: of a key, or of what follows its prefix: by what pages are ordered.
    """

    prefix: str
    pages: Callable[[str, bool], Iterator[Page]]
    read: Callable[[str, int | None], Iterable[bytes]]
    order: Callable[[str], Any] = str


def split(source: str) -> tuple[str, str]:
    """Bucket and prefix (empty, or with a slash at its end) of scheme://bucket/prefix."""
    bucket, _, prefix = source.partition("://")[2].partition("/")
    prefix = prefix.strip("/")
    return bucket, f"{prefix}/" if prefix else ""


def listed(bucket: Bucket) -> Generator[Object, None, None]:
    """Everything below the prefix, in the order of keys. Memory holds some pages of some folders."""
    pages = bucket.pages(bucket.prefix, False)
    first = list(islice(pages, FEW_PAGES + 1))
    if len(first) <= FEW_PAGES or _in_a_folder(first) < FULL:
        yield from (item for page in chain(first, pages) for item in page.objects)
        return
    waiting: deque[Object | _Listing] = deque()
    stop, pool = threading.Event(), ThreadPoolExecutor(THREADS)
    try:
        for part in _parts(bucket, bucket.prefix, DEPTH):
            waiting.append(part if isinstance(part, Object) else _Listing(bucket, part, pool, stop))
            if len(waiting) > THREADS:
                yield from _taken(waiting.popleft())
        while waiting:
            yield from _taken(waiting.popleft())
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _in_a_folder(pages: list[Page]) -> float:
    """How many objects a folder holds, on the average of those that are listed here."""
    folders = [item.key.rpartition("/")[0] for page in pages for item in page.objects]
    return len(folders) / max(1, len(set(folders)))


def _parts(bucket: Bucket, prefix: str, depth: int) -> Iterator[Object | str]:
    """Objects and folders below a prefix. Of a level with few folders, those that hold others are looked into."""
    for page in bucket.pages(prefix, True):
        few = depth and len(page.folders) < THREADS
        parts: list[Object | str] = [*page.objects, *page.folders]
        for part in sorted(parts, key=lambda part: bucket.order(_key(part))):
            if few and isinstance(part, str) and next(bucket.pages(part, True), Page([], [])).folders:
                yield from _parts(bucket, part, depth - 1)
            else:
                yield part


def _key(part: Object | str) -> str:
    return part if isinstance(part, str) else part.key


class _Listing:
    """What a folder holds, listed by another thread."""

    def __init__(self, bucket: Bucket, prefix: str, pool: ThreadPoolExecutor, stop: threading.Event) -> None:
        self._pages: queue.Queue[list[Object] | Exception | None] = queue.Queue(AHEAD_PAGES)
        self._stop = stop
        pool.submit(self._list, bucket, prefix)

    def _list(self, bucket: Bucket, prefix: str) -> None:
        try:
            for page in bucket.pages(prefix, False):
                if not self._put(page.objects):
                    return
            self._put(None)
        except Exception as error:  # which belongs to the thread that takes the pages
            self._put(error)

    def _put(self, item: list[Object] | Exception | None) -> bool:
        """Hands pages over to `taken`; false once the reader of the listing has stopped."""
        while not self._stop.is_set():
            try:
                self._pages.put(item, timeout=0.2)
            except queue.Full:
                continue
            return True
        return False

    def taken(self) -> Iterator[Object]:
        """Its objects, as they come."""
        while (page := self._pages.get()) is not None:
            if isinstance(page, Exception):
                raise page
            yield from page


def _taken(part: Object | _Listing) -> Iterator[Object]:
    return iter([part]) if isinstance(part, Object) else part.taken()

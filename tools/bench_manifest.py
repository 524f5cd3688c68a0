"""What the manifest of a bucket takes, on a store of its own: tools/bench_manifest.py [OBJECTS]   (100,000)

Requests and seconds of listing, one request after the other and side by side, and of making the manifest: the first
one, again without a change, after a change of every hundredth object, after a kill halfway, and where a tenth is read
and ETags are the digests of the rest. The store is on this machine: listings are timed a second time with a pause
before each request, in place of the way to a distant one.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from ansible_collections.alluxio.fuse.plugins.module_utils import known_digests, object_stores, objects
from ansible_collections.alluxio.fuse.plugins.module_utils.bucket import Bucket, Object, Page, listed
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import Draft
from object_store import ObjectStore, object_store

SOURCE: Final = "s3://training/set"
CLASSES: Final = 100
OBJECT_BYTES: Final = 1000
DIGEST_BYTES: Final = 16 << 30
ROUNDS: Final = 3
AWAY_S: Final = 0.08


class Counted:
    """A bucket that counts its requests. away: seconds before each listing."""

    def __init__(self, bucket: Bucket, away: float = 0) -> None:
        self.requests: Counter[str] = Counter()
        self._away = away
        self._lock = threading.Lock()
        self._bucket = bucket

    def bucket(self) -> Bucket:
        """The bucket, with requests counted."""
        return self._bucket._replace(pages=self._pages, read=self._read)

    def one_after_the_other(self) -> Iterator[Object]:
        """Its listing as a single client asks for it."""
        return (item for page in self._pages(self._bucket.prefix, False) for item in page.objects)

    def _pages(self, prefix: str, to_slash: bool) -> Iterator[Page]:
        pages = self._bucket.pages(prefix, to_slash)
        while True:
            time.sleep(self._away)
            page = next(pages, None)
            if page is None:
                return
            self._add("list")
            yield page

    def _read(self, key: str, limit: int | None) -> Iterable[bytes]:
        self._add("get")
        return self._bucket.read(key, limit)

    def _add(self, kind: str) -> None:
        with self._lock:
            self.requests[kind] += 1


def keys(count: int) -> Iterator[str]:
    """As many objects in folders of classes."""
    return (f"set/train/n{number % CLASSES:04}/{number:07}.jpg" for number in range(count))


def put(store: ObjectStore, names: Iterable[str], salt: str) -> None:
    """Write objects, each with a content of its own."""
    client = store.client()

    def one(key: str) -> None:
        client.put_object(Bucket="training", Key=key, Body=f"{key}{salt}".encode().ljust(OBJECT_BYTES))

    with ThreadPoolExecutor(16) as pool:
        for _ in pool.map(one, names):
            pass


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what it returns."""
    begun = time.monotonic()
    found = work()
    return time.monotonic() - begun, found


def row(what: str, seconds: float, requests: Counter[str]) -> None:
    """Print a line of the table."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<44} {seconds:>8.1f} {requests['list']:>7} {requests['get']:>8} {peak:>10.0f}", flush=True)


def listings(counted: Callable[[float], Counted], count: int) -> None:
    """Both ways in turn, near and away, and their medians."""
    ways: dict[str, Callable[[Counted], Iterable[Object]]] = {
        "listed one request after the other": Counted.one_after_the_other,
        "listed side by side": lambda one: listed(one.bucket()),
    }
    found: dict[str, list[float]] = {}
    asked: dict[str, Counter[str]] = {}
    for away in (0, AWAY_S) * ROUNDS:
        for way, work in ways.items():
            one = counted(away)
            seconds, names = timed(partial(_number, work, one))
            if names != count:
                sys.exit(f"{way}: {names} of {count} objects")
            what = f"{way}, {away * 1000:.0f} ms away"
            found.setdefault(what, []).append(seconds)
            asked[what] = one.requests
    for what, taken in found.items():
        row(what, statistics.median(taken), asked[what])


def _number(work: Callable[[Counted], Iterable[Object]], one: Counted) -> int:
    return sum(1 for _ in work(one))


def manifest(one: Counted, path: Path, killed_at: int = 0, limit: int = DIGEST_BYTES) -> dict[str, Any]:
    """Make it. killed_at: files after which it is interrupted; limit: bytes that are read. Returns its header."""
    seen = 0

    def interrupts(files: int, *_: int) -> None:
        nonlocal seen
        seen += files
        if killed_at and seen >= killed_at:
            raise KeyboardInterrupt

    source = objects.source_of(one.bucket())
    draft = Draft(SOURCE, source.listed, limit)
    if draft.header["id"] != (known_digests.saved_header(str(path)) or {}).get("id"):
        draft.save(str(path), source, interrupts)
    return draft.header


def main() -> None:
    """Fill a store and print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder, object_store(Path(folder, "store")) as store:
        store.create_bucket("training")
        seconds, _ = timed(lambda: put(store, keys(count), ""))
        print(f"{count:,} objects of {OBJECT_BYTES} bytes in {CLASSES} folders, written in {seconds:.0f} s\n")
        credentials = {"access_key": store.access_key, "secret_key": store.secret_key, "security_token": ""}

        def counted(away: float = 0) -> Counted:
            return Counted(object_stores.opened(SOURCE, store.s3, credentials), away)

        print(f"{'':<44} {'s':>8} {'lists':>7} {'gets':>8} {'peak, MiB':>10}")
        listings(counted, count)
        path = Path(folder, "imagenet.jsonl")
        steps: list[tuple[str, Callable[[], None]]] = [
            ("manifest, the first", lambda: None),
            ("manifest, nothing changed", lambda: None),
            ("manifest, every hundredth object changed", lambda: put(store, list(keys(count))[::CLASSES], "new")),
        ]
        for what, before in steps:
            before()
            one = counted()
            seconds, _ = timed(partial(manifest, one, path))
            row(what, seconds, one.requests)
        path.unlink()
        halves = [counted(), counted()]
        try:
            manifest(halves[0], path, count // 2)
        except KeyboardInterrupt:
            row("manifest, the first, killed halfway", 0, halves[0].requests)
        seconds, _ = timed(partial(manifest, halves[1], path))
        row("and run again", seconds, halves[1].requests)
        path.unlink()
        one = counted()
        seconds, header = timed(partial(manifest, one, path, limit=count * OBJECT_BYTES // 10))
        row(f"manifest, the first, {header['etags']['files']:,} ETags", seconds, one.requests)


if __name__ == "__main__":
    main()

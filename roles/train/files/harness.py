"""What every training program shares: what it is told, what it tells, and the proof of what it read.

Standard library only, Python 3.9 or newer: it runs with the interpreter that has the framework. A program is started
with the path of its orders (JSON). It writes one JSON object a line to standard output, and before each epoch waits
for a byte on standard input, so that counters are read while nothing trains. It ends when standard input does.

Of processes that train together, as torchrun starts them, the first one of each node speaks and listens.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import random
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

BUFFER_BYTES = 1 << 20
MEBIBYTE = 1 << 20
MOST_WORDS = 1000  # characters: lines of several processes are not mixed up to a pipe's 4096


class Sample(NamedTuple):
    """What a loader read of one file: its bytes, their digest, read calls, and bytes that came from a block device."""

    data: bytes
    digest: str
    calls: int
    storage_bytes: int


class Orders(NamedTuple):
    """What a program is told. root is None where nothing is read, and batches are made up instead.

    files: paths below root, in the manifest's words. algorithms: of those whose digest is not a sha256. shown: where
    digests of what was read are written. images: how many an epoch of made-up batches has. emulated: of train_emulated,
    {named, accelerators, compute_s}.
    """

    root: str | None
    folder: str
    files: list[str]
    algorithms: dict[str, str]
    classes: list[str]
    images: int
    shown: str
    model: str
    batch: int
    size: int
    epochs: int
    loaders: int
    gpus: int
    seed: int
    mark: int
    emulated: Any = None

    def read(self, name: str) -> Sample:
        """One of `files`, with the digest that it is compared by."""
        return read(f"{self.root}/{name}", self.hash_of(name).name)

    def hash_of(self, name: str) -> Any:
        """What is to hash one of `files`."""
        return hashlib.new(self.algorithms.get(name, "sha256"), usedforsecurity=False)


def read(path: str, algorithm: str = "sha256") -> Sample:
    """A whole file, as loaders read it: its digest costs about a hundredth of decoding it."""
    digest, parts, calls = hashlib.new(algorithm, usedforsecurity=False), [], 1
    _, before = asked()
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while part := os.read(fd, BUFFER_BYTES):
            digest.update(part)
            parts.append(part)
            calls += 1
    finally:
        os.close(fd)
    return Sample(b"".join(parts), named(digest), calls, asked()[1] - before)


def named(digest: Any) -> str:
    """A digest with its algorithm, as the manifest has it."""
    return f"{digest.name}:{digest.hexdigest()}"


def asked() -> tuple[int, int]:
    """Read calls of this process until now, and bytes that it has fetched from block devices."""
    try:
        fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    except OSError:  # a hardened kernel, or a container that may not look
        return 0, 0
    return int(fields["syscr"]), int(fields["read_bytes"])


def seed_of(seed: int, epoch: int, path: str) -> int:
    """Of what is drawn for one image, so that it does not depend on which process loads it."""
    drawn = hashlib.blake2b(f"{seed}/{epoch}/{path}".encode("utf-8", "surrogateescape"), digest_size=7)
    return int.from_bytes(drawn.digest(), "big")


def order(count: int, seed: int, epoch: int) -> list[int]:
    """An epoch's order of so many images."""
    numbers = list(range(count))
    random.Random(f"{seed}/{epoch}").shuffle(numbers)
    return numbers


class Alone:
    """A process that trains alone; one of several has `rank` of `world`, and `place` on its node."""

    rank, place, world = 0, 0, 1

    def wait(self) -> None:
        """Until all are here."""

    def sums(self, numbers: list[float]) -> list[float]:
        """Of the numbers of all."""
        return numbers

    def share(self, batch: list[int]) -> list[int]:
        """This process's part of a step."""
        return batch[self.rank :: self.world]

    def end(self) -> None:
        """What there is to do after the last word."""


class Epoch:
    """What one epoch came to: figures for the table, and the digest of every file that this process read."""

    def __init__(self, number: int, mark: int, among: Alone) -> None:
        self.number, self._mark, self._among, self._begun = number, mark, among, time.perf_counter()
        self._wait = 0.0
        self._images = self._top1 = self._top5 = self._bytes = self._calls = self._storage = 0
        self._losses: list[float] = []
        self._marked: tuple[int, float] | None = None
        self._read: list[str] = []
        self.figures: dict[str, float] = {}  # of a program's own, which are told with the others

    def batches(self, source: Iterable[Any]) -> Iterator[Any]:
        """The batches of a loader; the time until each is there is time that training waited."""
        iterator = iter(source)
        while True:
            begun = time.perf_counter()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            finally:
                self._wait += time.perf_counter() - begun
            yield batch

    def saw(self, path: str, digest: str, size: Any, calls: Any = 0, storage_bytes: Any = 0) -> None:
        """Count a file that a loader read; numbers may be of a framework's own types.

        Calls and storage_bytes: of this file, or of all files until now where loaders are threads, and read at once.
        """
        self._read.append(f"{digest} {int(size)} {path}\n")
        self._bytes, self._calls = self._bytes + int(size), self._calls + int(calls)
        self._storage += int(storage_bytes)

    def step(self, loss: float, images: int, top1: int, top5: int) -> None:
        """Count a finished step of all processes: its images, and how many had their class first, or among five."""
        self._losses.append(loss)
        self._images, self._top1, self._top5 = self._images + images, self._top1 + top1, self._top5 + top5
        if len(self._losses) == self._mark:
            self._marked = (self._images, time.perf_counter() - self._begun)

    def ended(self, shown: str) -> dict[str, Any]:
        """The epoch of all processes as it is told; digests of what this one read go to a file in `shown`."""
        seconds = time.perf_counter() - self._begun
        name = f"epoch-{self.number}" + (f".{self._among.place}" if self._among.place else "")
        Path(shown, name).write_text("".join(self._read), encoding="utf-8", errors="surrogateescape")
        images, marked_s = self._marked or (self._images, seconds)
        wait_s, *read = self._among.sums([self._wait, self._bytes, self._calls, self._storage])
        read_bytes, calls, storage_bytes = map(int, read)
        return {
            "epoch": self.number,
            "images": self._images,
            "steps": len(self._losses),
            "seconds": seconds,
            "wait_s": wait_s / self._among.world,
            "marked_images_per_s": images / marked_s,
            "losses": self._losses,
            "top1": self._top1 / max(1, self._images),
            "top5": self._top5 / max(1, self._images),
            "bytes": read_bytes,
            "calls": calls,
            "storage_bytes": storage_bytes,
            **self.figures,
        }


class Harness:
    """A program's line to who started it. What the framework prints goes to standard error."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        sys.excepthook = self._failed
        self.orders = Orders(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
        self.among, self._speaks = Alone(), os.environ.get("LOCAL_RANK", "0") == "0"
        self._in = os.dup(0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # loaders close standard input, and would wait for who listens
        self._words: queue.Queue[bytes] = queue.Queue()
        if self._speaks:
            threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while word := os.read(self._in, 1):
            self._words.put(word)
        os._exit(3)  # who started it is gone

    def _failed(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        """Every process says what it failed by: of several, only one may know the reason."""
        sys.__excepthook__(kind, error, trace)
        self._speaks = True
        self.tell("failed", why=f"{kind.__name__}: {error}"[:MOST_WORDS])

    def tell(self, event: str, **about: Any) -> None:
        """One line, of the process that speaks."""
        if self._speaks:
            self._out.write(json.dumps({"event": event, **about}) + "\n")
            self._out.flush()

    def _hear(self) -> None:
        """Wait until it is to go on, together with all others."""
        if self._speaks:
            self._words.get()
        self.among.wait()

    def ready(self, **about: Any) -> None:
        """Say that everything is loaded, what the process holds of memory, and wait until training is to begin."""
        self.tell("ready", resident_bytes=_resident_bytes(), **about)
        self._hear()

    def epochs(self) -> Iterator[Epoch]:
        """Each epoch; after it, what it came to is told."""
        for number in range(1, self.orders.epochs + 1):
            epoch = Epoch(number, self.orders.mark, self.among)
            yield epoch
            self.tell("epoch", **epoch.ended(self.orders.shown))
            self._hear()


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")

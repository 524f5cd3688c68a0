"""Emulated accelerators, as in MLPerf Storage: each takes a batch, and sleeps as long as a GPU would compute on it.

Standard library only. Accelerators go in step, as GPUs do that add gradients up: a step begins when each has its batch.
Loaders are processes. They read every file to its end and hash it; nothing is decoded, and nothing is kept.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from harness import BUFFER_BYTES, Epoch, Harness, Orders, asked, named, order

AHEAD = 2  # steps that are read ahead
PIECE = 16  # files that a loader reads at a time: with whole batches the first step would have others read beside it


class Read(NamedTuple):
    """What `Epoch.saw` takes."""

    path: str
    digest: str
    size: int
    calls: int
    storage_bytes: int


def read(orders: Orders, name: str) -> Read:
    """One of the files, which no memory is taken for."""
    digest, buffer, size, calls = orders.hash_of(name), memoryview(bytearray(BUFFER_BYTES)), 0, 1
    before = asked()[1]
    with Path(f"{orders.root}/{name}").open("rb", buffering=0) as stream:
        while count := stream.readinto(buffer):
            digest.update(buffer[:count])
            size, calls = size + count, calls + 1
    return Read(name, named(digest), size, calls, asked()[1] - before)


def load(orders: Orders, names: list[str]) -> list[Read]:
    """Some files, in a loader."""
    return [read(orders, name) for name in names]


def loaded(pool: Executor, orders: Orders, pieces: list[list[str]], ahead: int) -> Iterator[list[Read]]:
    """Pieces in their order; some more are read meanwhile."""
    told = orders._replace(files=[], classes=[], algorithms={})
    waiting: deque[Any] = deque()
    for names in pieces:
        kinds = {name: orders.algorithms[name] for name in names if name in orders.algorithms}
        waiting.append(pool.submit(load, told._replace(algorithms=kinds), names))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def steps(pool: Executor, orders: Orders, names: list[list[str]]) -> Iterator[list[Read]]:
    """What all accelerators take at a time."""
    size = min(PIECE, max(1, orders.batch // orders.loaders))
    pieces = [[step[begin : begin + size] for begin in range(0, len(step), size)] or [[]] for step in names]
    found = loaded(pool, orders, [piece for step in pieces for piece in step], AHEAD * len(pieces[0]))
    for step in pieces:
        yield [one for _ in step for one in next(found)]


def emulate(epoch: Epoch, source: Iterator[list[Read]], images: list[int], orders: Orders) -> None:
    """Compute on each step's images; the last step has less of them, and takes less time.

    Utilisation counts whole steps, from when the first one's data are there until the last one's are: before the first
    nothing could be read ahead, and during the last nothing is to be read.
    """
    compute_s, whole = orders.emulated["compute_s"], orders.batch * orders.emulated["accelerators"]
    there: list[float] = []
    for count, step in zip(images, epoch.batches(source)):  # noqa: B905 - Python 3.9
        at = time.perf_counter()
        if count == whole:
            there.append(at)
        for one in step:
            epoch.saw(*one)
        time.sleep(max(0.0, at + compute_s * count / whole - time.perf_counter()))
        epoch.step(loss=0.0, images=count, top1=0, top5=0)
    if len(there) > 1:
        epoch.figures["utilisation"] = compute_s * (len(there) - 1) / (there[-1] - there[0])


def main() -> None:
    """Emulate as ordered; where nothing is read, every step is empty."""
    harness = Harness()
    orders = harness.orders
    harness.ready(framework=orders.model, device=f"{orders.emulated['named']}, emulated")
    count, whole = len(orders.files) if orders.root else orders.images, orders.batch * orders.emulated["accelerators"]
    harness.tell("listed", images=count, seconds=0.0)
    with ProcessPoolExecutor(orders.loaders, multiprocessing.get_context("fork")) as pool:
        for epoch in harness.epochs():
            numbers = order(count, orders.seed, epoch.number)
            taken = [numbers[begin : begin + whole] for begin in range(0, count, whole)]
            names = [[orders.files[number] for number in step] if orders.root else [] for step in taken]
            emulate(epoch, steps(pool, orders, names), [len(step) for step in taken], orders)


if __name__ == "__main__":
    main()

"""Copies a dataset onto a node in windows: workers load the files of one, and the node copies them from there.

All nodes go through the same windows in the same order, and none waits for another: a worker reads a block from the
store once, whichever node asks first. A window is half of what one worker holds. Workers give up what was used longest
ago, so they still have it for a node that is a window behind.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence

from ansible_collections.alluxio.fuse.plugins.module_utils import forgetting, reader, stages
from ansible_collections.alluxio.fuse.plugins.module_utils.stages import Wanted
from ansible_collections.alluxio.fuse.plugins.module_utils.staging import Window
from ansible_collections.alluxio.fuse.plugins.module_utils.worker_client import File, WorkerClient

OF_WORKER = 2  # windows that one worker holds
THREADS = 8
IN_A_ROW = 64  # files that fail one after the other: it is not the files
FAR_S = 5.0  # between two words of how far it is

Client = Callable[[str, int, int], WorkerClient]


def windows(manifest: str, holds: int) -> list[Window]:
    """Those of a dataset, also where a node stages a part of it. holds: bytes that the smallest worker holds."""
    size: int = next(reader.read_manifest(manifest))["bytes"]
    count = max(1, -(-size * OF_WORKER // holds))
    return [Window(place, count) for place in range(count)]


def copy(wanted: Wanted, root: str, holds: int, client: Client = WorkerClient) -> Iterator[str]:
    """Copies what the node lacks, and yields now and then how far it is. root: of the dataset in Alluxio.

    OSError where Alluxio does not answer, stages.NotMountedError without the mount that is copied from. What was copied
    then is not copied again.
    """
    loaded = failed = 0
    for window in windows(wanted.manifest, holds):
        about = f"window {window.place + 1} of {window.windows}: " if window.windows > 1 else ""
        if files := list(stages.lacking(wanted, window)):
            good = yield from _load(files, root, client, about)
            loaded, failed = loaded + good, failed + len(files) - good
            forgetting.forget(wanted.source)  # else FUSE reads the store: it listed when no worker held a block
            complete = False
            while not complete:
                copied = stages.bring(wanted, window, FAR_S)
                complete = copied.complete
                yield f"{about}{copied.files} files copied"
    if loaded:
        left = f", {failed} failed; what they do not hold, each node reads from the store" if failed else ""
        yield f"workers loaded {loaded} files{left}"


def _load(files: Sequence[tuple[str, int]], root: str, client: Client, about: str) -> Generator[str, None, int]:
    """Has workers load files, path and size; how many they hold."""
    start = random.randrange(len(files))  # each node begins at another file, and so asks for a share of them
    asked = enumerate([*files[start:], *files[:start]])
    program = client("load", THREADS, 0)
    good = failed = in_a_row = 0
    why, until = "the program that asks them ended", time.monotonic() + FAR_S
    try:
        for answer in program.ask(File(number, size, f"{root}/{path}") for number, (path, size) in asked):
            if answer and answer.failed:
                failed, in_a_row, why = failed + 1, in_a_row + 1, answer.failed
            elif answer:
                good, in_a_row = good + 1, 0
            if in_a_row == IN_A_ROW:
                break
            if time.monotonic() > until:
                yield f"{about}workers load it, {good} of {len(files)} files so far"
                until = time.monotonic() + FAR_S
    finally:
        program.end()
    if not good or good + failed < len(files):
        raise OSError(f"workers do not load it: {why}")
    return good

"""Copies a dataset onto a node in windows: workers load the files of one, and the node copies them from there.

All nodes go through the same windows in the same order, and none waits for another: a block has one worker, which reads
it from the store once, whichever node asks first. A window is half of what one worker holds. Workers give up what was
used longest ago, so they still have it for a node that is a window behind.
"""

from __future__ import annotations

import random
import time
from collections.abc import Generator, Iterator

from ansible_collections.alluxio.fuse.plugins.module_utils import forgetting, reader, stages
from ansible_collections.alluxio.fuse.plugins.module_utils.stages import Wanted
from ansible_collections.alluxio.fuse.plugins.module_utils.staging import WHOLE, Window
from ansible_collections.alluxio.fuse.plugins.module_utils.worker_client import (
    IN_A_ROW,
    THREADS,
    Client,
    File,
    WorkerClient,
)

OF_WORKER = 2  # windows that one worker holds
MOST = 100  # windows: of each, the manifest is read several times
FAR_S = 5.0  # between two words of how far it is


def windows(wanted: Wanted, holds: int) -> list[Window]:
    """Those of a dataset; none where there would be too many. holds: bytes that the smallest worker holds."""
    size: int = next(reader.read_manifest(wanted.manifest))["bytes"]
    count = max(1, -(-min(size, wanted.budget or size) * OF_WORKER // holds))
    return [Window(place, count) for place in range(count)] if count <= MOST else []


def copy(wanted: Wanted, root: str, holds: int, client: Client = WorkerClient) -> Iterator[str]:
    """Copies what the node lacks, and yields now and then how far it is. root: of the dataset in Alluxio.

    OSError where Alluxio does not answer or there is no room, stages.NotMountedError without the mount that is copied
    from. What was copied then is not copied again.
    """
    loaded = failed = 0
    if not (several := windows(wanted, holds)):
        yield f"a worker holds {holds:,} bytes, too few for {MOST} windows: each node reads the store"
    for window in several or [WHOLE]:
        about = f"window {window.place + 1} of {window.windows}: " if window.windows > 1 else ""
        stages.refuse(wanted)
        if several:
            lacking, good = yield from _load(wanted, window, root, client, about)
            loaded, failed = loaded + good, failed + lacking - good
            if not lacking:
                continue
            forgetting.forget(wanted.source)  # else FUSE reads the store: it listed when no worker held a block
        complete = False
        while not complete:
            copied = stages.bring(wanted, window, FAR_S)
            complete = copied.complete
            yield f"{about}{copied.files} files copied"
    if loaded or failed:
        left = f", {failed} failed; what they do not hold, each node reads from the store" if failed else ""
        yield f"workers loaded {loaded} files{left}"


def _load(
    wanted: Wanted, window: Window, root: str, client: Client, about: str
) -> Generator[str, None, tuple[int, int]]:
    """Has workers load what the node lacks of a window: how many files it lacks, and how many workers hold now."""
    files = list(stages.lacking(wanted, window))
    if not files:
        return 0, 0
    start = random.randrange(len(files))  # each node begins at another file, and so asks for a share of them
    asked = enumerate([*files[start:], *files[:start]])
    good = failed = in_a_row = 0
    until = time.monotonic() + FAR_S
    program = client("load", THREADS, 0)
    try:
        for answer in program.ask(File(number, size, f"{root}/{path}") for number, (path, size) in asked):
            if answer and answer.failed:
                failed, in_a_row = failed + 1, 0 if answer.is_final else in_a_row + 1
                if in_a_row == min(IN_A_ROW, len(files)):
                    raise OSError(f"workers do not load it: {answer.failed}")
            elif answer:
                good, in_a_row = good + 1, 0
            if time.monotonic() > until:
                yield f"{about}workers load it, {good} of {len(files)} files so far"
                until = time.monotonic() + FAR_S
    finally:
        program.end()
    if good + failed < len(files):
        raise OSError("workers do not load it: the program that asks them ended")
    return len(files), good

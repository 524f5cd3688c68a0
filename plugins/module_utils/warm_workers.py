"""Warm-up tasks whose files are to be in the workers: loaded, compared or given up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from typing import NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import reader, selection, warm_tasks
from ansible_collections.alluxio.fuse.plugins.module_utils.selection import Meant
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_progress import Work
from ansible_collections.alluxio.fuse.plugins.module_utils.worker_client import (
    IN_A_ROW,
    THREADS,
    Answer,
    Client,
    File,
    WorkerClient,
)

TRIES = 5  # without any progress
FIRST_REST_S = 5.0  # and twice as long each time
PHASES = {"load": ["load"], "compare": ["compare"], "evict": ["free"]}


class Outcome(NamedTuple):
    """What became of all files at once: which are as wanted, the first problems, and whether another try may help."""

    good: bytearray
    problems: list[str]
    may_change: bool


def carry_out(work: Work, client: Client = WorkerClient) -> None:
    """Does what the task says with its files; what is in the workers already is not read again."""
    compared = ["compare"] if work.task.verify and work.task.operation == "load" else []
    for verb in [*PHASES[work.task.operation], *compared]:
        outcome = _all(work, verb, client)
        if bad := outcome.good.count(0):
            _write_left(work, outcome.good)
            said = f"{bad} of {work.task.files} files are not {_wanted(verb)}"
            work.progress.end(warm_tasks.INCOMPLETE, said, bad, tuple(outcome.problems))
            return
    work.progress.end(warm_tasks.DONE)


def _wanted(verb: str) -> str:
    return {"load": "in the workers", "compare": "in the workers as the manifest has them", "free": "given up"}[verb]


def _all(work: Work, verb: str, client: Client) -> Outcome:
    """Goes over the files until all are good, or several tries brought nothing."""
    work.progress.phase(verb, work.task.files, work.task.bytes)
    best, tries = -1, 0
    while True:
        outcome = _once(work, verb, client)
        good = outcome.good.count(1)
        best, tries = (good, 0) if good > best else (best, tries + 1)
        if good == work.task.files or verb == "compare" or not outcome.may_change or tries >= TRIES - 1:
            return outcome
        first = outcome.problems[0] if outcome.problems else "the program that asks the workers ended"
        work.progress.rest(FIRST_REST_S * 2**tries, first)


def _once(work: Work, verb: str, client: Client) -> Outcome:
    asked: dict[int, Meant] = {}

    def files() -> Iterator[File]:
        for number, row in enumerate(selection.read(warm_tasks.files(work.folder, work.task.id))):
            asked[number] = row
            path = f"{work.node.datasets[row.dataset].path.rstrip('/')}/{row.path}"
            yield File(number, row.size, path, reader.algorithm_of(row.digest))

    good, problems, may_change = bytearray(work.task.files), list[str](), False
    count = size = failed = in_a_row = 0
    program = client(verb, THREADS, work.task.bandwidth)
    try:
        for answer in program.ask(files()):
            if answer is None:
                work.progress.tick()
                continue
            row = asked.pop(answer.number)
            wrong, again = _judged(verb, row, answer)
            if wrong:
                may_change = may_change or again
                failed, in_a_row = failed + 1, in_a_row + again
                problems += [f"{row.path}: {wrong}"] if len(problems) < selection.SHOWN else []
                if in_a_row >= IN_A_ROW:
                    break
            else:
                good[answer.number], count, size, in_a_row = 1, count + 1, size + row.size, 0
            work.progress.at(count, size, answer.bytes if verb == "load" else 0)
    finally:
        program.end()
    return Outcome(good, problems, may_change or count + failed < work.task.files)


def _judged(verb: str, row: Meant, answer: Answer) -> tuple[str, bool]:
    """What is wrong with a file, and whether that may be otherwise another time."""
    if answer.failed:
        return answer.failed, not answer.is_final
    if verb == "compare" and row.digest and answer.digest != row.digest.partition(":")[2]:
        return "workers hold other bytes than the manifest has the digest of", False
    return "", False


def _write_left(work: Work, good: bytearray) -> None:
    path = warm_tasks.left(work.folder, work.task.id)
    part = path.with_suffix(".part")
    rows = selection.read(warm_tasks.files(work.folder, work.task.id))
    with part.open("w", encoding="utf-8", errors="surrogateescape") as out:
        for row in compress(rows, (not one for one in good)):
            out.write(f"{work.node.datasets[row.dataset].roots[0]}/{row.path}\n")
    part.replace(path)

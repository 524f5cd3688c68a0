"""Warm-up tasks whose files are to be staged: another list of what is assigned, which the keeper then keeps, too."""

from __future__ import annotations

import errno
import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils import (
    assignments,
    compositions,
    generations,
    mount_table,
    reader,
    selection,
    stages,
    staging,
    warm_tasks,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.selection import Meant
from ansible_collections.alluxio.fuse.plugins.module_utils.stages import Wanted
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_progress import CanceledError, Work
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_tasks import Node, TaskError

SLICE_S = 2.0  # of copying, before others are let in
TRIES = 5
FIRST_REST_S = 5.0
BATCH = 256  # files that are compared between two looks whether a user has cancelled
PROCESSES = 4
UNSTAGED = "is not staged"

Problems = dict[tuple[str, str], str]  # by dataset and path


def carry_out(work: Work) -> None:
    """Does what the task says with its files; what is on the medium already is not read again."""
    if work.task.operation != "compare" and (problems := _assign_all(work)):
        _end_incomplete(work, problems)
        return
    if work.task.operation == "compare" or work.task.verify:
        work.progress.phase("compare", work.task.files, work.task.bytes)
        wrong = _compare(work)
        if wrong:
            _end_incomplete(work, wrong)
            return
    work.progress.end(warm_tasks.DONE, work.progress.state.note)


def present(wanted: Wanted) -> frozenset[str]:
    """Files that are assigned at a path."""
    if wanted.chosen:
        with Path(wanted.chosen).open(encoding="ascii") as lines:
            return frozenset(map(json.loads, lines))
    if wanted.budget:
        return staging.part(wanted.manifest, wanted.budget, wanted.per_file).paths
    return frozenset(_sizes(wanted)) if wanted.folder else frozenset()


def assigned(node: Node, dataset: str) -> Wanted:
    """What is staged of a dataset here; TaskError where nothing is, or another manifest's files are."""
    place = node.datasets[dataset]
    wanted = assignments.assigned_at(node.assignments, place.copy) if place.copy else None
    if wanted is None or not wanted.folder:
        raise TaskError(f"{dataset} is not staged on {node.name}: write stage: auto of it, and run site.yml")
    theirs, ours = (next(reader.read_manifest(path)) for path in (wanted.manifest, place.manifest))
    if theirs["id"] != ours["id"]:
        raise TaskError(f"{dataset} was listed anew since it was staged: run playbooks/warm.yml without alluxio_warm")
    if theirs["entries"].get("link"):
        raise TaskError(f"{dataset}: {staging.LINKS}")
    return wanted


def there(wanted: Wanted) -> Iterator[Path]:
    """Folders of files that are on the medium, of whichever generation."""
    return (one for one in Path(wanted.folder).glob(f"*/{generations.FILES}"))


def _sizes(wanted: Wanted) -> dict[str, int]:
    return {entry.path: entry.size for entry in reader.load(wanted.manifest)[1]}


def _assign_all(work: Work) -> Problems:
    """Stages what the task adds, or what it leaves; what is not as wanted."""
    problems: Problems = {}
    for dataset, rows in groupby(selection.read(warm_tasks.files(work.folder, work.task.id)), lambda row: row.dataset):
        meant = frozenset(row.path for row in rows)
        former = assigned(work.node, dataset)
        before = present(former)
        target = before | meant if work.task.operation == "load" else before - meant
        sizes = _sizes(former)
        work.progress.phase(work.task.operation, len(target), sum(sizes[path] for path in target))
        wanted = _assign(work.node, former, target, work.task.bandwidth, len(sizes))
        try:
            found = _keep(work, wanted)
        except CanceledError:
            _assign_what_is_there(work.node, wanted, target, len(sizes))
            raise
        if found:
            _assign_what_is_there(work.node, wanted, target, len(sizes))
            there_now = present(assigned(work.node, dataset))
            problems |= {(dataset, path): found.get(path, found.get("", UNSTAGED)) for path in meant - there_now}
        elif work.task.bandwidth:
            _assign(work.node, wanted, target, 0, len(sizes))
    return problems


def _assign(node: Node, former: Wanted, target: Iterable[str], bandwidth: int, all_files: int) -> Wanted:
    """Has these files assigned in place of what was: the whole dataset, where they are all of it."""
    paths = sorted(target)
    chosen = ""
    if len(paths) < all_files:
        lines = "".join(json.dumps(path) + "\n" for path in paths)
        # in the assignments' own folder, as a name of the draft's would be on another filesystem
        draft = Path(node.assignments, f".chosen-{hashlib.sha256(former.path.encode()).hexdigest()[:16]}")
        draft.write_text(lines, encoding="ascii")
        chosen = str(draft)
    with assignments.alone(node.assignments):
        wanted = replace(former, chosen=chosen, budget=0, bandwidth=bandwidth)
        assignments.assign(node.assignments, wanted)
    if chosen:
        Path(chosen).unlink()
    return assignments.assigned_at(node.assignments, former.path) or wanted


def _assign_what_is_there(node: Node, wanted: Wanted, target: frozenset[str], all_files: int) -> None:
    """Of what was wanted, what is on the medium by now: the rest is not copied any more.

    Where FUSE is away, or readers keep an older kernel from changing the path, the keeper shows it later.
    """
    folders = list(there(wanted))
    kept = [path for path in target if any(staging.digest_of(str(one / path)) for one in folders)]
    smaller = _assign(node, wanted, kept, 0, all_files)
    with assignments.alone(node.assignments), suppress(stages.NotMountedError, compositions.InUseError):
        stages.keep(smaller)


def _keep(work: Work, wanted: Wanted) -> dict[str, str]:
    """Copies and shows what is assigned; by path what is wrong, and by "" what keeps all of it from being staged."""
    best, tries = -1, 0
    before: tuple[int, int] | None = None
    while True:
        why: dict[str, str] = {}
        try:
            with assignments.alone(work.node.assignments):
                kept = stages.keep(wanted, SLICE_S)
            time.sleep(2 * assignments.AGAIN_S)  # a run that looks now and then gets in, too
        except (stages.NotMountedError, compositions.InUseError, OSError, RuntimeError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                return {"": f"{wanted.folder} is full"}
            why, files = {"": str(error)}, best
        else:
            why = {one["path"]: one["problem"] for one in kept.problems}
            files, size = kept.staged.get("files", 0), kept.staged.get("bytes", 0)
            moved = size - before[1] if before else 0
            before = (files, size)
            work.progress.at(files, size, max(0, moved))
            if kept.complete and not why:
                if said := str(kept.former):
                    work.progress.note(note=said)
                return {}
        if files > best:
            best, tries = files, 0
            continue
        if not why:
            work.progress.tick()
            continue
        tries += 1
        if tries >= TRIES:
            return why
        path, said = next(iter(why.items()))
        work.progress.rest(FIRST_REST_S * 2 ** (tries - 1), f"{path}: {said}" if path else said)


def _compare(work: Work) -> Problems:
    """Reads every file of the task from the copy that its path shows; what is wrong."""
    wrong: Problems = {}
    count = size = 0
    table = mount_table.read_mounts()
    for dataset, rows in groupby(selection.read(warm_tasks.files(work.folder, work.task.id)), lambda row: row.dataset):
        wanted = assigned(work.node, dataset)
        view = generations.view(wanted.folder, wanted.path, table)
        root = str(Path(wanted.folder, view.generation, generations.FILES)) if view and view.generation else ""
        for batch in _batches(rows):
            found = _compare_batch(root, batch)
            wrong |= {(dataset, path): what for path, what in found.items()}
            count += len(batch) - len(found)
            size += sum(row.size for row in batch if row.path not in found)
            work.progress.at(count, size)
    return wrong


def _batches(rows: Iterator[Meant]) -> Iterator[list[Meant]]:
    batch: list[Meant] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _compare_batch(root: str, batch: list[Meant]) -> dict[str, str]:
    def compare(rows: list[Meant]) -> dict[str, str]:
        view = memoryview(bytearray(staging.BUFFER_BYTES))
        said = {row.path: _wrong(root, row, view) for row in rows}
        return {path: what for path, what in said.items() if what}

    shares = [share for number in range(PROCESSES) if (share := batch[number::PROCESSES])]
    return {path: what for found in reader.fork_map(compare, shares) for path, what in found.items()}


def _wrong(root: str, row: Meant, view: memoryview) -> str:
    path = f"{root}/{row.path}"
    kept = staging.digest_of(path) if root else None
    if kept is None:
        return UNSTAGED
    try:
        wanted = row.digest or kept[1]
        size, digest = reader.file_digest(path, view, wanted)
    except OSError as error:
        return error.strerror or str(error)
    if size != row.size:
        return f"it has {size} bytes, and the manifest says {row.size}"
    return "" if digest == wanted else "its bytes are not those of the manifest"


def _end_incomplete(work: Work, problems: Problems) -> None:
    path = warm_tasks.left(work.folder, work.task.id)
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", errors="surrogateescape") as out:
        for row in selection.read(warm_tasks.files(work.folder, work.task.id)):
            if (row.dataset, row.path) in problems:
                out.write(f"{work.node.datasets[row.dataset].roots[0]}/{row.path}\n")
    part.replace(path)
    said = tuple(f"{path}: {what}" for (_, path), what in problems.items())
    note = f"{len(problems)} of {work.task.files} files are not staged as the manifest has them"
    work.progress.end(warm_tasks.INCOMPLETE, note, len(problems), said)

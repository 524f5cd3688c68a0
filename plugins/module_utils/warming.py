"""What can be asked of a node's warm-up: to start a task, or say what it would do, to list, cancel and resume."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import (
    generations,
    mount_table,
    reader,
    selection,
    staging,
    warm_stage,
    warm_tasks,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.selection import Asked, Counted, Dataset, Meant, Share
from ansible_collections.alluxio.fuse.plugins.module_utils.stages import Wanted
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_tasks import Node, Task, TaskError

OPERATIONS = {"load": "load", "verify": "compare", "evict": "evict"}


@dataclass(frozen=True)
class Wish:
    """What is to be done with which files. operation: load, verify or evict; verify: of what was loaded, too."""

    operation: str
    into: str
    datasets: list[str]
    asked: Asked
    verify: bool = False
    bandwidth: int = 0
    share: Share = selection.ALL


@dataclass(frozen=True)
class Estimate:
    """What a task would do on this node.

    present: of its files, those that are staged already; of what workers hold only the master knows. requests: to the
    store, at most; None where the source is a folder. needed and free: bytes of the medium, or of all workers. seconds:
    None where no bandwidth was said and none was measured; rate: which it was taken from.
    """

    files: int
    bytes: int
    twice: int
    present: int
    requests: int | None
    needed: int
    free: int
    fits: bool
    rate: float
    measured: bool
    seconds: float | None


def estimate(folder: str, node: Node, wish: Wish, rows: Path | None = None) -> Estimate:
    """What a task would do, whose rows go to a file; RefusedError or TaskError, in words, where it cannot be."""
    if unknown := sorted(set(wish.datasets) - node.datasets.keys()):
        raise TaskError(f"datasets: {', '.join(unknown)}: {node.name} mounts {', '.join(node.datasets)}")
    names = wish.datasets or list(node.datasets)
    if wish.into == "workers" and not node.tiers:
        raise TaskError("into: workers: this deployment has no workers of its own; load into: stage")
    places = [Dataset(name, place.manifest, place.roots, place.block) for name, place in _of(node, names)]
    wanted = {name: warm_stage.assigned(node, name) for name in names} if wish.into == "stage" else {}
    share = wish.share if wish.into == "workers" else selection.ALL
    chosen = selection.Selected(places, wish.asked, share)
    missing = _Missing(node, wanted)
    seen = missing.seen(chosen.rows())
    if rows:
        selection.write(str(rows), seen)
    else:
        deque(seen, 0)
    return _estimate(folder, node, wish, chosen, missing)


def start(folder: str, wish: Wish, name: str, said: dict[str, Any]) -> Task:
    """Makes a task; RefusedError or TaskError, in words, where it cannot be or does not fit."""
    draft, node = warm_tasks.draft(folder, name), warm_tasks.node(folder)
    try:
        found = estimate(folder, node, wish, draft / warm_tasks.FILES)
        refuse_too_much(found, wish)
    except (ValueError, OSError):
        shutil.rmtree(draft)
        raise
    task = Task(
        name,
        OPERATIONS[wish.operation],
        wish.into,
        found.files,
        found.bytes,
        verify=wish.verify,
        bandwidth=wish.bandwidth,
        datasets=wish.datasets or list(node.datasets),
        said=said,
        created=time.time(),
    )
    warm_tasks.create(folder, task)
    return task


def refuse_too_much(found: Estimate, wish: Wish) -> None:
    """TaskError where there is no room for what is to be loaded."""
    if wish.operation == "load" and not found.fits:
        where = "the medium has" if wish.into == "stage" else "all workers together hold"
        raise TaskError(f"it takes {_size(found.needed)}, and {where} {_size(found.free)}: name less, or evict first")


def _of(node: Node, names: Iterable[str]) -> list[tuple[str, warm_tasks.Place]]:
    return [(name, node.datasets[name]) for name in names]


def told(folder: str, name: str = "") -> list[dict[str, Any]]:
    """Tasks with their states, as one dictionary each; alive: whether a runner is here."""
    found = [warm_tasks.one(folder, name)] if name else warm_tasks.listed(folder)
    alive = warm_tasks.is_alive(folder)
    return [
        {
            **asdict(task),
            **{key: value for key, value in asdict(state).items() if key not in ("files", "bytes", "attempt")},
            "done_files": state.files,
            "done_bytes": state.bytes,
            "ended": warm_tasks.is_ended(task, state),
            "alive": alive,
            "list": str(left) if state.state == warm_tasks.INCOMPLETE and left.exists() else "",
        }
        for task, state in found
        for left in [warm_tasks.left(folder, task.id)]
    ]


class _Missing:
    """Counts what of a task is not staged yet."""

    def __init__(self, node: Node, wanted: dict[str, Wanted]) -> None:
        table = mount_table.read_mounts() if wanted else []
        self._node, self._roots = node, {name: _shown(one, table) for name, one in wanted.items()}
        self.present = 0
        self.missing = Counted()
        self._per_file = {name: node.datasets[name].per_file for name in wanted}
        self.beside = 0
        self._wanted = wanted
        self._met = Counter[str]()
        self._staged = {name: _staged_files(one, table) for name, one in wanted.items()}

    def seen(self, rows: Iterator[Meant]) -> Iterator[Meant]:
        """The rows, as they go by."""
        for row in rows:
            root = self._roots.get(row.dataset, "")
            if root and staging.digest_of(f"{root}/{row.path}"):
                self.present += 1
            else:
                self.missing = self.missing.plus(row.size, self._node.datasets[row.dataset].block)
                self.beside += self._per_file.get(row.dataset, 0)
                self._met[row.dataset] += row.dataset in self._wanted
            yield row

    @property
    def needed(self) -> int:
        """Bytes of a medium that it takes; a part of a dataset has names of all its files beside them."""
        names = 0
        for name in filter(self._wanted.get, self._met):
            total = next(reader.read_manifest(self._wanted[name].manifest))["files"]
            if self._staged[name] + self._met[name] < total:
                names += total * self._per_file[name]
        return round((self.missing.held + self.beside) * staging.SPARE) + names

    @property
    def free(self) -> int:
        """Bytes that the media have."""
        return sum(_free(folder) for folder in {one.folder for one in self._wanted.values()})


def _shown(wanted: Wanted, table: list[mount_table.Mount]) -> str:
    view = generations.view(wanted.folder, wanted.path, table)
    return str(Path(wanted.folder, view.generation, generations.FILES)) if view and view.generation else ""


def _staged_files(wanted: Wanted, table: list[mount_table.Mount]) -> int:
    view = generations.view(wanted.folder, wanted.path, table)
    record = generations.record(Path(wanted.folder), view.generation) if view and view.generation else None
    return int(record["files"]) if record else 0


def _free(folder: str) -> int:
    about = os.statvfs(folder)
    return about.f_bavail * about.f_frsize


def _estimate(folder: str, node: Node, wish: Wish, chosen: selection.Selected, missing: _Missing) -> Estimate:
    counted = missing.missing if wish.into == "stage" else chosen.counted
    store = any(place.store for place in node.datasets.values())
    rate = float(wish.bandwidth) or _measured(folder, wish.into)
    loads = wish.operation == "load"
    needed = missing.needed if wish.into == "stage" else chosen.of_all.bytes
    free = missing.free if wish.into == "stage" else node.worker_bytes
    return Estimate(
        files=chosen.counted.files,
        bytes=chosen.counted.bytes,
        twice=chosen.counted.twice,
        present=missing.present,
        requests=counted.requests if store and loads else None,
        needed=needed if loads else 0,
        free=free,
        fits=not loads or not counted.files or needed <= free,
        rate=rate,
        measured=not wish.bandwidth and rate > 0,
        seconds=(counted.paced if wish.bandwidth and wish.into == "workers" else counted.bytes) / rate
        if rate and loads
        else None,
    )


def _measured(folder: str, into: str) -> float:
    """Bytes a second that the last load of this kind brought, 0 where none has."""
    for task, state in reversed(warm_tasks.listed(folder)):
        if task.operation == "load" and task.into == into and not task.bandwidth and state.read and state.seconds:
            return state.read / state.seconds
    return 0.0


def _size(count: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"

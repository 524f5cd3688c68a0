"""Stages what a release of the chart says, where no playbook does: makes room, lists, has workers load, and copies.

A pod of each GPU node runs it from the image's copy of these modules. When the pod ends because the release is gone,
all that it mounted and copied goes, too, also under readers, as FUSE mounts do; else it stays for the next pod.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import (
    assignments,
    compositions,
    generations,
    keeper,
    known_digests,
    manifest,
    mount_calls,
    mount_table,
    reader,
    source_folder,
    stages,
    staging,
    windows,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.owning_object import OwningObject
from ansible_collections.alluxio.fuse.plugins.module_utils.stages import Wanted
from ansible_collections.alluxio.fuse.plugins.module_utils.worker_client import Client, WorkerClient

ASSIGNMENTS, MANIFESTS, MEMORY, COPY = "assignments", "manifests", "stage", "copy"
WAIT_S = 10.0  # after what went wrong
Errors = (OSError, ValueError, RuntimeError, compositions.InUseError, stages.NotMountedError)


@dataclass(frozen=True)
class Dataset:
    """A dataset as the chart says it.

    uri: of its source. source: its FUSE mount; that of another source is at another place. path: where it is read.
    folder: of its copy on a disk, "" of one in memory. size: bytes that the copy may take; per_file: those that each
    file takes beside its blocks. uid, gid, mode: of those who read it.
    """

    name: str
    uri: str
    source: str
    path: str
    folder: str
    size: int
    per_file: int
    uid: int
    gid: int
    mode: str


class Stager:
    """The datasets of a release on one node.

    state: the folder of what it knows, and of copies in memory. holds: bytes that the smallest worker holds.
    """

    def __init__(self, state: str, datasets: Sequence[Dataset], holds: int, client: Client = WorkerClient) -> None:
        self._state, self._datasets = Path(state), {one.path: one for one in datasets}
        self._assignments = str(self._state / ASSIGNMENTS)
        self._keeper = keeper.Keeper(self._assignments)
        self._holds, self._client = holds, client
        self._copies: dict[str, Iterator[str]] = {}
        self._pending = set(self._datasets)
        self._until: dict[str, float] = {}
        self._wanted: dict[str, tuple[Wanted, str]] = {}
        self._said: dict[str, str] = {}
        for folder in (ASSIGNMENTS, MANIFESTS, MEMORY):
            (self._state / folder).mkdir(mode=0o755, parents=True, exist_ok=True)

    def go_round(self) -> list[str]:
        """Does what is next of each dataset, and what the keeper does; what there is to say."""
        lines = {**self._withdraw_others(), **self._prepare_all()}
        self._sweep()
        new = {path: line for path, line in lines.items() if line and self._said.get(path) != line}
        self._said |= new
        return [*(f"{path}: {line}" for path, line in new.items()), *self._keeper.go_round()]

    def remove(self) -> None:
        """Takes away all that is staged here, from readers, too. What is known goes first, as a kill may leave half."""
        self._copies.clear()  # nothing is loaded any more
        paths = {*self._datasets, *(one.path for one in assignments.assigned(self._assignments))}
        for path in paths:
            while compositions.withdraw(path, in_use=True):  # of two, where a former pod was killed between them
                pass
        for part in (ASSIGNMENTS, MANIFESTS):
            shutil.rmtree(self._state / part)
        for medium in (self._state / MEMORY).iterdir():
            _empty(medium)
            medium.rmdir()
        for dataset in self._datasets.values():
            if dataset.folder:
                _empty(self._medium(dataset))
        (self._state / MEMORY).rmdir()

    def _prepare_all(self) -> dict[str, str]:
        lines = {}
        for path in filter(self._is_due, sorted(self._pending)):
            try:
                ready, lines[path] = self._prepare(self._datasets[path])
            except Errors as error:
                ready, lines[path] = False, self._waits(path, error)
                self._copies.pop(path, None)
            if ready:
                self._pending.remove(path)
        return lines

    def _is_due(self, path: str) -> bool:
        return self._until.get(path, 0.0) <= time.monotonic()

    def _waits(self, path: str, error: Exception) -> str:
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        self._until[path] = time.monotonic() + (keeper.WAIT_S if full else WAIT_S)
        return str(error)

    def _prepare(self, dataset: Dataset) -> tuple[bool, str]:
        """The next step until the keeper is told to stage a dataset: whether it is, and what there is to say."""
        kept = str(self._manifest(dataset.path))
        if not self._is_listed(dataset):
            if mount_table.mount_at(mount_table.read_mounts(), dataset.source) is None:
                return False, f"nothing is mounted at {dataset.source} yet"
            _show_source(dataset)  # a list takes its time
            self._forget(dataset.path)
            _empty(self._medium(dataset))  # of another source
            _list(dataset, kept)
        folder = self._make_room(dataset)
        shown = Wanted(kept, dataset.source, "", dataset.path, dataset.uid, dataset.gid, dataset.mode)
        if dataset.path not in self._wanted:
            self._wanted[dataset.path] = _fitting(replace(shown, folder=folder), dataset)
        wanted, said = self._wanted[dataset.path]
        if not wanted.folder:
            self._assign(shown)
            return True, said
        if stages.is_made(wanted):
            generations.forget_windows(folder)  # of another copy that was wanted meanwhile
        else:
            self._assign(shown)
            if dataset.path not in self._copies:
                if self._copies:  # windows of two would push each other out of the workers
                    return False, "another dataset is copied first"
                self._copies[dataset.path] = windows.copy(wanted, f"/{dataset.name}", self._holds, self._client)
            if far := next(self._copies[dataset.path], ""):
                return False, far
            del self._copies[dataset.path]
        self._assign(wanted)
        return True, said

    def _medium(self, dataset: Dataset) -> Path:
        """The folder above a copy: of one in memory, where its tmpfs is mounted."""
        return Path(dataset.folder).parent if dataset.folder else self._state / MEMORY / dataset.name

    def _make_room(self, dataset: Dataset) -> str:
        """The folder of a dataset's copy, which is there. A tmpfs that holds more than it may is emptied."""
        medium = self._medium(dataset)
        medium.mkdir(mode=0o700, exist_ok=True)
        if not dataset.folder and not self._is_of_size(str(medium), dataset):
            known = [one for one in (mount_calls.HUGE, mount_calls.NOSWAP) if mount_calls.accepts("tmpfs", one)]
            mount_calls.mount_tmpfs(str(medium), f"size={dataset.size}", mount_calls.ALL_FILES, *known)
        folder = medium / COPY
        folder.mkdir(mode=0o700, exist_ok=True)
        return str(folder)

    def _is_of_size(self, medium: str, dataset: Dataset) -> bool:
        """Whether a tmpfs is mounted, which has the size then."""
        there = mount_table.mount_at(mount_table.read_mounts(), medium)
        if there is None:
            return False
        about = os.statvfs(medium)
        if about.f_blocks * about.f_frsize == -(-dataset.size // about.f_frsize) * about.f_frsize:
            return True
        try:
            mount_calls.resize_tmpfs(
                medium, dataset.size, *(one for one in [mount_calls.NOSWAP] if one in there["options"])
            )
        except OSError:
            _show_source(dataset)
            _empty(Path(medium))
            return False
        return True

    def _manifest(self, path: str) -> Path:
        """That of the dataset which is read at `path`, ROOT/NAME/data."""
        return self._state / MANIFESTS / f"{Path(path).parent.name}.jsonl"

    def _is_listed(self, dataset: Dataset) -> bool:
        header = known_digests.saved_header(str(self._manifest(dataset.path))) or {}
        return (header.get("source"), header.get("version")) == (dataset.uri, reader.MANIFEST_VERSION)

    def _assign(self, wanted: Wanted) -> None:
        with assignments.alone(self._assignments):
            assignments.assign(self._assignments, wanted)

    def _withdraw_others(self) -> dict[str, str]:
        """Takes away what a former release staged and this one does not, once nobody reads it."""
        lines = {}
        for wanted in assignments.assigned(self._assignments):
            if wanted.path not in self._datasets and self._is_due(wanted.path):
                try:
                    self._withdraw(wanted)
                    lines[wanted.path] = "no longer staged"
                except Errors as error:
                    lines[wanted.path] = f"is to be staged no longer: {self._waits(wanted.path, error)}"
        return lines

    def _withdraw(self, wanted: Wanted) -> None:
        """Takes away what is assigned at a path, if the path shows that, and not what FUSE has mounted there since."""
        with assignments.alone(self._assignments):
            table = mount_table.read_mounts()
            served = mount_table.mount_at(table, wanted.source)
            shown = generations.view(wanted.folder, wanted.path, table)
            if shown and (shown.kind != "source" or (served and served["device"] == shown.device)):
                compositions.withdraw(wanted.path)
            self._forget(wanted.path)

    def _forget(self, path: str) -> None:
        """Nothing is known of a path any more, as what is staged of it is about to go."""
        self._manifest(path).unlink(missing_ok=True)
        assignments.unassign(self._assignments, path)

    def _sweep(self) -> None:
        """Unmounts the memory of what is no longer staged in memory."""
        used = {str(Path(one.folder).parent) for one in assignments.assigned(self._assignments) if one.folder}
        used |= {str(self._medium(one)) for one in self._datasets.values() if not one.folder}
        for medium in (self._state / MEMORY).iterdir():
            if str(medium) not in used:
                _empty(medium)
                medium.rmdir()


def _show_source(dataset: Dataset) -> None:
    """Has the path show the FUSE mount, in place of what it shows."""
    table = mount_table.read_mounts()
    served, shown = (mount_table.mount_at(table, one) for one in (dataset.source, dataset.path))
    if served and (shown is None or shown["device"] != served["device"]):
        compositions.publish(dataset.source, dataset.path)


def _empty(medium: Path) -> None:
    """Takes away a copy: from readers of open files once they close them."""
    if mount_table.mount_at(mount_table.read_mounts(), str(medium)):
        mount_calls.detach(str(medium))
    else:
        shutil.rmtree(medium / COPY, ignore_errors=True)


def _list(dataset: Dataset, path: str) -> None:
    """Makes a manifest of what FUSE serves, without digests: that of each file's first read is kept beside its copy."""
    served = source_folder.source_of(dataset.source, 1)
    draft = manifest.Draft(dataset.uri, served.listed, 0)
    if not draft.files:
        raise ValueError(f"{dataset.uri} holds no file")
    draft.save(path, served._replace(digests=lambda _files, _md5: {}))


def _fitting(wanted: Wanted, dataset: Dataset) -> tuple[Wanted, str]:
    """What of a dataset its room holds: all, a part, or nothing where that is not possible; and why."""
    if (needed := staging.footprint(wanted.manifest, dataset.per_file)) <= dataset.size:
        return wanted, ""
    said = f"it takes {needed:,.0f} bytes, and stage.size is {dataset.size:,}"
    if next(reader.read_manifest(wanted.manifest))["entries"].get("link"):
        return replace(wanted, folder=""), f"{said}; a dataset with links is staged whole or not at all: FUSE serves it"
    if not compositions.can_layer():
        return replace(wanted, folder=""), f"{said}; parts need Linux 6.5: FUSE serves it"
    return replace(wanted, budget=dataset.size, per_file=dataset.per_file), f"{said}: a part, small files first"


class EndedError(BaseException):
    """The pod is to end, whatever it does."""


def main(said: str, holds: str) -> None:
    """Goes on until the pod is to end. said: state, object and datasets, as JSON; holds: of the smallest worker."""
    about: Mapping[str, Any] = json.loads(said)
    datasets = [Dataset(**one) for one in about["datasets"]]
    release = OwningObject(about["object"])
    with assignments.alone(about["state"]):  # the former pod may still take away what it had
        stager = Stager(about["state"], datasets, int(holds))
        _go_on(stager, release)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if release.is_gone():
            stager.remove()
            print("the release is gone, and with it all that was staged here", flush=True)
        else:
            print("what is staged stays here", flush=True)


def _go_on(stager: Stager, release: OwningObject) -> None:
    def end(*_: object) -> None:
        raise EndedError

    signal.signal(signal.SIGTERM, end)
    try:
        while True:
            for line in [*release.look(), *stager.go_round()]:
                print(line, flush=True)
            time.sleep(keeper.REST_S)
    except EndedError:
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])

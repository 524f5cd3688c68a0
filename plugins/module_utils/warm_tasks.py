"""Warm-up tasks of a node: a folder for each, which outlives runs, containers and restarts of the node.

The folder of warm-up has the node's description (`node.json`), a file that the runner, the program that carries tasks
out, holds and touches (`alive`), and the tasks. A task is written once and carried out by one runner alone; others say
what they want of it.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

NODE, ALIVE, TASKS = "node.json", "alive", "tasks"
TASK, STATE, FILES, LEFT = "task.json", "state.json", "files.jsonl", "incomplete"
WAITING, RUNNING, RETRYING = "waiting", "running", "retrying"
DONE, INCOMPLETE, CANCELED = "done", "incomplete", "canceled"
ENDED = (DONE, INCOMPLETE, CANCELED)
KEPT = 50  # tasks that ended, the newest
SILENT_S = 30.0  # without a touch, after which the runner counts as gone


class TaskError(ValueError):
    """A task that there is not, or that cannot do what was asked of it."""


@dataclass(frozen=True)
class Place:
    """A dataset on a node.

    roots: where it is read, the mount last. path: in Alluxio. block: bytes of a request. store: whether it comes from
    an object store. copy: where its staged copy is read, "" where nothing is staged here. per_file: bytes that a
    staged file takes beside its blocks.
    """

    manifest: str
    roots: list[str]
    path: str
    block: int
    store: bool
    copy: str = ""
    folder: str = ""
    per_file: int = 0


@dataclass(frozen=True)
class Node:
    """What tasks need to know of their node.

    runner: what brings the runner back, for a person. tiers: {host, medium, bytes} of all workers.
    """

    name: str
    runner: str
    datasets: dict[str, Place]
    tiers: list[dict[str, Any]]
    assignments: str

    @property
    def worker_bytes(self) -> int:
        """Bytes that all workers together may hold."""
        return sum(int(tier["bytes"]) for tier in self.tiers)


@dataclass(frozen=True)
class Task:
    """What is to be done with the files of `files.jsonl`.

    operation: load, compare or evict; into: workers or stage. verify: whether what was loaded is compared then.
    bandwidth: bytes a second on this node, 0 without a limit. datasets: those that its files may be of. said: what the
    user wrote. attempt: counts how often it was asked for; wanted: run, or cancel.
    """

    id: str
    operation: str
    into: str
    files: int
    bytes: int
    verify: bool = False
    bandwidth: int = 0
    datasets: list[str] = field(default_factory=list)
    said: dict[str, Any] = field(default_factory=dict)
    created: float = 0.0
    attempt: int = 1
    wanted: str = "run"


@dataclass(frozen=True)
class State:
    """How far a task is.

    phase: of its operations the one that runs. read: bytes that came for it from elsewhere. seconds: of work so far.
    rate: bytes a second of late; left_s: seconds to go, None where nothing tells. problems: the first of `left` files.
    """

    attempt: int
    state: str
    phase: str = ""
    files: int = 0
    bytes: int = 0
    of_files: int = 0
    of_bytes: int = 0
    read: int = 0
    seconds: float = 0.0
    rate: float = 0.0
    left_s: float | None = None
    at: float = 0.0
    note: str = ""
    left: int = 0
    problems: list[str] = field(default_factory=list)


def described(about: dict[str, Any]) -> Node:
    """A node, of what a plan says of it."""
    return Node(**{**about, "datasets": {name: Place(**place) for name, place in about["datasets"].items()}})


def node(folder: str) -> Node:
    """This node."""
    try:
        return described(json.loads(Path(folder, NODE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise TaskError(f"{folder}: there is no warm-up here; playbooks/warm.yml with alluxio_warm brings it") from None


def new_id(now: float) -> str:
    """A name for a task, which tells when it was asked for."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(2)}"


def valid(name: str) -> str:
    """The name of a task, as a user says it; TaskError where it cannot be one."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,119}", name):
        raise TaskError(f"{name!r}: a task's name has small letters, digits, . and - alone")
    return name


def draft(folder: str, name: str) -> Path:
    """A folder in which a task is prepared; `create` makes it one."""
    made = Path(folder, TASKS, f".{name}")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    return made


def create(folder: str, task: Task) -> None:
    """Makes a task of its draft. The oldest that have ended go."""
    made = Path(folder, TASKS, f".{task.id}")
    _write(made / TASK, dataclasses.asdict(task))
    target = _of(folder, task.id)
    if target.exists():
        raise TaskError(f"there is a task {task.id} already")
    made.rename(target)
    ended = [one for one in listed(folder) if is_ended(*one)]
    for old, _ in ended[:-KEPT]:
        # Out of sight at once: without its state a task would be taken for one that waits.
        shutil.rmtree(_of(folder, old.id).rename(Path(folder, TASKS, f".{old.id}")))


def listed(folder: str) -> list[tuple[Task, State]]:
    """All tasks, the oldest first."""
    found = []
    for path in Path(folder, TASKS).glob(f"[!.]*/{TASK}"):
        with suppress(FileNotFoundError):  # it went meanwhile
            found.append(_read(path.parent))
    return sorted(found, key=lambda one: (one[0].created, one[0].id))


def is_there(folder: str, name: str) -> bool:
    """Whether there is a task of that name."""
    return bool(name) and "/" not in name and (_of(folder, name) / TASK).is_file()


def one(folder: str, name: str) -> tuple[Task, State]:
    """A task."""
    if not is_there(folder, name):
        known = ", ".join(task.id for task, _ in listed(folder)[-5:]) or "none"
        raise TaskError(f"there is no task {name!r} here; the last ones are: {known}")
    return _read(_of(folder, name))


def is_ended(task: Task, state: State) -> bool:
    """Whether nothing more is done for it."""
    return state.attempt == task.attempt and state.state in ENDED


def ask(folder: str, name: str, wanted: str) -> bool:
    """Wants a task to be cancelled, or to `run` again; whether that is new."""
    with _alone(folder):
        task, state = one(folder, name)
        if wanted == "cancel":
            if is_ended(task, state) or task.wanted == "cancel":
                return False
            changed = replace(task, wanted="cancel")
        else:
            if not is_ended(task, state) and task.wanted == "run":
                return False
            changed = replace(task, wanted="run", attempt=task.attempt + is_ended(task, state))
        _write(_of(folder, name) / TASK, dataclasses.asdict(changed))
        return True


def keep(folder: str, name: str, state: State) -> None:
    """Notes how far a task is; the program that carries it out calls it."""
    _write(_of(folder, name) / STATE, dataclasses.asdict(replace(state, at=time.time())))


def files(folder: str, name: str) -> str:
    """The file with the rows of a task, as `selection.read` reads it."""
    return str(_of(folder, name) / FILES)


def left(folder: str, name: str) -> Path:
    """The file with the paths that a task could not finish, which can be given as a list again."""
    return _of(folder, name) / LEFT


def touch(folder: str) -> None:
    """Says that tasks are carried out here."""
    Path(folder, ALIVE).touch()


@contextmanager
def only_runner(folder: str) -> Iterator[None]:
    """Waits until no other runner carries tasks out here, and keeps others waiting."""
    with Path(folder, f"{ALIVE}.lock").open("w", encoding="ascii") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def is_alive(folder: str) -> bool:
    """Whether a runner carries tasks out."""
    try:
        return time.time() - Path(folder, ALIVE).stat().st_mtime < SILENT_S
    except FileNotFoundError:
        return False


def _read(task_folder: Path) -> tuple[Task, State]:
    task = Task(**json.loads((task_folder / TASK).read_text(encoding="utf-8")))
    try:
        state = State(**json.loads((task_folder / STATE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        state = State(0, WAITING, of_files=task.files, of_bytes=task.bytes)
    if state.attempt != task.attempt:
        state = State(task.attempt, WAITING, of_files=task.files, of_bytes=task.bytes)
    return task, state


def _write(path: Path, content: dict[str, Any]) -> None:
    """A crash leaves the former or the new."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content), encoding="utf-8")
    part.replace(path)


def _of(folder: str, name: str) -> Path:
    return Path(folder, TASKS, name)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    handle = os.open(Path(folder, TASKS), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)

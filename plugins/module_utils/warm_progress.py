"""How far a warm-up task is, noted now and then, and whether it is to end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import warm_tasks
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_tasks import Node, Task

NOTE_S = 1.0
WINDOW_S = 30.0  # in which the rate is taken
SHOWN = 10


class CanceledError(Exception):
    """Somebody does not want the task any more."""


class Work(NamedTuple):
    """A task, and where it is carried out. folder: of all tasks."""

    folder: str
    node: Node
    task: Task
    progress: Progress


class Progress:
    """The state of one attempt at a task."""

    def __init__(self, folder: str, task: Task, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._task, self._clock = folder, task, clock
        former = warm_tasks.one(folder, task.id)[1]
        self.state = replace(former, attempt=task.attempt, of_files=task.files, of_bytes=task.bytes)
        self._begun = clock() - former.seconds
        self._noted = float("-inf")
        self._window: deque[tuple[float, int]] = deque()

    def phase(self, name: str, files: int, size: int) -> None:
        """One of its operations begins, with so many files and bytes before it."""
        self._window.clear()
        self.note(state=warm_tasks.RUNNING, phase=name, files=0, bytes=0, of_files=files, of_bytes=size, note="")

    def at(self, files: int, size: int, moved: int = 0) -> None:
        """So many files and bytes are as wanted, for which so many bytes moved since it was said last."""
        self.state = replace(self.state, files=files, bytes=size, read=self.state.read + moved)
        self.tick()

    def tick(self) -> None:
        """Time goes by."""
        now = self._clock()
        if now - self._noted < NOTE_S:
            return
        self._window.append((now, self.state.bytes))
        while now - self._window[0][0] > WINDOW_S:
            self._window.popleft()
        since, before = self._window[0]
        rate = (self.state.bytes - before) / (now - since) if now > since else 0.0
        left = (self.state.of_bytes - self.state.bytes) / rate if rate > 0 else None
        self.note(rate=rate, left_s=left)
        if warm_tasks.one(self._folder, self._task.id)[0].wanted == "cancel":
            raise CanceledError

    def rest(self, seconds: float, why: str) -> None:
        """Waits before another try."""
        until = self._clock() + seconds
        self.note(state=warm_tasks.RETRYING, note=f"{why}; it is tried again in {seconds:.0f} s", rate=0.0, left_s=None)
        while self._clock() < until:
            time.sleep(min(NOTE_S, seconds))
            self.tick()
        self.note(state=warm_tasks.RUNNING, note="")

    def end(self, state: str, note: str = "", left: int = 0, problems: tuple[str, ...] = ()) -> None:
        """Nothing more is done."""
        self.note(state=state, note=note, rate=0.0, left_s=None, left=left, problems=list(problems[:SHOWN]))

    def note(self, **changes: Any) -> None:
        """Writes the state down."""
        now = self._clock()
        self.state = replace(self.state, seconds=now - self._begun, **changes)
        self._noted = now
        warm_tasks.keep(self._folder, self._task.id, self.state)

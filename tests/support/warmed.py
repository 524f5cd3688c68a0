"""The folder of warm-up of a node, where no deployment runs."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import warm_program
from ansible_collections.alluxio.fuse.plugins.module_utils import warm_tasks, warmer, warming
from ansible_collections.alluxio.fuse.plugins.module_utils.selection import Asked
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_tasks import Node, State, Task
from ansible_collections.alluxio.fuse.plugins.module_utils.worker_client import WorkerClient


@dataclass
class Warmed:
    """The folder of warm-up, and that of the stand-in."""

    folder: str
    alluxio: Path

    @property
    def store(self) -> Path:
        """The dataset at its source."""
        return self.alluxio / "store/set"

    @property
    def workers(self) -> Path:
        """What workers hold of it."""
        return self.alluxio / "workers/set"

    def client(self, verb: str, threads: int, bandwidth: int) -> WorkerClient:
        """The program, or what stands in for it."""
        return WorkerClient(verb, threads, bandwidth, [sys.executable, warm_program.__file__, str(self.alluxio)])

    def go(self) -> str:
        """Carries out the next task."""
        return warmer.go_round(self.folder, self.client)

    def start(self, operation: str = "load", into: str = "workers", **said: Any) -> Task:
        """Begins a task."""
        asked = Asked(**{key: said.pop(key) for key in Asked._fields if key in said})
        wish = warming.Wish(operation, into, said.pop("datasets", []), asked, **said)
        return warming.start(self.folder, wish, warm_tasks.new_id(0), {})

    def state(self, task: Task) -> State:
        """How far it is."""
        return warm_tasks.one(self.folder, task.id)[1]

    def reads(self) -> list[str]:
        """Files that were read from the store, in order."""
        file = self.alluxio / "reads"
        return file.read_text().splitlines() if file.exists() else []

    def held(self) -> set[str]:
        """Files that workers hold."""
        return {str(path.relative_to(self.workers)) for path in self.workers.rglob("*.bin")}

    def left(self, task: Task) -> list[str]:
        """What a task could not finish."""
        return warm_tasks.left(self.folder, task.id).read_text().splitlines()


def describe(folder: str, node: Node) -> None:
    """What the playbook writes of a node."""
    Path(folder, warm_tasks.TASKS).mkdir(parents=True, exist_ok=True)
    Path(folder, warm_tasks.NODE).write_text(json.dumps(asdict(node)))

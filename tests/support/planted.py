"""A small deployment to lie to: measured in this process by the real reader, judged by the real judge."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import leftovers
from ansible_collections.alluxio.fuse.plugins.module_utils import reader
from ansible_collections.alluxio.fuse.plugins.modules import read_pass
from bundle import CHECKOUT, main_pid, until

from alluxio_fuse.check import passes
from alluxio_fuse.check.verdict import Check, check
from alluxio_fuse.plan import Plan
from alluxio_fuse.targets import targets

SETTINGS = {"passes": 1, "readers": 4, "bytes": 1 << 30, "disruptive": True, "profiles": ["fio"]}
STOPPED_SHARE, TURN_S = 0.95, 0.1
Pass = dict[str, Any]


@dataclass
class Planted:
    """A dataset of the deployment `name`, and a folder for what a lie needs."""

    name: str
    dataset: str
    folder: Path
    target: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        plan = Plan.load(json.loads((CHECKOUT / f"runs/plan-{self.name}.json").read_text()))
        (self.target,) = (one for one in targets(plan, "localhost") if one["name"] == self.dataset)
        self.manifest = Path(f"/var/lib/{self.name}/manifests/{self.target['name']}.jsonl")
        self.header, self.entries = reader.load(str(self.manifest))

    @property
    def mount(self) -> Path:
        """The mount point."""
        return Path(self.target["mount_point"])

    @property
    def source(self) -> Path:
        """The folder behind the mount."""
        return Path(self.target["source"].removeprefix("file://"))

    def kept(self) -> list[Any]:
        """First reads, as the role warm measured them."""
        kept = json.loads(Path(f"/var/lib/{self.name}/measurements.json").read_text())
        return list(kept[self.target["name"]]["kept"]["passes"])

    def measure(
        self, host: str = "localhost", change: Callable[[list[Pass]], list[Pass]] = list, **fields: Any
    ) -> dict[str, Any]:
        """The rounds of a check; `change` alters which passes are made, `fields` what is said of the dataset."""
        said = self.target | {"disk_copy": ""} | fields
        rounds = passes.rounds(self.header, said, passes.CheckSettings.model_validate(SETTINGS))
        params = {"readers": SETTINGS["readers"]} | {"metrics": self.target["metrics"]}
        return {
            **said,
            "host": host,
            "manifest": self.header,
            "results": [read_pass.measure(one, self.header, self.entries, params) for one in change(rounds)],
            "kept": self.kept(),
        }

    def fuse(self, verb: str) -> None:
        """Stops or starts the FUSE container; returns when the mount is as it should be."""
        container = f"{self.name}-fuse-{self.target['name']}"
        subprocess.run(["podman", verb, container], check=True, capture_output=True)
        until(f"{container} after podman {verb}", lambda: os.path.ismount(self.mount) == (verb == "start"))

    @contextmanager
    def slowed(self) -> Iterator[None]:
        """The FUSE process of a node gets a twentieth of the time."""
        pids = _with_children(main_pid(f"{self.name}-fuse-{self.target['name']}"))
        ended = threading.Event()

        def stutter() -> None:
            while not ended.is_set():
                for wanted, seconds in ((signal.SIGSTOP, STOPPED_SHARE), (signal.SIGCONT, 1 - STOPPED_SHARE)):
                    for pid in pids:
                        os.kill(pid, wanted)
                    time.sleep(seconds * TURN_S)

        thread = threading.Thread(target=stutter)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


@contextmanager
def over(path: Path, new: Path) -> Iterator[None]:
    """`path` shows what `new` is, a file or a folder."""
    with leftovers.mounted(path, "--bind", new):
        yield


def judge(measured: Sequence[dict[str, Any]], gate: dict[str, Any] | None = None) -> Check:
    """The verdict; without a gate nearly any speed will do, so that what is judged is the lie."""
    return check(measured, gate or {"min_disk_ratio": 0.01}, SETTINGS, "2026-11-21T08:00:00Z", {})


def _with_children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(found for child in children for found in _with_children(int(child)))]

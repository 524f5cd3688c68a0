"""Deployments with a staged dataset, and what a reader of it sees."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trees
from bundle import C1_ALONE, until
from readers import READING, recorded

DEPLOYED = ("preflight", "plan", "nodes", "services", "warm")


class Staged:
    """A deployment with one dataset, `set`, from a folder."""

    def __init__(self, name: str, source: Path, **said: Any) -> None:
        self.name, self.source, self._said = name, source, said
        self.path = Path(f"/mnt/{name}/set/data")
        self.hidden = Path(f"/var/lib/{name}/fuse/set/data")
        self.stage = Path(f"/var/lib/{name}/stage/set")
        self.fuse, self.keeper = f"{name}-fuse-set", f"{name}-stage"

    def said(self, stage: str, **more: Any) -> dict[str, Any]:
        """What an inventory says, with `stage` of the dataset."""
        return {
            "alluxio_name": self.name,
            "alluxio_environment": self.name,
            "alluxio_port_offset": 3100,
            "alluxio_datasets": [{"name": "set", "source": f"file://{self.source}", "stage": stage}],
            "alluxio_check_passes": 3,
            "alluxio_check_fail_on": ["FAIL"],
            **C1_ALONE,
            **self._said,
            **more,
        }

    @contextmanager
    def reader(self, folder: Path) -> Iterator[Path]:
        """A process that reads every file at the path and compares digests; what it saw, a line for each read."""
        digests, record = folder / "digests.json", folder / "reads"
        digests.write_text(json.dumps(trees.digests(self.source)))
        with record.open("w") as out:
            process = subprocess.Popen([sys.executable, READING, self.path, digests, "1"], stdout=out)
            try:
                until("it reads", lambda: recorded(record))
                yield record
            finally:
                process.kill()
                process.wait()


def goes_on(record: Path) -> None:
    """A reader has read every file once more, and has seen nothing but right bytes from the beginning."""
    before = len(recorded(record))
    until("it goes on reading", lambda: len(recorded(record)) > before + len(trees.FILES))
    assert {one.outcome for one in recorded(record)} == {"ok"}


def mount_types(point: Path) -> list[str]:
    """Filesystems that are mounted at a path, the first first."""
    lines = (line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [right.split()[0] for left, right in lines if left.split()[4] == str(point)]

"""Deployments with a staged dataset, and what a reader of it sees."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import trees
from bundle import C1_ALONE, until
from readers import READING, Drill, Readers, reading, recorded

WHOLE, PART = "whole", "part"
COPY, STAGED, REST = "a whole copy", "the staged files of a part", "the rest of a part"
#: After each file: readers that never rest leave the services nothing of this machine's processors.
PAUSE_S = "0.02"
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


class Groups:
    """Readers of dataset `whole`, which is staged whole, and of `part`: of its staged files, and of the rest."""

    def __init__(self, readers: Mapping[str, Readers], services: Callable[[], dict[str, str]]) -> None:
        """services: when each was started."""
        self.readers, self._services = readers, services

    def drill(self, fault: str, happen: Callable[[], object]) -> dict[str, Drill]:
        """Runs a drill that must leave no wrong byte, and fail no read of what is staged."""
        was, begun = self._services(), time.time()
        happen()
        done = {name: one.tell(fault, begun, was, self._services, 300) for name, one in self.readers.items()}
        assert all(one.wrong == 0 and one.reads > 0 for one in done.values()), done
        assert {done[COPY].saw, done[STAGED].saw} <= {"nothing", "waited"}, done
        return done

    def tables(self) -> str:
        """All drills so far, as Markdown."""
        return "\n\n".join(f"Readers of {name}:\n\n{one.table()}" for name, one in self.readers.items())


@contextmanager
def groups(
    folder: Path,
    digests: Mapping[str, str],
    staged: AbstractSet[str],
    command: Callable[[str, Path], list[str]],
    services: Callable[[], dict[str, str]],
) -> Iterator[Groups]:
    """Two readers of each group, until the context ends.

    staged: files of the part of which there is a copy; command: for a dataset and a file of digests, `reading.py` and
    what comes before its seed.
    """
    rest = digests.keys() - staged
    assert 0 < len(rest) < len(digests) // 2
    read = {COPY: (WHOLE, digests.keys()), STAGED: (PART, staged), REST: (PART, rest)}
    with ExitStack() as stack:
        found = {}
        for name, (dataset, wanted) in read.items():
            own = folder / name.replace(" ", "-")
            own.mkdir()
            (own / "digests.json").write_text(json.dumps({one: digests[one] for one in wanted}))
            begin = command(dataset, own / "digests.json")
            found[name] = stack.enter_context(reading([[*begin, str(seed), PAUSE_S] for seed in range(2)], own))
        for one in found.values():
            one.settle(time.time(), 300)
        yield Groups(found, services)


def goes_on(record: Path) -> None:
    """A reader has read every file once more, and has seen nothing but right bytes from the beginning."""
    before = len(recorded(record))
    until("it goes on reading", lambda: len(recorded(record)) > before + len(trees.FILES))
    assert {one.outcome for one in recorded(record)} == {"ok"}


def mount_types(point: Path) -> list[str]:
    """Filesystems that are mounted at a path, the first first."""
    lines = (line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [right.split()[0] for left, right in lines if left.split()[4] == str(point)]

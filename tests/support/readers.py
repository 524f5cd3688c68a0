"""A fault while others read: what they saw, for how long, and what was started again."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

READING = Path(__file__).with_name("reading.py")
SLOW_S = 1.5  # a read that takes longer has waited for something to come back
SLOW_BYTES_S = 10e6  # or has many bytes to fetch from a store that is shared by all readers
QUIET_S = 6.0  # without an error or a slow read, after which readers are as before


@dataclass(frozen=True)
class Read:
    """One file, read or not."""

    begun: float
    ended: float
    outcome: str
    size: int = 0

    @property
    def good(self) -> bool:
        """Right bytes, in time."""
        return self.outcome == "ok" and self.ended - self.begun < SLOW_S + self.size / SLOW_BYTES_S


def recorded(record: Path) -> list[Read]:
    """The reads of one process; its last line may not be whole yet."""
    fields = [line.split(" ", 4) for line in record.read_text().splitlines()]
    return [Read(float(one[0]), float(one[1]), one[2], int(one[3])) for one in fields if len(one) == 5]


def as_before(reads: list[Read], now: float) -> bool:
    """Whether a process has read well for a while; one that waits for its read to end all the while has not."""
    lately = [one for one in reads if one.ended >= now - QUIET_S]
    return bool(lately) and all(one.good for one in lately)


@dataclass(frozen=True)
class Drill:
    """What a fault came to. seconds: from the fault until the last read that failed or waited had ended."""

    fault: str
    saw: str
    longest_wait: float
    seconds: float
    restarted: list[str]
    reads: int
    wrong: int


@dataclass
class Readers:
    """Processes that read a mount all the time."""

    folder: Path
    done: list[Drill] = field(default_factory=list)

    def reads(self, since: float) -> list[Read]:
        """Reads that ended after a time."""
        found = [one for record in self.folder.glob("record-*") for one in recorded(record)]
        return sorted((one for one in found if one.ended >= since), key=lambda one: one.ended)

    def settle(self, since: float, limit: float) -> None:
        """Wait until every process has read well for a while, and still does, or fail with what they saw."""
        deadline = time.time() + limit
        while time.time() < deadline:
            time.sleep(0.5)
            now = time.time()
            reads = [recorded(record) for record in self.folder.glob("record-*")]
            # Looked at from a while after the fault on: a read that it caught has not ended yet, or is seen as slow.
            if now - since > 2 * QUIET_S and all(as_before(one, now) for one in reads):
                return
        raise AssertionError(f"not as before after {limit:.0f} s: {Counter(one.outcome for one in self.reads(since))}")

    def drill(
        self, fault: str, happen: Callable[[], None], services: Callable[[], dict[str, str]], limit: float
    ) -> Drill:
        """Let it happen, wait until all is as before, and say what it came to."""
        was, begun = services(), time.time()
        happen()
        return self.tell(fault, begun, was, services, limit)

    def tell(
        self, fault: str, begun: float, was: dict[str, str], services: Callable[[], dict[str, str]], limit: float
    ) -> Drill:
        """Wait until all is as before, and say what a fault came to; was: the services as it began."""
        self.settle(begun, limit)
        reads, now = self.reads(begun), services()
        bad = [one for one in reads if not one.good]
        outcomes = Counter(one.outcome for one in bad if one.outcome != "ok")
        errors = ", ".join(f"{count} x {name}" for name, count in sorted(outcomes.items()))
        waited = max((one.ended - one.begun for one in bad if one.outcome == "ok"), default=0.0)
        saw = errors or ("waited" if waited else "nothing")
        drill = Drill(
            fault=fault,
            saw=saw,
            longest_wait=max((one.ended - one.begun for one in bad), default=0.0),
            seconds=max((one.ended for one in bad), default=begun) - begun,
            restarted=sorted(name for name in was if now.get(name) != was[name]),
            reads=len(reads),
            wrong=outcomes["wrong"],
        )
        self.done.append(drill)
        return drill

    def table(self) -> str:
        """All drills so far, as Markdown."""
        table = Table(box=box.MARKDOWN)
        for heading in (
            "fault",
            "readers saw",
            "longest wait, s",
            "as before after, s",
            "started again",
            "reads",
            "wrong",
        ):
            table.add_column(heading, no_wrap=True)
        for one in self.done:
            waits = (f"{one.longest_wait:.1f}", f"{one.seconds:.1f}")
            table.add_row(one.fault, one.saw, *waits, ", ".join(one.restarted) or "-", str(one.reads), str(one.wrong))
        text = StringIO()
        Console(file=text, width=400).print(table)
        return text.getvalue().strip()


@contextmanager
def reading(commands: Sequence[Sequence[str]], folder: Path) -> Iterator[Readers]:
    """Processes that print what `reading.py` does, until the context ends."""
    processes = []
    try:
        for index, command in enumerate(commands):
            with (folder / f"record-{index}").open("w") as record:
                processes.append(subprocess.Popen(command, stdout=record))
        yield Readers(folder)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()

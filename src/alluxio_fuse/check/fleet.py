"""All nodes that read a dataset at once: what they get together, against their gates together, and which is slowest."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Protocol

from pydantic import BaseModel

from alluxio_fuse.check.gate import Gate
from alluxio_fuse.check.rows import Row


class Reading(Protocol):
    """A dataset on a node."""

    name: str
    host: str
    rows: list[Row]
    gate: Gate


class Fleet(BaseModel):
    """One kind of files in one state, over the nodes that established it; sums and spread are of their medians.

    Sums are None where nodes read one after the other: each was alone then.
    """

    name: str
    kind: str
    state: str
    nodes: int
    files_per_s: float | None
    mb_per_s: float | None
    slowest: str
    fastest_to_slowest: float
    wanted_files_per_s: float | None
    wanted_mb_per_s: float | None

    def said(self) -> str:
        """One line for the terminal."""
        apart = f"slowest {self.slowest}, {self.fastest_to_slowest:.2f} x below the fastest"
        what = f"{self.name}, {self.kind} files, {self.state}, {self.nodes} nodes"
        if self.files_per_s is None:
            return f"{what}, one after the other: {apart}"
        speed = f"{self.files_per_s:.0f} files/s" + (f", {self.mb_per_s:.0f} MB/s" if self.mb_per_s else "")
        wanted = [f"{self.wanted_mb_per_s:.0f} MB/s"] if self.wanted_mb_per_s else []
        wanted += [f"{self.wanted_files_per_s:.0f} files/s"] if self.wanted_files_per_s else []
        gates = f" (their gates together: {' and '.join(wanted)})" if wanted else ""
        return f"{what}: {speed}{gates}; {apart}"


def fleet(datasets: Sequence[Reading], *, at_once: bool) -> list[Fleet]:
    """A line for each dataset, kind and state of the mount that two nodes or more established.

    at_once: whether nodes read at the same time.
    """
    by_name = groupby(sorted(datasets, key=_name), key=_name)
    return [one for _, several in by_name for one in _of(list(several), at_once=at_once)]


def _name(dataset: Reading) -> str:
    return dataset.name


def _of(datasets: list[Reading], *, at_once: bool) -> Iterator[Fleet]:
    rows = [row for one in datasets for row in one.rows if row.path == "mount" and row.kind != "readers"]
    order = list(dict.fromkeys((row.kind, row.state) for row in rows))
    for kind, state in order:
        speeds = {
            one.host: (row.files_per_s.median, row.mb_per_s.median if row.mb_per_s and row.bytes else None, one.gate)
            for one in datasets
            for row in one.rows
            if (row.path, row.kind, row.state) == ("mount", kind, state) and row.files_per_s
        }
        if len(speeds) < 2:
            continue
        by_speed = sorted(speeds, key=lambda host: speeds[host][0])
        gates = [gate for _, _, gate in speeds.values()] if at_once else []
        yield Fleet(
            name=datasets[0].name,
            kind=kind,
            state=state,
            nodes=len(speeds),
            files_per_s=sum(files for files, _, _ in speeds.values()) if at_once else None,
            mb_per_s=sum(mb for _, mb, _ in speeds.values() if mb and at_once) or None,
            slowest=by_speed[0],
            fastest_to_slowest=speeds[by_speed[-1]][0] / speeds[by_speed[0]][0],
            wanted_files_per_s=sum(gate.files_per_s or 0 for gate in gates if kind == "small") or None,
            wanted_mb_per_s=sum(gate.mb_per_s or 0 for gate in gates if kind == "large") or None,
        )

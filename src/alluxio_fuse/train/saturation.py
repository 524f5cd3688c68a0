"""What the source gave to one number of nodes and to another, and from how many nodes on it gives no more."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from alluxio_fuse.train.rows import BUSY, Row

LEAST_GAIN = 0.5  # of what added nodes would bring: a source that gives them less is saturated


class Asked(NamedTuple):
    """A row of so many nodes that read a dataset's source."""

    dataset: str
    nodes: int
    row: Row


def saturation(tables: Sequence[Any]) -> list[str]:
    """A line for each path of each dataset that several numbers of nodes read for the first time."""
    asked = [
        Asked(table.dataset, table.nodes, row)
        for table in tables
        for row in table.rows
        if row.source_mb_per_s is not None and not row.first_read
    ]
    asked.sort(key=lambda one: (one.dataset, one.row.path, one.nodes))
    return list(_lines(asked))


def _lines(asked: list[Asked]) -> Iterator[str]:
    for (dataset, path), group in groupby(asked, key=lambda one: (one.dataset, one.row.path)):
        several = list(group)
        if len({one.nodes for one in several}) > 1:
            given = ", ".join(f"{_rate(one):.0f} MB/s to {_nodes(one.nodes)}" for one in several)
            yield f"the source of {dataset} gave by {path} {given}: {_verdict(several)}"


def _verdict(several: list[Asked]) -> str:
    busy = [_nodes(one.nodes) for one in several if one.row.busy >= BUSY]
    if busy:
        return f"whether it limits cannot be told, the processors of {', '.join(busy)} were busy"
    for few, more in pairwise(several):
        if more.nodes > few.nodes and _rate(more) < _rate(few) * (1 + LEAST_GAIN * (more.nodes / few.nodes - 1)):
            return f"it is saturated from {_nodes(few.nodes)} on"
    return f"it is not saturated by {_nodes(several[-1].nodes)}"


def _rate(one: Asked) -> float:
    return one.row.source_mb_per_s or 0.0


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"

"""All nodes of a dataset: what they get when they read at the same moment, against their gates together.

Medians of nodes are never summed: each could be of another moment. For the sum all nodes begin passes together, and a
pass counts as one that lasts from the first node's begin to the last one's end, over the bytes of all of them.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from pydantic import BaseModel

from alluxio_fuse.check.evidence import Result, doubt, mistakes
from alluxio_fuse.check.gate import FIGURES, STATE_OF, UNITS, Figure, Finding, Gate, compared, gated
from alluxio_fuse.check.measured import Measured
from alluxio_fuse.check.rows import Row
from alluxio_fuse.check.statistics import Spread, spread

ALIGNED = 0.10  # of a pass's time, within which its last node has to have begun
Node = tuple[Measured, list[Row], Gate]


class Fleet(BaseModel):
    """One kind of files in one state: nodes' own medians apart, and what all of them read at once.

    Figures are None where nothing was read at once, and `why` says why.
    """

    name: str
    kind: str
    state: str
    nodes: int
    slowest: str
    fastest_to_slowest: float
    files_per_s: Spread | None = None
    mb_per_s: Spread | None = None
    wanted_files_per_s: float | None = None
    wanted_mb_per_s: float | None = None
    why: str = ""
    findings: list[Finding] = []

    def said(self) -> str:
        """One line for the terminal."""
        text = f"{self.name}, {self.kind} files, {self.state}, {self.nodes} nodes"
        if self.files_per_s and self.mb_per_s:
            text += f" at once: {self.files_per_s.median:.0f} files/s, {self.mb_per_s.median:.0f} MB/s"
            text += f" ({self.mb_per_s.least:.0f} to {self.mb_per_s.most:.0f})"
        wanted = [f"{self.wanted_mb_per_s:.0f} MB/s"] if self.wanted_mb_per_s else []
        wanted += [f"{self.wanted_files_per_s:.0f} files/s"] if self.wanted_files_per_s else []
        text += f", their gates together {' and '.join(wanted)}" if wanted else ""
        text += f"; slowest {self.slowest}, {self.fastest_to_slowest:.2f} x below the fastest"
        return f"{text}; {self.why}" if self.why else text


def fleet(nodes: Sequence[Node], *, at_once: bool) -> list[Fleet]:
    """A line for each dataset, kind and state of the mount that two nodes or more established."""
    by_name = groupby(sorted(nodes, key=_name), key=_name)
    return [one for _, several in by_name for one in _of(list(several), at_once)]


def _name(node: Node) -> str:
    return node[0].name


def _of(nodes: list[Node], at_once: bool) -> Iterator[Fleet]:
    speeds: dict[tuple[str, str], dict[str, float]] = {}
    for measured, rows, _ in nodes:
        for row in rows:
            if row.path == "mount" and row.heading == row.kind and row.files_per_s:
                speeds.setdefault((row.kind, row.state), {})[measured.host] = row.files_per_s.median
    for (kind, state), by_host in speeds.items():
        if len(by_host) < 2:
            continue
        slowest = min(by_host, key=lambda host: by_host[host])
        one = Fleet(
            name=nodes[0][0].name,
            kind=kind,
            state=state,
            nodes=len(by_host),
            slowest=slowest,
            fastest_to_slowest=max(by_host.values()) / by_host[slowest],
        )
        yield _together(one, nodes, at_once)


def _together(one: Fleet, nodes: list[Node], at_once: bool) -> Fleet:
    """With what all nodes have read at once in this state, where the plan serves files so."""
    levels = {STATE_OF[level] for measured, *_ in nodes for level, share in measured.residency.items() if share}
    if one.state not in levels:
        return one
    if not at_once:
        return one.model_copy(update={"why": "they read one after the other"})
    passes = [_passes(measured, one) for measured, *_ in nodes]
    rounds = [several for several in zip(*passes, strict=False) if all(map(_proven, several))]
    aligned = [several for several in rounds if _begun_apart(several) <= ALIGNED]
    update: dict[str, object] = {"why": _why(rounds, passes)}
    if aligned:
        lasted = [_lasted(several) for several in aligned]
        files, size = ([sum(getattr(r, what) for r in several) for several in aligned] for what in ("files", "bytes"))
        update = {
            "files_per_s": spread([count / seconds for count, seconds in zip(files, lasted, strict=True)]),
            "mb_per_s": spread([count / seconds / 1e6 for count, seconds in zip(size, lasted, strict=True)]),
        }
    return _judged(one.model_copy(update=update), nodes, levels)


def _why(rounds: Sequence[Sequence[Result]], passes: Sequence[Sequence[Result]]) -> str:
    """Why nothing was read at once."""
    if rounds:
        return f"the last one began after {min(map(_begun_apart, rounds)):.0%} of a pass: raise forks in ansible.cfg"
    began = sum(map(bool, passes))
    return f"{began} of {len(passes)} nodes read at once" + (", and not all of them from there" if began else "")


def _judged(one: Fleet, nodes: list[Node], levels: set[str]) -> Fleet:
    """Against the gates of all nodes together, where the plan serves the whole set so as it was read here."""
    for figure in FIGURES:
        gates = [
            _gate(gate, figure) for measured, _, gate in nodes if gated(gate, figure, measured.manifest) == one.kind
        ]
        if not gates:
            continue
        wanted = sum(gates)
        one = one.model_copy(update={f"wanted_{figure}": wanted})
        if levels != {one.state}:
            why = "nodes are judged one by one for the planned mix of levels, of which this is one"
            one = one.model_copy(update={"why": one.why or why})
            continue
        what = f"{one.kind} files, {UNITS[figure]}, {len(nodes)} nodes at once"
        had: Spread | None = getattr(one, figure)
        unknown = Finding(outcome="CANNOT TELL", reason=f"{what}: {one.why}")
        finding = compared(what, had, wanted, UNITS[figure]) if had else unknown
        one = one.model_copy(update={"findings": [*one.findings, finding]})
    return one


def _gate(gate: Gate, figure: Figure) -> float:
    """What a node is to reach; of a gate that was edited the larger one."""
    return float(max(getattr(gate, figure), (gate.planned or {}).get(figure) or 0))


def _passes(measured: Measured, one: Fleet) -> list[Result]:
    return [result for result in measured.together if (result.kind, result.state) == (one.kind, one.state)]


def _proven(result: Result) -> bool:
    return doubt(result) is None and not mistakes(result)


def _lasted(several: Sequence[Result]) -> float:
    """Seconds from the first begin to the last end, by the nodes' clocks: where they differ, it seems longer."""
    return max(result.ended for result in several) - min(result.began for result in several)


def _begun_apart(several: Sequence[Result]) -> float:
    begun = [result.began for result in several]
    return (max(begun) - min(begun)) / _lasted(several)

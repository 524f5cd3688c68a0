"""What emulated accelerators say of the paths: which of them feeds all, and how many each one feeds."""

from collections.abc import Sequence
from math import floor

from alluxio_fuse.check.gate import Finding, Outcome
from alluxio_fuse.check.statistics import BUSY as OTHERS_BUSY
from alluxio_fuse.plan.intent.work import Emulated, Train
from alluxio_fuse.train.rows import BUSY, Row, simplest


def told(table: Sequence[Row], train: Train, foreign: float) -> list[str]:
    """A line for each path: how many accelerators it feeds in epoch 1; empty where none were emulated."""
    one = train.emulated
    if one is None:
        return []
    need, stands_in = one.need, f" (counted as {one.counted_as})" if one.counted_as else ""
    about = (
        f"each of {one.named} on {train.model}{stands_in} takes {need.batch} files and computes for"
        f" {need.compute_s:.3f} s; MLPerf's have {need.workload.sample_bytes / 1e6:.2f} MB on average"
    )
    return [about, *(_line(row, one, foreign) for row in table if row.utilisation and row.path != "synthetic")]


def _line(row: Row, one: Emulated, foreign: float) -> str:
    reached = row.utilisation.median if row.utilisation else 0.0
    said = f"{row.label}: utilisation {reached:.0%}, at least {one.need.utilisation:.0%} wanted: feeds"
    if reached >= one.need.utilisation:
        return f"{said} all of {one.named}"
    # with fewer accelerators the path gives each of them more
    feeds = floor(one.accelerators * reached / one.need.utilisation + 1e-9)
    bound = f"; not judged: {why}" if (why := _bound(row, foreign)) else ""
    return f"{said} {feeds} of {one.named}{bound}"


def _bound(row: Row, foreign: float) -> str:
    """Why a path is not judged that does not feed them all; empty where it is."""
    if row.busy >= BUSY:
        return f"the processors were {row.busy:.0%} busy"
    return "others used the processors" if foreign > OTHERS_BUSY else ""


def answer(table: Sequence[Row], train: Train, foreign: float) -> tuple[Finding, str]:
    """The simplest path that feeds all accelerators, and why; or why that cannot be told here."""
    outcome, said = _answer(table, train, foreign)
    return Finding(outcome=outcome, reason=said), said


def _answer(table: Sequence[Row], train: Train, foreign: float) -> tuple[Outcome, str]:
    one = train.emulated
    assert one  # noqa: S101 - result.py asks only where accelerators are emulated
    least, what = one.need.utilisation, f"{one.named} on {train.model}"
    ceiling = next((row.utilisation.median for row in table if row.path == "synthetic" and row.utilisation), 0.0)
    if ceiling < least:
        return "CANNOT TELL", f"without reading, {what} were busy {ceiling:.0%} of the time: the emulation limits"
    paths = [(row, row.utilisation.median) for row in simplest(table) if row.utilisation]
    for row, reached in paths:
        if reached >= least:
            return "PASS", (
                f"use {row.label}: {what} would be busy {reached:.0%} of the time in epoch 1, at least {least:.0%} are"
                " wanted, and no simpler path gives that"
            )
    if bound := [f"{row.label} ({why})" for row, _ in paths if (why := _bound(row, foreign))]:
        return "CANNOT TELL", f"no path feeds {what}, and what limits is not the path: {', '.join(bound)}"
    memory = max((reached for row, _ in paths if (reached := _from_memory(row))), default=least)
    if memory < least:
        return "CANNOT TELL", (
            f"loaders limit, not a path: from the page cache they keep {what} busy {memory:.0%} of the time; try more"
            " by alluxio_train.sweep"
        )
    best = max((reached for _, reached in paths), default=0.0)
    return "FAIL", f"no path keeps {what} busy {least:.0%} of the time: the best reaches {best:.0%}"


def _from_memory(row: Row) -> float:
    """Utilisation in epochs that the page cache served; 0 where none is proven to be served by it."""
    epochs = ((row.state, row.utilisation), (row.state_later, row.utilisation_later))
    return max((found.median for state, found in epochs if state == "page-cache" and found), default=0.0)

"""One row of the table per path and the state that it was found in: statistics of its runs."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, median

from pydantic import BaseModel

from alluxio_fuse.check.statistics import Spread, spread
from alluxio_fuse.train.measured import LEVELS, Epoch, Run

#: Paths in the order of what users have to set up before they can read them, the least first.
SIMPLEST = ("source", "local copy", "staged", "mount")
MOSTLY = 0.5  # of the bytes of an epoch
BUSY = 0.9  # of the processors: from here on they limit, and nothing is told of a path


class Medium(BaseModel):
    """What a disk did in epoch 1 for all programs of a node: means of a read's size and wait, and of reads at once."""

    read_bytes: float
    wait_ms: float
    queue: float


class Row(BaseModel):
    """A path in a state; figures are of runs whose bytes were right.

    first, later: images/s of epoch 1 and of those after it. marked: images/s of the first steps. waiting: share of the
    time that training waited for data, in epoch 1 and after it. utilisation: of emulated accelerators, likewise.
    origins, origins_later: share of the bytes by level. medium: of epoch 1, where a disk read at least half of its
    bytes. cpu_s_per_1000: processor seconds of the whole node for 1000 images. read_bytes: of a read call. hours: of a
    whole run. copy_s: of copying, before the first run. busy: share of the processors. first_read: measured by an
    earlier run of the playbook, since bytes are read for the first time once. source_mb_per_s: MB/s (10^6)
    of epoch 1 that came from the dataset's source; None where less than half of the bytes did, or nobody counts.
    """

    path: str
    state: str
    state_later: str
    why: str
    first: Spread
    later: Spread | None
    marked: Spread
    waiting: float
    waiting_later: float | None
    utilisation: Spread | None = None
    utilisation_later: Spread | None = None
    steps: int
    seconds: float
    hours: float
    copy_s: float = 0.0
    hours_with_copy: float
    top1: float
    top5: float
    cpu_s_per_1000: float
    busy: float
    read_bytes: float | None
    listing_s: float
    origins: dict[str, float]
    origins_later: dict[str, float]
    medium: Medium | None = None
    source_mb_per_s: float | None = None
    digest: str
    losses: list[float]
    measured: str
    first_read: bool = False

    @property
    def best(self) -> float:
        """Images/s of its best epochs."""
        return max(self.first.median, self.later.median if self.later else 0.0)

    @property
    def from_memory(self) -> float:
        """Images/s of epochs that the page cache served; 0 where none is proven to be served by it."""
        epochs = ((self.state, self.first), (self.state_later, self.later))
        return max((found.median for state, found in epochs if state == "page-cache" and found), default=0.0)

    @property
    def label(self) -> str:
        """What the row is called."""
        return f"{self.path}, {self.state}" if self.state else self.path


def rows(runs: Sequence[Run], kept: Sequence[Run]) -> list[Row]:
    """All rows, in the order in which paths were first trained on; `kept` are runs of before that read cold bytes."""
    copied = {run.path: run.seconds for run in runs if run.kind == "copy"}
    groups: dict[tuple[str, str, bool], list[Run]] = defaultdict(list)
    for first_read, several in ((False, runs), (True, kept)):
        for run in several:
            if run.kind != "copy" and not run.failed and run.loaders is None:
                groups[run.path, run.state, first_read].append(run)
    known = {(path, state) for path, state, first_read in groups if not first_read}
    paths = list(dict.fromkeys(path for path, _, _ in groups))
    made = [
        _row(several, copied.get(path, 0.0), first_read)
        for (path, state, first_read), several in groups.items()
        if not (first_read and (path, state) in known)
    ]
    return sorted(made, key=lambda row: (paths.index(row.path), not row.first_read))


def simplest(table: Sequence[Row]) -> list[Row]:
    """Rows of paths that were read now, the one first that is the simplest to set up."""
    read = [row for row in table if row.path != "synthetic" and not row.first_read]
    return sorted(read, key=lambda row: SIMPLEST.index(row.path) if row.path in SIMPLEST else 0)


def _row(runs: list[Run], copy_s: float, first_read: bool) -> Row:
    firsts = [run.epochs[0] for run in runs]
    laters = [epoch for run in runs for epoch in run.epochs[1:]]
    one, epochs = runs[-1], [*firsts, *laters]
    seconds = median(sum(epoch.seconds for epoch in run.epochs) for run in runs)
    calls = sum(epoch.calls for epoch in epochs)
    state, why = one.proves(one.epochs[0])
    return Row(
        path=one.path,
        state=state,
        state_later=one.proves(one.epochs[-1])[0] if laters else "",
        why=why,
        first=spread([epoch.images_per_s for epoch in firsts]),
        later=spread([epoch.images_per_s for epoch in laters]) if laters else None,
        marked=spread([epoch.marked_images_per_s for epoch in firsts]),
        waiting=_waiting(firsts),
        waiting_later=_waiting(laters) if laters else None,
        utilisation=_utilisation(firsts),
        utilisation_later=_utilisation(laters),
        steps=sum(epoch.steps for epoch in one.epochs),
        seconds=seconds,
        hours=seconds / 3600,
        copy_s=copy_s,
        hours_with_copy=(seconds + copy_s) / 3600,
        top1=median(run.epochs[-1].top1 for run in runs),
        top5=median(run.epochs[-1].top5 for run in runs),
        cpu_s_per_1000=1000 * sum(e.cpu_s for e in epochs) / sum(e.images for e in epochs),
        busy=sum(e.cpu_s for e in epochs) / sum(e.seconds for e in epochs) / one.processors,
        read_bytes=sum(epoch.bytes for epoch in epochs) / calls if calls else None,
        listing_s=median(run.listing_s for run in runs),
        origins=_origins(runs, firsts),
        origins_later=_origins(runs, laters),
        medium=None if state == "page-cache" else _medium(firsts),
        source_mb_per_s=_from_source(runs, firsts),
        digest=one.epochs[0].digest,
        losses=[loss for epoch in one.epochs for loss in epoch.losses],
        measured=one.at,
        first_read=first_read,
    )


def _waiting(epochs: list[Epoch]) -> float:
    return sum(epoch.wait_s for epoch in epochs) / sum(epoch.seconds for epoch in epochs)


def _utilisation(epochs: list[Epoch]) -> Spread | None:
    found = [epoch.utilisation for epoch in epochs if epoch.utilisation is not None]
    return spread(found) if found else None


def _medium(epochs: list[Epoch]) -> Medium | None:
    """Of epochs whose bytes came from a disk: in the others only programs beside the training have read it."""
    used = [(epoch.disk, epoch.seconds) for epoch in epochs if epoch.disk and epoch.disk.bytes >= epoch.bytes / 2 > 0]
    reads = sum(disk.reads for disk, _ in used)
    if not reads:
        return None
    return Medium(
        read_bytes=sum(disk.bytes for disk, _ in used) / reads,
        wait_ms=1000 * sum(disk.wait_s for disk, _ in used) / reads,
        queue=sum(disk.wait_s for disk, _ in used) / sum(seconds for _, seconds in used),
    )


def _from_source(runs: list[Run], epochs: list[Epoch]) -> float | None:
    """MB/s; where few bytes came from there, their rate would be that of what is beside the source."""
    found = [(run.from_source(epoch), epoch) for run in runs for epoch in run.epochs if epoch in epochs]
    return (
        median(size / epoch.seconds / 1e6 for size, epoch in found)
        if all(size >= epoch.bytes * MOSTLY > 0 for size, epoch in found)
        else None
    )


def _origins(runs: list[Run], epochs: list[Epoch]) -> dict[str, float]:
    found = [shares for run in runs for epoch in run.epochs if epoch in epochs and (shares := run.origins(epoch))]
    return {level: fmean(shares[level] for shares in found) for level in LEVELS} if found else {}

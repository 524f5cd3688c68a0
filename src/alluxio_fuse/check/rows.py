"""One row of the table per path, state and kind: statistics of the passes that have proven their state."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean

from pydantic import BaseModel

from alluxio_fuse.check.evidence import LEVELS, Result, doubt, mistakes, origins
from alluxio_fuse.check.profiles import WAYS, heading
from alluxio_fuse.check.statistics import Spread, spread

KINDS = ("small", "large", *WAYS)
ORDER = ("cold", "worker", "client-cache", "staged", "cached", "uncached", "disk", "memory", "page-cache")


class Row(BaseModel):
    """A path (mount, disk) in a state; figures are None unless the state was established.

    epochs: MB/s of each of its passes, in the order in which they were taken.
    """

    path: str
    state: str
    kind: str
    established: bool
    why: str
    files_per_s: Spread | None = None
    mb_per_s: Spread | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    first_byte_ms: float | None = None
    cpu_s_per_gb: float | None = None
    load: float | None = None
    utilisation: Spread | None = None
    readers: int | None = None
    held: int | None = None
    files: int = 0
    bytes: int = 0
    digested: int = 0
    measured: str = ""
    first_read: bool = False
    origins: dict[str, float] = {}
    latency_ms: list[tuple[float, int]] = []
    epochs: list[float] = []

    @property
    def heading(self) -> str:
        """What the row is called: its kind, or the number of readers or open files where that is what differs."""
        return heading(self.kind, self.readers, self.held)


def rows(results: Sequence[Result], first_reads: Sequence[Result]) -> list[Row]:
    """All rows; `first_reads` are the passes that were kept from when the caches were filled."""
    groups: dict[tuple[str, str, str, bool, str], list[Result]] = defaultdict(list)
    for first_read, several in ((True, first_reads), (False, results)):
        for result in several:
            if result.state in ORDER:
                called = heading(result.kind, result.readers, result.held)
                groups[result.path, result.state, result.kind, first_read, called].append(result)
    made = [_row(several, key[3]) for key, several in groups.items()]
    return sorted(
        made,
        key=lambda row: (
            KINDS.index(row.kind),
            row.path == "disk",
            row.path != "mount",
            row.path,
            ORDER.index(row.state),
            row.readers or 0,
            row.held or 0,
        ),
    )


def _row(several: list[Result], first_read: bool) -> Row:
    one = several[0]
    common = {"path": one.path, "state": one.state, "kind": one.kind, "first_read": first_read}
    common |= {"readers": one.readers, "held": one.held}
    good = [result for result in several if doubt(result) is None and not mistakes(result)]
    reasons = "; ".join(sorted({doubt(r) or "bytes were wrong" for r in several if r not in good}))
    if not good:
        return Row(**common, established=False, why=reasons, measured=one.at)
    left_out = f"{len(several) - len(good)} of {len(several)} passes left out: {reasons}" if reasons else ""
    return Row(
        **common,
        established=True,
        why=left_out,
        files_per_s=spread([result.per_s for result in good]),
        mb_per_s=spread([result.mb_per_s for result in good]),
        p50_ms=fmean(result.p50_ms for result in good),
        p99_ms=max(result.p99_ms for result in good),
        first_byte_ms=fmean(result.first_byte_ms for result in good),
        cpu_s_per_gb=fmean(result.cpu_s_per_gb or 0.0 for result in good),
        load=max(result.load for result in good),
        utilisation=spread([result.utilisation or 0.0 for result in good]) if one.kind == "training" else None,
        files=sum(result.files for result in good),
        bytes=sum(result.bytes for result in good),
        digested=sum(result.verified.digested for result in good if result.verified),
        measured=good[-1].at,
        origins={
            level: fmean(shares[level] for shares in map(origins, good))
            if one.path != "disk" and not one.names_only
            else 0.0
            for level in LEVELS
        },
        latency_ms=_added(good),
        epochs=[round(result.mb_per_s, 1) for result in good],
    )


def _added(several: list[Result]) -> list[tuple[float, int]]:
    counts: dict[float, int] = defaultdict(int)
    for result in several:
        for bound, count in result.latency_ms:
            counts[bound] += count
    return sorted(counts.items())


def records_against_files(rows: Sequence[Row]) -> Iterator[str]:
    """TFRecord against JPEG: records per second against small files, a line for each path that read both."""
    for one in (row for row in rows if row.kind == "records"):
        other = next((row for row in rows if (row.kind, row.path, row.state) == ("small", one.path, one.state)), None)
        if other and one.files_per_s and other.files_per_s and one.mb_per_s and other.mb_per_s:
            yield (
                f"TFRecord against files of a sample each, {one.path}: {one.files_per_s.median:.0f} records/s against"
                f" {other.files_per_s.median:.0f} files/s, {one.files_per_s.median / other.files_per_s.median:.2f} x;"
                f" {one.mb_per_s.median / other.mb_per_s.median:.2f} x the MB/s"
            )

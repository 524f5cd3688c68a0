"""What one node has measured of one dataset, and which rows are missing, and why."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from alluxio_fuse.check.evidence import Result
from alluxio_fuse.check.gate import Gate
from alluxio_fuse.check.passes import LEAST_STEPS, CheckSettings, files_within
from alluxio_fuse.check.profiles import KINDS, Kind, impossible, of_profiles
from alluxio_fuse.check.rows import Row

NOT_TESTED = "not tested"
NOT_KEPT = "the bytes had been read before and no measurement of that was kept"
MAX_USERS = 5  # named of those that must not be disturbed
NOTHING: dict[str, Any] = {
    "files": 0,
    "bytes": 0,
    "coverage": "none",
    **{kind: {"files": 0, "bytes": 0} for kind in KINDS},
}


class Measured(BaseModel):
    """Manifest header, passes of now, passes that all nodes began together, passes kept from filling the caches.

    failed: why nothing could be measured; left_out: why the last passes were not made. staged_files: of a dataset that
    is staged in part, how many files of each kind are. cache_of_rest: whether the client cache is for the others.
    """

    model_config = ConfigDict(extra="ignore")

    name: str
    host: str
    source: str
    mount_point: str
    client_cache_bytes: int
    residency: dict[str, float] = {"client_cache": 1.0}
    manifest: dict[str, Any] = NOTHING
    results: list[Result] = []
    together: list[Result] = []
    failed: str = ""
    kept: list[Result] = []
    load: dict[str, float] = {}
    in_use: list[str] = []
    left_out: str = ""
    gate: Gate | None = None
    first_reads: bool = True
    direct: bool = False
    stage: dict[str, Any] | None = None
    staged_files: dict[str, int] = {}
    cache_of_rest: bool = False
    own_cluster: bool = True

    def served(self, kind: Kind) -> dict[str, float]:
        """Which level serves which part of the files of a kind: of a set that is staged in part, small ones first."""
        if not self.staged_files or not self.manifest[kind]["files"]:
            return self.residency
        stage = self.staged_files[kind] / self.manifest[kind]["files"]
        rest = {level: share for level, share in self.residency.items() if level != "stage"}
        total = sum(rest.values()) or 1.0
        return {"stage": stage, **{level: share / total * (1 - stage) for level, share in rest.items()}}

    @property
    def left_alone(self) -> str:
        """Who was not to be disturbed."""
        return f"left alone, in use by {', '.join(self.in_use[:MAX_USERS])}"


def missing(measured: Measured, table: Sequence[Row], settings: CheckSettings) -> list[Row]:
    """Rows for what should have been measured and was not."""
    have = {(row.state, row.kind) for row in table if row.path == "mount"}
    rows = [
        _row(state, kind, _why(measured, state, kind, settings))
        for kind in KINDS
        if measured.manifest[kind]["files"]
        for state in _states(measured, kind)
        if (state, kind) not in have
    ]
    resident = [state for state in _states(measured, "small") if state != "page-cache"][-1]
    kinds = {kind for _, kind in have}
    if settings.training and settings.disruptive and "training" not in kinds:
        need = LEAST_STEPS * settings.training.batch * settings.training.accelerators
        why = f"{NOT_TESTED}: {need} small files of a sample each are needed within the bytes that are read"
        rows.append(_row(resident, "training", why))
    for row, (kind, *_) in of_profiles(settings.profiles):
        if row not in kinds:
            unfit = impossible(row, measured.manifest, measured.manifest[kind]["files"])
            why = f"{NOT_TESTED}: {unfit}" if unfit else _why(measured, resident, kind, settings)
            rows.append(_row(resident, row, why))
    return rows


def _states(measured: Measured, kind: Kind) -> Iterator[str]:
    """The mount's for files of a kind, the deepest first."""
    yield "cold"
    if not measured.direct:
        if not measured.cache_of_rest:
            yield "worker"
        if measured.client_cache_bytes and measured.staged_files.get(kind) != measured.manifest[kind]["files"]:
            yield "client-cache"
    if measured.stage and measured.staged_files.get(kind, 1):
        yield "staged"
    if not measured.stage or (measured.stage["medium"] != "memory" and measured.staged_files.get(kind, 1)):
        yield "page-cache"


def _row(state: str, kind: str, why: str) -> Row:
    return Row(path="mount", state=state, kind=kind, established=False, why=why)


def _why(measured: Measured, state: str, kind: Kind, settings: CheckSettings) -> str:
    files = measured.manifest[kind]["files"]
    if state in ("cold", "worker") and not measured.own_cluster:
        why = "nobody here counts what a cluster elsewhere reads"
    elif state == "cold" and not measured.first_reads and not measured.direct:
        why = "others read these bytes first"
    elif measured.in_use:
        why = measured.left_alone
    elif files < 4:
        why = f"{files} files are too few for slices"
    elif not files_within(measured.manifest, kind, settings):
        why = f"a file of {measured.manifest[kind]['bytes'] / files / 1e6:.0f} MB is more than may be read at a time"
    elif measured.left_out and (measured.direct or state not in ("cold", "worker")):
        why = measured.left_out
    elif not settings.disruptive:
        why = "alluxio_check_disruptive is false"
    elif state in ("cold", "worker"):
        return NOT_KEPT
    else:
        return "no pass was made"
    return f"{NOT_TESTED}: {why}"

"""What the mount has to reach, and whether it did."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from alluxio_fuse.check.evidence import Result, doubt
from alluxio_fuse.check.passes import Training
from alluxio_fuse.check.profiles import KINDS, Kind
from alluxio_fuse.check.rows import Row
from alluxio_fuse.check.statistics import BUSY, Spread, spread
from alluxio_fuse.plan.rules.gate import SAMPLES_COUNT, sample_share
from alluxio_fuse.plan.sizes import Sizes

Outcome = Literal["PASS", "FAIL", "CANNOT TELL"]
Figure = Literal["files_per_s", "mb_per_s"]
FIGURES: tuple[Figure, ...] = ("files_per_s", "mb_per_s")
UNJUDGED = "speed is reported, not judged"
UNITS: dict[Figure, str] = {"files_per_s": "files/s", "mb_per_s": "MB/s"}
STATE_OF = {"stage": "staged", "client_cache": "client-cache", "worker": "worker", "under_store": "cold"}


class Gate(BaseModel):
    """The plan's gate of one node; `planned` is what it would have been where a user has changed it."""

    model_config = ConfigDict(extra="forbid")

    name: str = "none (no GPU)"
    mb_per_s: float | None = None
    files_per_s: float | None = None
    min_disk_ratio: float | None = None
    planned: dict[str, float] | None = None
    training: Training | None = None

    @property
    def unknown(self) -> bool:
        """Whether there are GPUs that nobody has published a figure for."""
        return self.name == "unknown"

    @property
    def judges(self) -> bool:
        """Whether a speed is asked for; without GPUs and without a declared gate it is told alone."""
        return bool(self.mb_per_s or self.files_per_s or self.unknown or self.min_disk_ratio)

    def said(self) -> str:
        """The gate in words, a changed one as such."""
        wanted = [f"{self.mb_per_s:.0f} MB/s"] if self.mb_per_s else []
        wanted += [f"{self.files_per_s:.0f} files/s"] if self.files_per_s else []
        text = f"{self.name}: {' and '.join(wanted)}" if wanted else self.name
        if not self.judges:
            text += f": {UNJUDGED}"
        if self.planned:
            text += f" (EDITED, the plan has {', '.join(f'{key} {value:.0f}' for key, value in self.planned.items())})"
        return text


class Finding(BaseModel):
    """One comparison and its reason."""

    outcome: Outcome
    reason: str


def small_ratio(results: Sequence[Result], path: str) -> Spread | None:
    """Small files/s of the mount, page cache empty, over another path's, paired round by round: drift cancels."""
    mounts = [r for r in results if (r.path, r.kind) == ("mount", "small")]
    states = {r.state for r in mounts} & {"staged"} or {"client-cache", "worker", "cold"}
    mount = [r for r in mounts if r.state in states]
    other = [
        r
        for r in results
        if (r.path, r.kind) == (path, "small") and r.state in ("disk", "worker", "cached", "uncached", "memory")
    ]
    pairs = [(m, o) for m, o in zip(mount, other, strict=False) if doubt(m) is None and doubt(o) is None]
    return spread([m.files_per_s / o.files_per_s for m, o in pairs]) if pairs else None


def _small_files(residency: Mapping[str, float]) -> str:
    served = "staged" if residency.get("stage") else "client-cache" if residency.get("client_cache") else "mounted"
    return f"{served} small files against the local disk"


def told(ratio: Spread | None, residency: Mapping[str, float]) -> Finding:
    """The speed where nothing says what it has to be."""
    if ratio is None:
        return Finding(outcome="PASS", reason=UNJUDGED)
    figures = f"{ratio.median:.2f} x ({ratio.least:.2f} to {ratio.most:.2f})"
    return Finding(outcome="PASS", reason=f"{_small_files(residency)}: {figures}; {UNJUDGED}")


def against_disk(ratio: Spread | None, rows: Sequence[Row], least: float, residency: Mapping[str, float]) -> Finding:
    """A declared share of the local disk: paired rounds, or the planned mix where not all can be resident."""
    what = _small_files(residency)
    disk = next((row.files_per_s for row in rows if (row.path, row.state, row.kind) == ("disk", "disk", "small")), None)
    if ratio is None or disk is None:
        return Finding(outcome="CANNOT TELL", reason=f"{what}: not both were measured")
    if len([share for share in residency.values() if share]) > 1:
        return _mixed(rows, "small", "files_per_s", least * disk.median, residency)
    return compared(what, ratio, least, "x")


def against_gate(
    rows: Sequence[Row], gate: Gate, residency: Mapping[Kind, Mapping[str, float]], header: Mapping[str, Any]
) -> list[Finding]:
    """The gate of a node with GPUs, for the mix of levels that the plan predicts for the whole set, by kind of files.

    MB/s are those of the kind that has most of the manifest's bytes; files/s count where a file is a sample.
    """
    findings = []
    if gate.unknown:
        return [Finding(outcome="CANNOT TELL", reason="no public figure for these GPUs on this workload: declare one")]
    if gate.planned:
        findings.append(_edited(rows, gate, residency, header))
    for figure in FIGURES:
        if kind := gated(gate, figure, header):
            findings.append(_mixed(rows, kind, figure, getattr(gate, figure), residency[kind]))
    return findings


def gated(gate: Gate, figure: Figure, header: Mapping[str, Any]) -> Kind | None:
    """The kind of files that a figure of the gate is of; None where it is no measure of this dataset."""
    if not getattr(gate, figure):
        return None
    if figure == "files_per_s":
        return "small" if sample_share(Sizes.of_rows(header["sizes"])) >= SAMPLES_COUNT else None
    return max(KINDS, key=lambda one: int(header[one]["bytes"]))


def _edited(
    rows: Sequence[Row], gate: Gate, residency: Mapping[Kind, Mapping[str, float]], header: Mapping[str, Any]
) -> Finding:
    """What the plan's own gate says: a gate that was edited down is reached only where that one is."""
    own = against_gate(rows, gate.model_copy(update={"planned": None, **(gate.planned or {})}), residency, header)
    short = [finding.reason for finding in own if finding.outcome != "PASS"]
    if short:
        return Finding(outcome="CANNOT TELL", reason=f"the gate was EDITED below the plan's own; {'; '.join(short)}")
    return Finding(outcome="PASS", reason=f"the gate was EDITED; {'; '.join(finding.reason for finding in own)}")


def trained(rows: Sequence[Row], gate: Gate, residency: Mapping[str, float]) -> list[Finding]:
    """The utilisation that emulated accelerators had, which counts where the whole set is served as its sample was."""
    row = next((row for row in rows if (row.path, row.kind) == ("mount", "training")), None)
    if not gate.training or row is None or row.utilisation is None:
        return []
    if len([share for share in residency.values() if share]) > 1:
        return []
    what = f"emulated training, {gate.training.accelerators} accelerators, utilisation"
    return [compared(what, row.utilisation, gate.training.utilisation, "x")]


def alone(finding: Finding, foreign_cpu: float) -> Finding:
    """The finding, or none where the machine was at other work while it was measured."""
    if foreign_cpu <= BUSY:
        return finding
    busy = f"other work kept {foreign_cpu:.0%} of the processors busy between the passes"
    return Finding(outcome="CANNOT TELL", reason=f"{finding.reason}; {busy}")


def _mixed(rows: Sequence[Row], kind: str, figure: Figure, least: float, residency: Mapping[str, float]) -> Finding:
    unit = UNITS[figure]
    what = f"{kind} files, {unit}, at the planned mix"
    seconds = Spread(median=0, least=0, most=0, passes=0)
    for level, share in residency.items():
        if not share:
            continue
        row = next((r for r in rows if (r.path, r.state, r.kind) == ("mount", STATE_OF[level], kind)), None)
        speed: Spread | None = getattr(row, figure) if row else None
        if speed is None:
            reason = f"{what}: {share:.0%} is served in state {STATE_OF[level]}, which was not established"
            return Finding(outcome="CANNOT TELL", reason=reason)
        seconds.median += _time(share, speed.median)
        seconds.least += _time(share, speed.most)
        seconds.most += _time(share, speed.least)
        seconds.passes = speed.passes
    speed = Spread(median=1 / seconds.median, least=1 / seconds.most, most=1 / seconds.least, passes=seconds.passes)
    return compared(what, speed, least, unit)


def _time(share: float, speed: float) -> float:
    """How long a share takes; for ever where the passes read so little that nothing per second was measured."""
    return share / speed if speed else inf


def compared(what: str, measured: Spread, least: float, unit: str) -> Finding:
    """Whether the median reaches what is wanted; noise across that is no answer."""
    digits = 2 if unit == "x" else 0
    text = (
        f"{what}: {measured.median:.{digits}f} {unit} ({measured.least:.{digits}f} to {measured.most:.{digits}f}), "
        f"at least {least:.{digits}f} wanted"
    )
    if measured.noisy and measured.least < least <= measured.most:
        return Finding(outcome="CANNOT TELL", reason=f"{text}; too noisy to tell")
    return Finding(outcome="PASS" if measured.median >= least else "FAIL", reason=text)

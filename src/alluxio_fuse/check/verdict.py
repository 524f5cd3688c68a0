"""The check's result: rows, mistakes, the verdict and its reasons. check.json is this model."""

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Literal

from pydantic import BaseModel

from alluxio_fuse.check.evidence import Result, mistakes
from alluxio_fuse.check.fleet import Fleet, fleet
from alluxio_fuse.check.gate import (
    Finding,
    Gate,
    Outcome,
    against_disk,
    against_gate,
    alone,
    small_ratio,
    told,
    trained,
)
from alluxio_fuse.check.measured import NOT_KEPT, NOT_TESTED, Measured, missing
from alluxio_fuse.check.passes import AGREE, CheckSettings, first_slices
from alluxio_fuse.check.profiles import KINDS
from alluxio_fuse.check.rows import Row, rows
from alluxio_fuse.check.statistics import Spread

VERSION: Literal[1] = 1
MAX_MISTAKES = 20  # kept of each dataset
WORST: tuple[Outcome, ...] = ("FAIL", "CANNOT TELL", "PASS")
NO_MORE = "no more were made of these files"
LEAST_PASSES = 3  # that have proven their state, for a median to mean something; fewer where fewer were asked for


class Dataset(BaseModel):
    """One dataset on one node. etags: files whose digest in the manifest is their ETag."""

    name: str
    host: str
    source: str
    mount_point: str
    files: int
    bytes: int
    coverage: str
    digested: int
    etags: int = 0
    rows: list[Row]
    gate: Gate
    disk_ratio: Spread | None
    compared: dict[str, Spread]
    jvm_warm_up_mb_per_s: list[float]
    load: dict[str, float]
    foreign_cpu: float
    wrong: int
    mistakes: list[str]
    findings: list[Finding]


class Check(BaseModel):
    """check.json."""

    version: Literal[1] = VERSION
    made: str
    about: dict[str, Any]
    settings: CheckSettings
    gate: Gate
    datasets: list[Dataset]
    fleet: list[Fleet] = []
    verdict: Outcome
    reasons: list[str]


def check(
    measured: Sequence[Mapping[str, Any]],
    gate: Mapping[str, Any],
    settings: Mapping[str, Any],
    made: str,
    about: Any,
    *,
    hosts: Sequence[str] = (),
) -> Check:
    """The verdict on what all nodes have measured; one of `hosts` of which nothing is there has failed."""
    wanted, how = Gate.model_validate(gate), CheckSettings.model_validate(settings)
    nodes = [Measured.model_validate(one) for one in measured]
    datasets = [_dataset(node, node.gate or wanted, how) for node in nodes]
    judged = [(node, one.rows, one.gate) for node, one in zip(nodes, datasets, strict=True) if not node.failed]
    fleets = fleet(judged, at_once=how.at_once)
    findings = [(f"{one.name} on {one.host}", finding) for one in datasets for finding in one.findings]
    findings += [(f"{one.name} on all nodes", finding) for one in fleets for finding in one.findings]
    silent = sorted({*hosts} - {node.host for node in nodes})
    findings += [(host, Finding(outcome="FAIL", reason="it was to be measured, and did not answer")) for host in silent]
    verdict = min((finding.outcome for _, finding in findings), key=WORST.index, default="CANNOT TELL")
    reasons = [f"{where}: {finding.reason}" for where, finding in findings if finding.outcome == verdict]
    return Check(
        made=made,
        about=json.loads(json.dumps(about)),
        settings=how,
        gate=wanted,
        datasets=datasets,
        fleet=fleets,
        verdict=verdict,
        reasons=reasons or ["nothing was measured"],
    )


def again(check: Check) -> list[str]:
    """How what could not be told is measured again: a command, and which rows it does not reach."""
    once = [
        f"{row.heading} files, {row.path}, {row.state}"
        for dataset in check.datasets
        for row in dataset.rows
        if row.first_read or row.why == NOT_KEPT
        for finding in dataset.findings
        if finding.outcome == "CANNOT TELL" and finding.reason.startswith(_of(row))
    ]
    command = str(check.about.get("again", "ansible-playbook playbooks/check.yml"))
    return [command, *(f"{row}: a first read, measured by site.yml after playbooks/teardown.yml" for row in once)]


def _of(row: Row) -> str:
    return f"{row.heading} files, {row.path}, {row.state}: "


def _dataset(measured: Measured, gate: Gate, settings: CheckSettings) -> Dataset:
    passes = [*measured.kept, *measured.results, *measured.together]
    wrong = sum(r.wrong + (r.verified.wrong if r.verified else 0) for r in passes)
    found = [f"{result.name}: {mistake}" for result in passes for mistake in mistakes(result)]
    table = rows(measured.results, measured.kept)
    table += [] if measured.failed else missing(measured, table, settings)
    ratio = small_ratio(measured.results, "disk")
    others = sorted({row.path for row in table} - {"mount", "disk"})
    foreign = median(result.foreign_cpu for result in measured.results) if measured.results else 0.0
    return Dataset(
        name=measured.name,
        host=measured.host,
        source=measured.source,
        mount_point=measured.mount_point,
        files=measured.manifest["files"],
        bytes=measured.manifest["bytes"],
        coverage=measured.manifest["coverage"],
        digested=sum(r.verified.digested for r in passes if r.verified),
        etags=measured.manifest.get("etags", {}).get("files", 0),
        rows=table,
        gate=gate,
        disk_ratio=ratio,
        compared={path: times for path in others if (times := small_ratio(measured.results, path))},
        jvm_warm_up_mb_per_s=_warm_up(measured) or [],
        load=measured.load,
        foreign_cpu=foreign,
        wrong=max(wrong, len(found)),
        mistakes=found[:MAX_MISTAKES],
        findings=[Finding(outcome="FAIL", reason=f"not measured: {measured.failed}")]
        if measured.failed
        else [
            _bytes_right(found, wrong, passes),
            *_states(table),
            *_few(table, measured, settings),
            *_warm_jvm(measured),
            *(alone(finding, foreign) if gate.judges else finding for finding in _speed(table, ratio, gate, measured)),
        ],
    )


def _bytes_right(found: list[str], wrong: int, passes: list[Result]) -> Finding:
    if found:
        more = f" and {max(wrong, len(found)) - 1} more" if max(wrong, len(found)) > 1 else ""
        return Finding(outcome="FAIL", reason=f"not the source's bytes: {found[0]}{more}")
    digests = sum(r.verified.digested for r in passes if r.verified)
    if not digests:
        return Finding(outcome="CANNOT TELL", reason="no digest was compared")
    return Finding(outcome="PASS", reason=f"{digests} digests compared in all passes, all right")


def _states(table: list[Row]) -> list[Finding]:
    """Every state that was to be tested has to be established, but for those of mounts to compare with."""
    return [
        Finding(outcome="CANNOT TELL", reason=_of(row) + row.why)
        for row in table
        if row.path in ("mount", "disk") and not row.established and not row.why.startswith(NOT_TESTED)
    ]


def _few(table: list[Row], measured: Measured, settings: CheckSettings) -> list[Finding]:
    """A state that one pass or two have proven is no median, but where its files can be read first no more often."""
    findings = []
    for row in table:
        proven = row.files_per_s.passes if row.files_per_s else 0
        slices = first_slices(measured.manifest, row.kind, row.state) if row.first_read else settings.passes
        if row.path in ("mount", "disk") and row.established and proven < min(LEAST_PASSES, slices):
            why = f"only {proven} passes have proven their state: {row.why or measured.left_out or NO_MORE}"
            findings.append(Finding(outcome="CANNOT TELL", reason=_of(row) + why))
    return findings


def _warm_jvm(measured: Measured) -> list[Finding]:
    """A JVM that compiles while it is measured is measured at compiling."""
    speeds = _warm_up(measured)
    if speeds is None:
        return []
    if len(speeds) < 2:
        return [Finding(outcome="CANNOT TELL", reason="the JVM of the mount was not warmed before it was measured")]
    if abs(speeds[-1] - speeds[-2]) > AGREE * speeds[-2]:
        said = ", ".join(f"{speed:.0f}" for speed in speeds)
        return [Finding(outcome="CANNOT TELL", reason=f"the JVM was not steady: warm-up passes of {said} MB/s")]
    return []


def _warm_up(measured: Measured) -> list[float] | None:
    """MB/s of passes that warmed the JVM: with small files, where FUSE was read for any; None: it was read for none."""
    read = {r.kind for r in measured.results if r.path == "mount" and r.state in ("client-cache", "worker", "cold")}
    kind = next((kind for kind in KINDS if kind in read), None)
    warmed = [r for r in measured.results if (r.path, r.state, r.kind) == ("mount", "warm-up", kind)]
    return [speed for result in warmed for speed in result.repeats_mb_per_s] if kind else None


def _speed(table: list[Row], ratio: Spread | None, gate: Gate, measured: Measured) -> list[Finding]:
    if gate.mb_per_s or gate.files_per_s or gate.unknown:
        return [
            *against_gate(table, gate, {kind: measured.served(kind) for kind in KINDS}, measured.manifest),
            *trained(table, gate, measured.served("small")),
        ]
    if measured.in_use:
        return [Finding(outcome="CANNOT TELL", reason=measured.left_alone)]
    if gate.min_disk_ratio is None:
        return [told(ratio, measured.served("small"))]
    if not measured.manifest["small"]["files"]:
        reason = "alluxio_gate_min_disk_ratio is of small files: declare alluxio_gate, or compare the rows"
        return [Finding(outcome="CANNOT TELL", reason=reason)]
    return [against_disk(ratio, table, gate.min_disk_ratio, measured.served("small"))]

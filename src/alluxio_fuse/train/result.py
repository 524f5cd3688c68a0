"""What the training runs of all nodes come to: rows, proof, verdict, answer. train.json is this model."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from alluxio_fuse.check.gate import Finding, Outcome
from alluxio_fuse.check.statistics import BUSY as OTHERS_BUSY
from alluxio_fuse.check.verdict import WORST
from alluxio_fuse.plan.gpus import WORKLOADS
from alluxio_fuse.plan.intent.work import Train
from alluxio_fuse.train import emulated
from alluxio_fuse.train.measured import Run, images_read, mistakes
from alluxio_fuse.train.rows import BUSY, Row, rows, simplest
from alluxio_fuse.train.saturation import saturation
from alluxio_fuse.train.sweep import Swept, limit, swept

VERSION: Literal[1] = 1
FED = WORKLOADS["resnet50"].utilisation  # of what made-up batches reach: less counts as not fed
#: Losses on GPUs, whose sums have no order, differ by at most this share in the first steps. Measured on an H200 with
#: ResNet-50 in mixed precision and labels that cannot be learned: 0 in steps 1 to 3, 0.3 % in step 5, 11 % in step 12.
TOLERANCE = 0.01
FIRST_STEPS = 5
CPU = "cpu"


class Node(BaseModel):
    """What one node, or several together, trained on a dataset.

    shards: 0 where an image is a file. fed: emulated accelerators, by path.
    """

    host: str
    nodes: int
    dataset: str
    folder: str
    shards: int
    images: int
    classes: int
    bytes: int
    digested: int
    framework: str
    device: str
    processors: int
    rows: list[Row]
    sweep: list[Swept]
    limit: str
    foreign_cpu: float
    mistakes: list[str]
    findings: list[Finding]
    fed: list[str] = []
    answer: str

    @property
    def held(self) -> str:
        """What the images are in."""
        return f"{self.shards} shards" if self.shards else f"{self.classes} classes" if self.classes else "no classes"


class Training(BaseModel):
    """train.json."""

    version: Literal[1] = VERSION
    made: str
    about: dict[str, Any]
    settings: Train
    nodes: list[Node]
    saturation: list[str]
    verdict: Outcome
    reasons: list[str]


def training(
    measured: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], made: str, about: Mapping[str, Any]
) -> Training:
    """The result of all nodes; each item of `measured` is {host, nodes, dataset, facts, results, kept}."""
    train = Train.model_validate(settings)
    nodes = [_node(one, train) for one in measured]
    findings = [(node.host, finding) for node in nodes for finding in node.findings]
    verdict = min((finding.outcome for _, finding in findings), key=WORST.index, default="CANNOT TELL")
    return Training(
        made=made,
        about=json.loads(json.dumps(about)),
        settings=train,
        nodes=nodes,
        saturation=saturation(nodes),
        verdict=verdict,
        reasons=[f"{host}: {finding.reason}" for host, finding in findings if finding.outcome == verdict]
        or ["nothing was trained"],
    )


def _node(measured: Mapping[str, Any], train: Train) -> Node:
    runs = [Run.model_validate(one) for one in measured["results"]]
    kept = [Run.model_validate(one) for one in measured["kept"]]
    facts, trained = measured["facts"], [run for run in runs if run.kind != "copy"]
    right = [run for run in runs if not mistakes(run)]
    table = rows(right, [run for run in kept if not mistakes(run)])
    device = next((run.device for run in trained if run.device), CPU)
    foreign = max((run.foreign_cpu for run in trained), default=0.0)
    wrong = [mistake for run in trained for mistake in mistakes(run)]
    proof = [*_ended(trained), *_bytes(wrong, trained)]
    if train.emulated:
        speed, answer = emulated.answer(table, train, foreign)
    else:
        proof += _losses(trained, device, facts["shards"] > 0)
        speed, answer = _answer(table, device, facts["processors"], foreign)
    return Node(
        host=measured["host"],
        nodes=measured["nodes"],
        dataset=measured["dataset"],
        images=images_read(right) or facts["images"],
        **{key: facts[key] for key in ("folder", "shards", "classes", "bytes", "digested", "processors")},
        framework=next((run.framework for run in trained if run.framework), ""),
        device=device,
        rows=table,
        sweep=swept(right),
        limit=limit(swept(right)),
        foreign_cpu=foreign,
        mistakes=wrong,
        findings=[*proof, speed],
        fed=emulated.told(table, train, foreign),
        answer=answer,
    )


def _ended(trained: list[Run]) -> Iterator[Finding]:
    for run in trained:
        if run.failed:
            yield Finding(outcome="FAIL", reason=f"{run.name}: {run.failed}")


def _bytes(wrong: list[str], trained: list[Run]) -> Iterator[Finding]:
    """Every epoch of every path has read exactly the manifest's paths and bytes."""
    if wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        yield Finding(outcome="FAIL", reason=f"not the source's bytes: {wrong[0]}{more}")
        return
    epochs = [epoch for run in trained for epoch in run.epochs if epoch.mount]
    if not any(epoch.compared for epoch in epochs):
        yield Finding(outcome="CANNOT TELL", reason="no digest was compared")
        return
    said = f"{len(epochs)} epochs read the manifest's bytes, digest {epochs[0].expected_digest[:16]}"
    yield Finding(outcome="PASS", reason=said)


def _losses(trained: list[Run], device: str, shards: bool) -> Iterator[Finding]:
    """The same images in the same order give the same losses: exactly on processors, nearly at first on GPUs.

    With shards the order depends on the number of loaders, so only runs of one number are compared.
    """
    groups: dict[int | None, list[Run]] = defaultdict(list)
    for run in trained:
        if run.kind == "train":
            groups[run.loaders if shards else None].append(run)
    for runs in groups.values():
        yield from _curves(runs, device)


def _curves(runs: list[Run], device: str) -> Iterator[Finding]:
    curves = [(run.name, [loss for epoch in run.epochs for loss in epoch.losses]) for run in runs]
    if len(curves) < 2:
        return
    most, steps = (0.0, None) if device == CPU else (TOLERANCE, FIRST_STEPS)
    name, expected = curves[0]
    for other, found in curves[1:]:
        if step := _differs(expected, found, most, steps):
            reason = f"losses of {other} and of {name} differ from step {step} on"
            yield Finding(outcome="FAIL", reason=reason)
            return
    within = "equal" if device == CPU else f"equal within {TOLERANCE:.0%} in the first {FIRST_STEPS}"
    yield Finding(outcome="PASS", reason=f"{len(curves)} loss curves of {len(expected)} steps are {within}")


def _differs(expected: list[float], found: list[float], most: float, steps: int | None) -> int | None:
    """The first step, from 1, whose losses differ by more than a share of them, of so many, or that only one has."""
    for step, (one, other) in enumerate(zip(expected[:steps], found[:steps], strict=False), 1):
        if not abs(one - other) <= most * abs(one):  # nan is no number that equals another
            return step
    return None if len(expected) == len(found) else min(len(expected), len(found)) + 1


def _answer(table: list[Row], device: str, processors: int, foreign: float) -> tuple[Finding, str]:
    """Which path feeds the GPUs, the simplest of them, and why; or why that cannot be told here."""
    ceiling = next((row for row in table if row.path == "synthetic"), None)
    if device == CPU or ceiling is None:
        said = f"training ran on this machine's {processors} processors, which also decode and serve: no path is judged"
        return Finding(outcome="CANNOT TELL", reason=said), said
    best = ceiling.best
    paths = simplest(table)
    feeding = [row for row in paths if row.first.median >= FED * best]
    if feeding:
        row = feeding[0]
        said = (
            f"use {row.label}: {row.first.median:.0f} images/s in epoch 1 are {row.first.median / best:.0%} of what"
            f" these GPUs reach without reading, and no simpler path gives {FED:.0%}"
        )
        return Finding(outcome="PASS", reason=said), said
    bound = [row.label for row in paths if row.busy >= BUSY]
    if bound or foreign > OTHERS_BUSY:
        why = f"the {processors} processors were busy in {', '.join(bound)}" if bound else "others used the processors"
        said = f"no path feeds these GPUs, and what limits is not the path: {why}"
        return Finding(outcome="CANNOT TELL", reason=said), said
    from_memory = max((row.from_memory for row in paths), default=0.0)
    if 0 < from_memory < FED * best:
        said = (
            f"loaders limit, not a path: from the page cache they give {from_memory:.0f} images/s,"
            f" {from_memory / best:.0%} of what these GPUs reach without reading; try more by alluxio_train.sweep"
        )
        return Finding(outcome="CANNOT TELL", reason=said), said
    said = f"no path gives {FED:.0%} of the {best:.0f} images/s that these GPUs reach without reading"
    return Finding(outcome="FAIL", reason=said), said

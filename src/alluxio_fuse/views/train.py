"""Views of role `train`: what is trained on a node, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alluxio_fuse.plan.intent.work import RESNET50, Train
from alluxio_fuse.report import training as page
from alluxio_fuse.train import steps, table
from alluxio_fuse.train.measured import Run, images_read
from alluxio_fuse.train.result import Training, training
from alluxio_fuse.train.rows import rows


@dataclass(frozen=True)
class TrainSteps:
    """What is trained on a node: runs, what the program is told, and why nothing is (refusals)."""

    runs: list[dict[str, Any]]
    orders: dict[str, Any]
    refusals: list[str]


def train_orders(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a program is told by these settings (`alluxio_train`), but for what only the node knows."""
    return steps.orders(Train.model_validate(settings))


def train_steps(
    dataset: Mapping[str, Any],
    settings: Mapping[str, Any],
    facts: Mapping[str, Any],
    scratch: str,
    *,
    disruptive: bool,
    users: Sequence[str] = (),
) -> TrainSteps:
    """What is trained on a dataset (as filter `targets` gives it), by what module train_facts has found."""
    train = Train.model_validate(settings)
    refusals = steps.refusals(train, facts, list(users), dataset.get("path") or dataset["mount_point"])
    orders = steps.orders(train) | ({} if refusals else {"folder": facts["folder"]})
    return TrainSteps(steps.runs(dataset, train, scratch, disruptive), orders, refusals)


def train_kept(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of some runs those that read cold bytes: what can be measured once, and is kept on the node."""
    return [dict(one) for one in results if one["path"] == "mount" and Run.model_validate(one).state == "cold"]


def train_need(
    results: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """What one GPU of the node reached without reading, for the gate.

    It is {workload, gpu, need: {images_per_s, image_bytes, at}}; empty where GPUs trained no workload of a gate.
    """
    train = Train.model_validate(settings)
    runs = [Run.model_validate(one) for one in results]
    reached = next((row for row in rows(runs, []) if row.path == "synthetic"), None)
    if not train.gpus or not train.is_resnet50 or reached is None:
        return {}
    return {
        "workload": RESNET50,
        "gpu": next(run.device for run in runs if run.device),
        "need": {
            "images_per_s": round(reached.best / train.gpus, 1),
            "image_bytes": round(facts["bytes"] / (images_read(runs) or facts["images"])),
            "at": reached.measured,
        },
    }


def train_result(
    measured: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], made: str, about: Mapping[str, Any]
) -> dict[str, Any]:
    """The result of all nodes, as in train.json."""
    return training(measured, settings, made, about).model_dump(mode="json")


def train_report(result: Mapping[str, Any], format: str = "text") -> str:
    """The result as text, or as a page that holds all it needs (html)."""
    made = Training.model_validate(result)
    return page.render(made) if format == "html" else table.render(made)

"""The TrainJob of docs/operators.md, held by Kubeflow Trainer's own models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from kubeflow_trainer_api import models

from alluxio_fuse import names

PAGE = Path(__file__).parents[3] / "docs/operators.md"
NAME = "alluxio-fuse"


@pytest.fixture
def shown() -> dict[str, Any]:
    """As users copy it."""
    (block,) = (
        part.partition("```")[0] for part in PAGE.read_text().split("```yaml\n")[1:] if "kind: TrainJob" in part
    )
    found: dict[str, Any] = yaml.safe_load(block)
    return found


def lost(one: dict[str, Any]) -> bool:
    """Whether the models have no place for something in it."""
    return bool(models.TrainerV1alpha1TrainJob.from_dict(one).to_dict() != one)


def test_the_models_hold_all_of_it(shown: dict[str, Any]) -> None:
    assert not lost(shown)
    shown["spec"]["trainer"]["nodes"] = 2  # of no version of the API
    assert lost(shown)


def test_it_mounts_as_consumers_do_where_the_dataset_is(shown: dict[str, Any]) -> None:
    (patch,) = shown["spec"]["runtimePatches"]
    (job,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = job["template"]["spec"]["template"]["spec"]
    assert list(pod["nodeSelector"]) == [names.node_label(NAME, "fuse")]
    assert [one["hostPath"]["path"] for one in pod["volumes"]] == [names.mount_parent(NAME, "imagenet")]
    (container,) = pod["containers"]
    (mount,) = container["volumeMounts"]
    assert (mount["mountPropagation"], mount["readOnly"]) == ("HostToContainer", True)
    assert shown["spec"]["trainer"]["command"][-1] == f"{mount['mountPath']}/data"

"""The MPIJob of docs/operators.md. No package has MPI Operator's models: here is what its types and validation ask."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubeflow_trainer_api import models

from alluxio_fuse import names

PAGE = Path(__file__).parents[3] / "docs/operators.md"
NAME = "alluxio-fuse"
SPEC = {"slotsPerWorker", "runPolicy", "mpiReplicaSpecs", "sshAuthMountPath", "mpiImplementation"}
RUN_POLICY = {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit", "suspend"}
REPLICA = {"replicas", "restartPolicy", "template"}


@pytest.fixture
def shown() -> dict[str, Any]:
    """As users copy it."""
    (block,) = (part.partition("```")[0] for part in PAGE.read_text().split("```yaml\n")[1:] if "kind: MPIJob" in part)
    found: dict[str, Any] = yaml.safe_load(block)
    return found


def faults(job: dict[str, Any]) -> list[str]:
    """What MPI Operator's types have no place for, or its validation refuses."""
    spec, found = job["spec"], []
    if (job["apiVersion"], job["kind"]) != ("kubeflow.org/v2beta1", "MPIJob"):
        found.append("version")
    unknown = (spec.keys() - SPEC) | (spec["runPolicy"].keys() - RUN_POLICY)
    roles = spec["mpiReplicaSpecs"]
    for name, role in roles.items():
        unknown |= role.keys() - REPLICA
        if role["restartPolicy"] not in ("Never", "OnFailure"):
            found.append(f"restartPolicy of {name}")
        template = models.IoK8sApiCoreV1PodTemplateSpec.from_dict(role["template"])
        if template.to_dict() != role["template"] or not role["template"]["spec"]["containers"]:
            found.append(f"template of {name}")
    if roles.keys() != {"Launcher", "Worker"} or roles["Launcher"]["replicas"] != 1 or roles["Worker"]["replicas"] < 1:
        found.append("replicas")
    if spec["runPolicy"]["cleanPodPolicy"] not in ("None", "Running", "All"):
        found.append("cleanPodPolicy")
    return found + sorted(unknown)


def test_its_structure_is_that_of_v2beta1(shown: dict[str, Any]) -> None:
    assert faults(shown) == []
    arenas = deepcopy(shown)
    arenas["apiVersion"] = "kubeflow.org/v1alpha1"
    arenas["spec"]["launcherOnMaster"] = True
    assert faults(arenas) == ["version", "launcherOnMaster"]
    worker = shown["spec"]["mpiReplicaSpecs"]["Worker"]
    worker["template"]["spec"]["containers"][0]["volumeMount"] = []
    worker["restartPolicy"] = "Always"
    shown["spec"]["mpiReplicaSpecs"]["Launcher"]["replicas"] = 2
    assert faults(shown) == ["restartPolicy of Worker", "template of Worker", "replicas"]


def test_there_is_a_process_for_each_gpu(shown: dict[str, Any]) -> None:
    launcher, worker = (shown["spec"]["mpiReplicaSpecs"][name] for name in ("Launcher", "Worker"))
    (starts,), (computes,) = (role["template"]["spec"]["containers"] for role in (launcher, worker))
    gpus = int(computes["resources"]["limits"]["nvidia.com/gpu"])
    assert shown["spec"]["slotsPerWorker"] == gpus
    assert int(starts["command"][starts["command"].index("-np") + 1]) == gpus * worker["replicas"]


def test_workers_mount_as_consumers_do_where_the_dataset_is(shown: dict[str, Any]) -> None:
    roles = shown["spec"]["mpiReplicaSpecs"]
    pod = roles["Worker"]["template"]["spec"]
    assert list(pod["nodeSelector"]) == [names.node_label(NAME, "fuse")]
    assert pod["volumes"][0]["hostPath"]["path"] == names.mount_parent(NAME, "imagenet")
    mount = pod["containers"][0]["volumeMounts"][0]
    assert (mount["mountPropagation"], mount["readOnly"]) == ("HostToContainer", True)
    command = roles["Launcher"]["template"]["spec"]["containers"][0]["command"]
    assert command[-1] == f"{mount['mountPath']}/data"


def test_arenas_command_names_the_same_label_and_folder() -> None:
    page = PAGE.read_text()
    assert f"--selector={names.node_label(NAME, 'fuse')}=true" in page
    assert f"--data-dir={names.mount_parent(NAME, 'imagenet')} " in page

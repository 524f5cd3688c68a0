"""Objects of a training on nodes together: what their pods see, run, and are told."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import reader, train_pod
from fleets import IMAGENET, filesystem, fleet
from kubernetes import client

from alluxio_fuse.kubernetes import training
from alluxio_fuse.plan import plan
from alluxio_fuse.plan.intent.work import Train
from alluxio_fuse.targets import targets

ROOT = Path(__file__).parents[3]
FILES = [reader.Entry(f"train/{kind}/{number}.JPEG", 1000, None) for kind in ("cat", "dog") for number in range(3)]
SOURCES = {
    **{name: (ROOT / f"plugins/module_utils/{name}.py").read_text() for name in training.MODULES},
    **{name: (ROOT / "roles/train/files" / name).read_text() for name in ("harness.py", "train_pytorch.py")},
}


def made(
    files: list[reader.Entry] = FILES, kubernetes: dict[str, Any] | None = None, **train: Any
) -> training.Training:
    variables = {
        "alluxio_platform": "kubernetes",
        "alluxio_image": "registry.example.com/alluxio-fuse:2.9.6",
        "alluxio_datasets": [IMAGENET | {"readers": {"uid": 7, "gid": 8}}],
        "alluxio_workload": "resnet50",
        "alluxio_kubernetes": {"namespace": "data", **(kubernetes or {})},
    }
    planned = plan(fleet(2, variables, filesystems=[filesystem("/", 200)]))
    hosts = list(planned.nodes)[:2]
    (dataset,) = targets(planned, hosts[0])
    asked = training.Asked(planned, hosts, dataset, Train(image="torch:2", rounds=1, **train))
    told = {"files": train_pod.listed(files), "orders": {"gpus": train.get("gpus", 0)}, "metrics": {}}
    return training.training(asked, told, SOURCES)


def pod(found: training.Training, run: str = "1: mount") -> dict[str, Any]:
    spec: dict[str, Any] = found.jobs[run]["spec"]["template"]["spec"]
    return spec


def test_each_run_is_a_job_with_a_pod_on_each_node() -> None:
    found = made()
    assert list(found.jobs) == ["look", "1: synthetic", "1: mount"]
    for job in found.jobs.values():
        spec, template = job["spec"], job["spec"]["template"]
        assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 2, 2)
        assert spec["backoffLimit"] == 0
        (apart,) = template["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        selected = apart["labelSelector"]["matchLabels"]
        assert selected.items() <= template["metadata"]["labels"].items()
        assert list(selected.values()) == [job["metadata"]["name"]]


def test_pods_have_names_before_they_are_ready_and_meet_at_the_first() -> None:
    found = made()
    config, service = found.shared
    assert (service["spec"]["clusterIP"], service["spec"]["publishNotReadyAddresses"]) == ("None", True)
    orders = json.loads(config["data"]["orders.json"])
    for run, job in found.jobs.items():
        template = job["spec"]["template"]
        assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
        assert template["spec"]["subdomain"] == service["metadata"]["name"]
        assert orders["runs"][run]["first"] == f"{job['metadata']['name']}-0.{service['metadata']['name']}.data.svc"


def test_pods_are_who_may_read_and_see_what_consumers_see() -> None:
    spec = pod(made())
    (container,) = spec["containers"]
    security = container["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"], security["runAsNonRoot"]) == (7, 8, True)
    assert security["capabilities"] == {"drop": ["ALL"]}
    mount = container["volumeMounts"][0]
    assert (mount["mountPath"], mount["mountPropagation"]) == ("/mnt/alluxio-fuse/imagenet", "HostToContainer")
    assert spec["volumes"][0]["hostPath"]["path"] == "/mnt/alluxio-fuse/imagenet"
    by_driver = pod(made(kubernetes={"values": {"csi": {"enabled": True}}}))
    assert by_driver["volumes"][0]["csi"]["volumeAttributes"] == {"dataset": "imagenet"}


@pytest.mark.parametrize("gpus", [0, 8])
def test_the_kubernetes_client_takes_all_objects(gpus: int) -> None:
    found = made(gpus=gpus)
    for one in [*found.shared, *found.jobs.values()]:
        assert getattr(client, f"V1{one['kind']}").model_validate(one)


def test_gpus_are_asked_for_where_they_are_ordered() -> None:
    assert "limits" not in pod(made())["containers"][0]["resources"]
    assert pod(made(gpus=8))["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "8"}


def test_a_list_of_images_that_no_config_map_holds_is_refused() -> None:
    names = [hashlib.sha256(bytes([number % 256, number // 256])).hexdigest() for number in range(40_000)]
    with pytest.raises(ValueError, match=r"alluxio_train\.images: unset: .* write fewer images"):
        made([reader.Entry(f"train/{name}.JPEG", 1, None) for name in names])


def test_more_files_than_a_log_holds_are_refused() -> None:
    files = [reader.Entry(f"train/{number}.JPEG", 1, None) for number in range(60_000)]
    made(files, epochs=3)
    with pytest.raises(ValueError, match=r"alluxio_train\.images: unset: each of 2 pods would tell of 120000 files"):
        made(files, epochs=4)


def test_what_pods_get_is_all_that_their_program_imports(tmp_path: Path) -> None:
    """The files where the ConfigMap puts them, and nothing else of this collection."""
    found = made()
    (volume,) = (one for one in pod(found)["volumes"] if one["name"] == "program")
    data = found.shared[0]["data"]
    for item in volume["configMap"]["items"]:
        path = tmp_path / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data.get(item["key"], ""))
    module = pod(found)["containers"][0]["command"][3]
    command = [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; import {module}"]
    clean = [part for part in command if part]
    assert subprocess.run(clean, capture_output=True, text=True, check=False).stderr == ""

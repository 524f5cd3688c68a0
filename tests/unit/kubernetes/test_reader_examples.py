"""Pods that users can begin with: they find the dataset, as who may read it, on the nodes that have it."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import IMAGENET, filesystem, fleet

from alluxio_fuse.kubernetes.examples import examples
from alluxio_fuse.plan import plan


def made(readers: dict[str, Any] | None = None, **kubernetes: Any) -> list[dict[str, Any]]:
    variables = {
        "alluxio_platform": "kubernetes",
        "alluxio_image": "registry.example.com/alluxio-fuse:2.9.6",
        "alluxio_datasets": [IMAGENET | {"readers": readers or {}}],
        "alluxio_workload": "resnet50",
        "alluxio_kubernetes": {"namespace": "data", **kubernetes},
    }
    items: list[dict[str, Any]] = examples(plan(fleet(2, variables, filesystems=[filesystem("/", 200)])))["items"]
    return items


def spec_of(one: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = one["spec"] if one["kind"] == "Pod" else one["spec"]["template"]["spec"]
    return spec


def test_a_pod_and_a_job_wait_for_the_nodes_mount_and_ask_whose_it_is() -> None:
    pod, job = made()
    assert (pod["kind"], job["kind"]) == ("Pod", "Job")
    for spec in (spec_of(pod), spec_of(job)):
        assert spec["volumes"][0]["hostPath"]["path"] == "/mnt/alluxio-fuse/imagenet"
        assert 'test "$(cat /data/.owner)" = data-alluxio-fuse/imagenet' in spec["initContainers"][0]["command"][2]
        (mount,) = spec["containers"][0]["volumeMounts"]
        assert (mount["mountPropagation"], mount["readOnly"]) == ("HostToContainer", True)
        affinity = spec["affinity"]["nodeAffinity"]
        wanted = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert wanted == [{"matchExpressions": [{"key": "alluxio-fuse/alluxio-fuse.fuse", "operator": "Exists"}]}]
        copies = affinity["preferredDuringSchedulingIgnoredDuringExecution"][0]["preference"]["matchExpressions"]
        assert copies == [{"key": "alluxio-fuse.alluxio-fuse/imagenet", "operator": "In", "values": ["staged"]}]


@pytest.mark.parametrize(
    ("readers", "user"),
    [({}, (1000, 0)), ({"gid": 2000, "mode": "0750"}, (1000, 2000)), ({"uid": 7, "gid": 8}, (7, 8))],
)
def test_they_are_who_may_read(readers: dict[str, Any], user: tuple[int, int]) -> None:
    security = spec_of(made(readers)[0])["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"], security["runAsNonRoot"]) == (*user, True)


def test_with_the_driver_they_need_no_path() -> None:
    pod, job = made(values={"csi": {"enabled": True}})
    for one in (pod, job):
        (volume,) = spec_of(one)["volumes"]
        assert volume["csi"]["driver"] == "alluxio-fuse.data"
        assert volume["csi"]["volumeAttributes"] == {"dataset": "imagenet"}
        assert "initContainers" not in spec_of(one)
    pod, job = made(values={"csi": {"enabled": True, "claims": ["vision"]}})
    assert job["metadata"]["namespace"] == "vision"
    claim = {"claimName": "imagenet.alluxio-fuse.data", "readOnly": True}
    assert spec_of(job)["volumes"][0]["persistentVolumeClaim"] == claim


def test_nodes_that_the_user_selects_are_theirs_too() -> None:
    spec = spec_of(made(node_selector={"pool": "a"}, tolerations=[{"key": "x", "operator": "Exists"}])[0])
    wanted = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert wanted == [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}]
    assert {"key": "x", "operator": "Exists"} in spec["tolerations"]


def test_an_imported_image_is_not_pulled() -> None:
    container = spec_of(made(image={"by": "import"})[0])["containers"][0]
    assert container["imagePullPolicy"] == "Never"

"""Volumes of the CSI driver: what the chart makes of them, and what a namespace that enforces `restricted` takes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from helm import CHART, Helm, Object, RefusedError, case, pod_template
from test_render import refused_pods

DRIVER = "cache-alluxio-fuse.data"


@pytest.fixture
def objects(helm: Helm) -> dict[tuple[str, str], Object]:
    return helm.objects(case("csi"))


def example(name: str) -> Object:
    found: Object = yaml.safe_load((CHART / "examples" / f"{name}.yaml").read_text())
    return found


def test_the_plugin_is_told_every_dataset_and_which_may_be_written_to(objects: dict[Any, Object]) -> None:
    template = objects["DaemonSet", "cache-alluxio-fuse-csi"]["spec"]["template"]
    (plugin,) = template["spec"]["containers"]
    assert [one for one in plugin["args"] if one.startswith(("--dataset", "--writable"))] == [
        "--dataset=imagenet",
        "--writable=results",
    ]
    fuse = objects["DaemonSet", "cache-alluxio-fuse-fuse-imagenet"]["spec"]["template"]
    (parent,) = [one["hostPath"]["path"] for one in fuse["spec"]["volumes"] if one["name"] == "parent"]
    owner = next(one for one in fuse["spec"]["initContainers"] if one["name"] == "prepare")["args"][4]
    said = dict(one[2:].split("=", 1) for one in plugin["args"] if one.startswith("--"))
    assert f"{said['root']}/imagenet" == parent
    assert f"{said['owner']}/imagenet" == owner


def test_paths_are_the_same_in_the_plugin_and_on_the_node(objects: dict[Any, Object]) -> None:
    spec = objects["DaemonSet", "cache-alluxio-fuse-csi"]["spec"]["template"]["spec"]
    folders = {one["name"]: one["hostPath"]["path"] for one in spec["volumes"] if "hostPath" in one}
    mounts = {one["name"]: one for one in spec["containers"][0]["volumeMounts"]}
    assert {name: mounts[name]["mountPath"] for name in folders} == folders
    assert {name: one.get("mountPropagation") for name, one in mounts.items()} == {
        "root": "HostToContainer",
        "pods": "Bidirectional",
        "plugin": None,
        "registry": None,
        "tmp": None,
    }


def test_each_claim_has_a_volume_of_its_own(objects: dict[Any, Object]) -> None:
    claims = {one["metadata"]["name"]: one for (kind, _), one in objects.items() if kind == "PersistentVolumeClaim"}
    assert sorted(claims) == [f"imagenet.{DRIVER}", f"results.{DRIVER}"]
    for name, claim in claims.items():
        volume = objects["PersistentVolume", claim["spec"]["volumeName"]]["spec"]
        dataset = name.partition(".")[0]
        writable = dataset == "results"
        assert claim["metadata"]["namespace"] == "vision"
        assert volume["claimRef"] == {"namespace": "vision", "name": name}
        assert volume["csi"]["volumeAttributes"] == {"dataset": dataset}
        assert volume["csi"]["volumeHandle"] == claim["spec"]["volumeName"]
        assert volume["csi"]["readOnly"] is not writable
        modes = ["ReadWriteMany" if writable else "ReadOnlyMany"]
        assert volume["accessModes"] == claim["spec"]["accessModes"] == modes


def test_the_examples_name_what_the_chart_makes(objects: dict[Any, Object]) -> None:
    (inline,) = example("csi-pod")["spec"]["volumes"]
    assert ("CSIDriver", inline["csi"]["driver"]) in objects
    template = pod_template(example("csi-training-job"))
    assert template is not None
    claimed = template["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert ("PersistentVolumeClaim", claimed) in objects


@pytest.mark.parametrize(("name", "refused"), [("csi-pod", False), ("csi-training-job", False), ("pod", True)])
def test_a_restricted_namespace_takes_a_pod_with_a_volume_and_not_one_with_a_folder(
    cluster: list[str], name: str, refused: bool
) -> None:
    one = example(name)
    template = pod_template(one)
    assert template is not None
    template.setdefault("metadata", {})["labels"] = {"app.kubernetes.io/component": "consumer"}
    told = refused_pods(cluster, [one])
    assert bool(told) is refused, told
    assert "hostPath" in told.get("consumer", "hostPath")


def test_a_driver_of_a_name_that_is_too_long_is_refused(helm: Helm) -> None:
    with pytest.raises(RefusedError, match="is longer than 63 characters: shorten the namespace's"):
        helm.text(case("csi"), namespace="n" * 50)

"""Objects of ours beside the chart, and what is written to those of others."""

from typing import Any

import pytest

from alluxio_fuse import names
from alluxio_fuse.kubernetes import objects


def cluster(nodes: dict[str, dict[str, str]], error: str | None = None) -> dict[str, Any]:
    return {
        "error": error,
        "where": "KUBECONFIG",
        "nodes": {name: {"labels": labels} for name, labels in nodes.items()},
    }


FUSE, WORKER, MASTER = "alluxio-fuse/d.fuse", "alluxio-fuse/d.worker", "alluxio-fuse/d.master"
SET = "d.alluxio-fuse/set"
FOREIGN = {
    "kubernetes.io/hostname": "n",
    "alluxio-fuse/other.fuse": "true",
    "other-d.alluxio-fuse/set": "staged",
    "alluxio-fuse/gpu": "true",
}


@pytest.mark.parametrize(
    ("have", "wanted", "patch"),
    [
        ({}, {FUSE: "true"}, {FUSE: "true"}),
        ({FUSE: "true"}, {FUSE: "true"}, {}),
        ({FUSE: "false"}, {FUSE: "true"}, {FUSE: "true"}),
        ({FUSE: "true", WORKER: "true"}, {FUSE: "true"}, {WORKER: None}),
        ({MASTER: "true"}, {}, {MASTER: None}),
        ({SET: "part", f"{SET}-gone": "fuse"}, {SET: "staged"}, {SET: "staged", f"{SET}-gone": None}),
        ({}, {}, {}),
    ],
)
def test_only_what_differs_is_written_to_a_node(
    have: dict[str, str], wanted: dict[str, str], patch: dict[str, str | None]
) -> None:
    assert objects.label_patch(cluster({"n": {**FOREIGN, **have}}), "n", "d", wanted) == patch


def test_a_node_that_left_the_inventory_loses_its_labels_and_no_other() -> None:
    nodes = {"stays": {FUSE: "true"}, "left": {**FOREIGN, FUSE: "true", WORKER: "true"}, "never": FOREIGN}
    left = [{"name": "left", "labels": {FUSE: None, WORKER: None}}]
    assert objects.left_labelled(cluster(nodes), "d", ["stays", "planned"]) == left
    assert [one["name"] for one in objects.left_labelled(cluster(nodes), "d")] == ["left", "stays"]


def test_a_cluster_that_was_not_seen_is_not_one_without_labels() -> None:
    with pytest.raises(ValueError, match="connection refused"):
        objects.left_labelled(cluster({}, "connection refused"), "d")
    with pytest.raises(ValueError, match="connection refused"):
        objects.label_patch(cluster({}, "connection refused"), "n", "d", {})


def test_keys_are_only_in_secrets() -> None:
    (secret,) = objects.secrets("d", "ns", {"a": {"access_key": "k", "secret_key": "s"}})
    assert secret["metadata"]["name"] == "d-a"
    assert secret["data"] == {"access_key": "aw==", "secret_key": "cw=="}
    (secret,) = objects.secrets("d", "ns", {"a": {"access_key": "k", "secret_key": "s", "security_token": "t"}})
    assert list(secret["data"].values()) == ["aw==", "cw==", "dA=="]
    assert objects.secret_names("d", {"b": "mine"}, ["a"]) == {"a": "d-a", "b": "mine"}


def test_a_pod_that_only_proves_the_image_sees_nothing_of_its_node() -> None:
    pod = objects.access_pod("n", deployment="d", into="ns", image="i")
    assert "volumes" not in pod["spec"]
    assert pod["spec"]["containers"][0]["command"] == ["true"]


def test_the_pod_that_lists_claims_is_the_services_user_and_changes_nothing() -> None:
    claims = {"/sources/a": "nfs/train", "/sources/b": "nfs"}
    spec = objects.sources_pod(["n", "m"], deployment="d", into="ns", image="i", claims=claims)["spec"]
    assert (spec["securityContext"]["runAsUser"], "fsGroup" in spec["securityContext"]) == (1000, False)
    assert [one["persistentVolumeClaim"] for one in spec["volumes"][1:]] == [{"claimName": "nfs", "readOnly": True}] * 2
    seen = spec["containers"][0]["volumeMounts"][1:]
    assert [(one["mountPath"], one.get("subPath"), one["readOnly"]) for one in seen] == [
        ("/sources/a", "train", True),
        ("/sources/b", None, True),
    ]
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchFields"][0]["values"] for term in terms] == [["n"], ["m"]]


FOLDERS = {
    "n": [{"path": "/mnt/nvme", "read_only": False}, {"path": "/data/set", "read_only": True}],
    "m": [{"path": "/mnt/other", "read_only": False}],
}


def test_a_pod_that_stands_in_for_a_node_sees_mounts_and_media() -> None:
    pod = objects.access_pod("n", deployment="d", into="ns", image="i", folders=FOLDERS, stays=True)
    mounted = {one["mountPath"]: one.get("readOnly") for one in pod["spec"]["containers"][0]["volumeMounts"]}
    assert mounted == {"/mnt/d": None, "/var/lib/d": None, "/mnt/nvme": None, "/data/set": True}
    assert not pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"]


def test_a_name_that_is_too_long_keeps_what_tells_it_from_others() -> None:
    assert names.fitting("short", 10) == "short"
    made = {names.fitting(f"{'long-' * 12}{number}", 52) for number in range(10)}
    assert len(made) == 10
    assert {len(name) <= 52 and name.startswith("long-long-") for name in made} == {True}

"""Pods that read as consumers, and how their outcome is judged."""

import json
from typing import Any

import pytest

from alluxio_fuse.kubernetes import consumers, objects

RIGHT = json.dumps({"verified": {"compared": 3, "digested": 3, "wrong": 0}})


def plan(mode: str = "0755", uid: int = 0) -> dict[str, Any]:
    dataset = {"name": "a", "files": 10, "bytes": 1000, "readers": {"uid": uid, "gid": 0, "mode": mode}}
    fleet = {"datasets": [dataset], "image": "r/i:1", "kubernetes": {"pull_secrets": ["hub"]}}
    return {"name": "d", "fleet": {key: {"amount": amount} for key, amount in fleet.items()}}


def result(uid: int, log: str, phase: str = "Succeeded") -> dict[str, Any]:
    annotations = {"alluxio-fuse/dataset": "a", "alluxio-fuse/uid": str(uid)}
    return {"name": f"p-{uid}", "node": "n", "annotations": annotations, "phase": phase, "log": log}


def test_every_host_gets_a_reader_and_a_stranger_without_rights() -> None:
    pods = consumers.consumer_pods(plan(uid=1000), "ns", ["n1", "n2"])
    assert len(pods) == 4
    contexts = [pod["spec"]["containers"][0]["securityContext"] for pod in pods]
    assert {context["runAsUser"] for context in contexts} == {1000, consumers.STRANGER}
    assert all(context["capabilities"] == {"drop": ["ALL"]} for context in contexts)
    assert all(context["runAsNonRoot"] for context in contexts)
    assert all(pod["spec"]["imagePullSecrets"] == [{"name": "hub"}] for pod in pods)


@pytest.mark.parametrize(
    ("mode", "uid", "log", "phase", "right"),
    [
        ("0755", 65533, RIGHT, "Succeeded", True),
        ("0750", 65533, RIGHT, "Succeeded", False),
        ("0750", 65533, "PermissionError: [Errno 13] Permission denied: '/data/data'", "Failed", True),
        ("0750", 65533, "ModuleNotFoundError", "Failed", False),
        ("0755", 0, "OSError: Transport endpoint is not connected", "Failed", False),
        ("0755", 0, RIGHT, "Failed", False),
        ("0700", 0, RIGHT, "Succeeded", True),
    ],
)
def test_outcomes(mode: str, uid: int, log: str, phase: str, right: bool) -> None:
    (line,) = consumers.consumer_lines(plan(mode), [result(uid, log, phase)])
    assert line["right"] is right, line["text"]


def test_a_manifest_is_cut_to_files_with_digests() -> None:
    rows = [{"path": str(n), "size": 10 - n, "digest": "x" if n % 2 else None} for n in range(10)]
    text = "\n".join(json.dumps(row) for row in [{"header": True}, *rows])
    header, *kept = consumers.manifest_part(text, files=2).splitlines()
    assert json.loads(header) == {"header": True}
    assert [json.loads(row)["path"] for row in kept] == ["9", "7"]


def test_keys_are_only_in_secrets() -> None:
    (secret,) = objects.secrets("d", "ns", {"a": {"access_key": "k", "secret_key": "s"}})
    assert secret["metadata"]["name"] == "d-a"
    assert secret["data"] == {"access_key": "aw==", "secret_key": "cw=="}
    assert objects.secret_names("d", {"b": "mine"}, ["a"]) == {"a": "d-a", "b": "mine"}


def test_a_pod_that_only_proves_the_image_sees_nothing_of_its_node() -> None:
    pod = objects.access_pod("n", deployment="d", into="ns", image="i")
    assert "volumes" not in pod["spec"]
    assert pod["spec"]["containers"][0]["command"] == ["true"]


def test_a_pod_that_stands_in_for_a_node_sees_mounts_and_media() -> None:
    pod = objects.access_pod(
        "n", deployment="d", into="ns", image="i", folders={"n": ["/mnt/nvme"], "m": ["/mnt/other"]}, stays=True
    )
    assert {one["mountPath"] for one in pod["spec"]["containers"][0]["volumeMounts"]} == {
        "/mnt/d",
        "/var/lib/d",
        "/mnt/nvme",
    }
    assert not pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"]

"""Claims as sources: what the cluster says of them, and what a description may say."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import IMAGENET, filesystem, fleet, local

from alluxio_fuse.chart.values import chart_values
from alluxio_fuse.kubernetes.claims import claim_findings
from alluxio_fuse.plan import Plan, plan
from alluxio_fuse.plan.pvc import Claim, claim_of, claims, is_claim
from alluxio_fuse.plan.refusals import Refused
from alluxio_fuse.preflight import questions
from alluxio_fuse.targets import targets
from alluxio_fuse.views.kubernetes import release

CLUSTER = {
    "namespace": "data",
    "kubeconfig": "",
    "context": "",
    "pull_secrets": [],
    "secrets": {},
    "claims": {"/sources/imagenet": "nfs/train"},
}


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("pvc://nfs", Claim("nfs", "")),
        ("pvc://nfs/", Claim("nfs", "")),
        ("pvc://nfs-1.x/a/b c", Claim("nfs-1.x", "a/b c")),
        ("s3://nfs/a", None),
    ],
)
def test_a_source_names_a_claim(source: str, claim: Claim | None) -> None:
    assert claim_of(source) == claim
    assert is_claim(source) == (claim is not None)


@pytest.mark.parametrize(
    "source", ["pvc://", "pvc:///a", "pvc://Nfs", "pvc://nfs/../b", "pvc://nfs/./b", "pvc://nfs//b", "pvc://nfs/a\nb"]
)
def test_what_no_pod_can_name_is_no_claim(source: str) -> None:
    assert not is_claim(source)


@pytest.mark.parametrize(
    ("found", "reason", "remedy"),
    [
        (None, "has no such PersistentVolumeClaim", "make it there"),
        (
            {"phase": "Pending", "modes": ["ReadOnlyMany"]},
            "it is Pending, not Bound",
            "kubectl -n data describe pvc nfs",
        ),
        ({"phase": "Bound", "modes": ["ReadWriteOnce"]}, "it is ReadWriteOnce: pods of one node", "ReadOnlyMany"),
        ({"phase": "Bound", "modes": ["ReadWriteOncePod"]}, "it is ReadWriteOncePod", "snapshot"),
    ],
)
def test_a_claim_that_not_every_node_can_read_is_refused(found: Any, reason: str, remedy: str) -> None:
    (said,) = claim_findings({"nfs": found}, "data")
    assert (said.path, said.value) == ("alluxio_datasets[].source", "pvc://nfs")
    assert reason in said.reason
    assert remedy in said.remedy


@pytest.mark.parametrize("mode", ["ReadOnlyMany", "ReadWriteMany"])
def test_a_claim_of_many_is_not_in_the_way(mode: str) -> None:
    assert list(claim_findings({"nfs": {"phase": "Bound", "modes": ["ReadWriteOnce", mode]}}, "data")) == []


def planned(**said: Any) -> Plan:
    variables = {
        "alluxio_platform": "kubernetes",
        "alluxio_image": "registry.example.com/alluxio-fuse:2.9.6",
        "alluxio_datasets": [IMAGENET | {"source": "pvc://nfs/train"}],
        "alluxio_workload": "resnet50",
        **said,
    }
    return plan(fleet(2, variables, filesystems=[filesystem("/", 200)]))


def test_pods_mount_the_claim_and_nodes_see_nothing_of_it() -> None:
    made = planned()
    (dataset,) = chart_values(made)["datasets"]
    assert dataset["volume"] == {"claim": "nfs", "subPath": "train"}
    assert "source" not in dataset
    assert made.datasets[0].folder == "/sources/imagenet"
    for seen_by in (made, planned(alluxio_kubernetes={"node_access": False})):
        (target,) = targets(seen_by, "node-0")
        assert target["folder"] == ""


@pytest.mark.parametrize(
    ("variables", "variable", "reason"),
    [
        ({"alluxio_datasets": [IMAGENET | {"source": "pvc://nfs", "writable": True}]}, "[0].writable", "read-only"),
        ({"alluxio_datasets": [IMAGENET | {"source": "pvc://Nfs"}]}, "[0].source", "not a claim"),
        ({"alluxio_kubernetes": {"image": {"by": "import"}}}, "", "a pod lists what pods mount"),
        (
            {"alluxio_datasets": [IMAGENET | {"source": "pvc://nfs", "marker": {"file": "a", "sha256": "0" * 64}}]},
            "[0]",
            "a marker is given",
        ),
    ],
)
def test_a_description(variables: dict[str, Any], variable: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        planned(**variables)
    where = f"alluxio_datasets{variable}" if variable else "alluxio_kubernetes.image.by"
    found = next(one for one in refused.value.findings if one.path.startswith(where))
    assert reason in found.reason


def test_a_platform_without_pods_has_no_claims() -> None:
    with pytest.raises(Refused) as refused:
        plan(local(alluxio_datasets=[{"name": "set", "source": "pvc://nfs", "files": 10, "bytes": "1Gi"}]))
    (found,) = refused.value.findings
    assert "platform containers runs none" in found.reason
    assert "file:///<mount point>" in found.remedy


def test_what_lists_a_claim_is_a_pod_of_its_own() -> None:
    said: dict[str, Any] = {"deployment": "d", "image": "i", "hosts": ["n"], "inventory": ["n", "m"]}
    (lists,) = release(CLUSTER | {"node_access": True}, **said).access_pods
    assert lists["metadata"]["name"] == "d-sources"
    access, lists = release(CLUSTER | {"node_access": False}, **said).access_pods
    assert access["metadata"]["name"] == "d-access-n"
    assert "/sources/imagenet" in [one["mountPath"] for one in access["spec"]["containers"][0]["volumeMounts"]]
    assert release(CLUSTER | {"node_access": True, "claims": {}}, **said).access_pods == []


def test_a_wrong_claim_is_told_by_the_plan_and_mounted_by_nobody() -> None:
    wrong = {"alluxio_platform": "kubernetes", "alluxio_datasets": [{"name": "a", "source": "pvc://../etc"}]}
    assert questions(wrong)["claimed"] == []
    right = {"alluxio_platform": "kubernetes", "alluxio_datasets": [{"name": "a", "source": "pvc://nfs/x/"}]}
    (claimed,) = questions(right)["claimed"]
    assert claimed == {"name": "a", "source": "pvc://nfs/x", "folder": "/sources/a", "listed_by": "pod"}
    assert questions(right)["kubernetes"]["claims"] == {"/sources/a": "nfs/x"} == claims({"a": "pvc://nfs/x/"})

"""Facts of Node objects, and what speaks against a cluster."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.alluxio.fuse.plugins.modules import cluster_facts
from fleets import facts, host
from kubernetes.client import ApiClient, ApiException

from alluxio_fuse import preflight
from alluxio_fuse.kubernetes.facts import quantity, with_node
from alluxio_fuse.kubernetes.findings import cluster_findings
from alluxio_fuse.plan import plan

GIB = 2**30
DATASET = {"name": "a", "source": "s3://bucket/a", "files": 1024, "bytes": 144_000_000}


def api_error(status: int, body: str | None) -> ApiException:
    error = ApiException(status=status)
    error.body = body
    return error


def node(**more: Any) -> dict[str, Any]:
    allocatable = {"memory": "8388608Ki", "cpu": "3920m", "nvidia.com/gpu": "4"}
    labels = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.memory": "15360"}
    return {"ready": True, "why": "", "labels": labels, "allocatable": allocatable, "images": [], **more}


def cluster(**more: Any) -> dict[str, Any]:
    return {
        "python": [3, 14],
        "programs": {"helm": "4.1.4", "kubectl": "1.34.5"},
        "where": "KUBECONFIG, current context",
        "error": None,
        "version": [1, 34],
        "nodes": {"gpu-1": node()},
        "namespace": {"name": "data", "exists": True, "labels": {}},
        "release": "alluxio-fuse",
        "external": False,
        "installed": False,
        "applied": None,
        "claims": {},
        "refused": [],
        **more,
    }


def said(**more: Any) -> list[str]:
    return [str(found) for found in cluster_findings(cluster(**more), ["gpu-1"])]


@pytest.mark.parametrize(
    ("text", "amount"), [("24581684Ki", 24581684 * 1024), ("2G", 2 * 10**9), ("1500m", 1), ("7", 7), ("1Ti", 2**40)]
)
def test_quantities(text: str, amount: int) -> None:
    assert quantity(text) == amount


@pytest.mark.parametrize("text", ["", "1.5Gi", "Ki", "1KI"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        quantity(text)


def test_a_node_bounds_memory_and_processors_and_names_its_gpus() -> None:
    known = with_node(facts(memory=64, cpus=16), node())
    assert known["memory"]["limit"] == 8 * GIB
    assert known["cpus"] == 3.92
    assert [(gpu["model"], gpu["memory"]) for gpu in known["gpus"]] == [("Tesla-T4", 15 * GIB)] * 4


@pytest.mark.parametrize("labels", [{}, {"nvidia.com/gpu.product": ""}, {"nvidia.com/gpu.memory": "15360"}])
def test_gpus_without_a_name_are_counted_and_cannot_lower_the_gate(labels: dict[str, str]) -> None:
    offers = {"memory": "64Gi", "cpu": "16", "nvidia.com/gpu": "4"}
    known = with_node(facts(memory=64, cpus=16), node(labels=labels, allocatable=offers))
    assert [gpu["model"] for gpu in known["gpus"]] == ["unknown"] * 4
    said = {"alluxio_datasets": [DATASET], "alluxio_workload": "resnet50"}
    made = plan({"gpu-1": {**host(said), "facts": known}})
    gate = made.nodes["gpu-1"]["node"]["gate"]
    assert gate.amount.status == "unknown"
    assert "alluxio_gpus" in gate.why
    assert "CANNOT TELL" in gate.why
    assert any("alluxio_gpus" in str(warning) for warning in made.warnings)


@pytest.mark.parametrize(
    ("product", "offered", "found"),
    [
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", {"nvidia.com/gpu": "14"}, {True: 2}),
        ("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb", {"nvidia.com/gpu": "2"}, {True: 1}),
        ("NVIDIA-A100-SXM4-40GB-MIG-INVALID", {"nvidia.com/gpu": "0"}, {}),
        ("NVIDIA-A30-MIG-1g.6gb", {"nvidia.com/gpu": "8"}, {True: 2}),
        (
            "NVIDIA-A100-SXM4-40GB",
            {"nvidia.com/gpu": "6", "nvidia.com/mig-1g.5gb": "4", "nvidia.com/mig-3g.20gb": "3"},
            {False: 6, True: 2},
        ),
    ],
)
def test_slices_count_as_the_gpus_that_they_are_cut_from(
    product: str, offered: dict[str, str], found: dict[bool, int]
) -> None:
    offers = {"memory": "64Gi", "cpu": "16", **offered}
    gpus = with_node(facts(memory=64), node(labels={"nvidia.com/gpu.product": product}, allocatable=offers))["gpus"]
    assert Counter(gpu["mig"] for gpu in gpus) == found
    assert {gpu["model"] for gpu in gpus} <= {product.partition("-MIG-")[0]}


def test_a_node_without_gpus_has_none() -> None:
    bare = node(allocatable={"memory": "8388608Ki", "cpu": "4", "nvidia.com/gpu": "0"}, labels={})
    assert with_node(facts(), bare)["gpus"] == []


def test_gpus_seen_on_the_node_itself_count() -> None:
    assert len(with_node(facts(gpus=("NVIDIA H100",)), node())["gpus"]) == 1


def test_a_pod_does_not_tell_whether_its_node_has_fuse() -> None:
    blind = facts(fuse={**facts()["fuse"], "device": False})
    assert with_node(blind, node())["fuse"]["device"] is False
    assert with_node(blind, node(), node_access=False)["fuse"]["device"] is True


def test_a_sound_cluster() -> None:
    assert said() == []
    assert said(python=[3, 11], programs={"kubectl": "1.34.5"}) == []  # without Helm, any Python will do


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"python": [3, 11]}, ("3.11", "make setup-kubernetes")),
        ({"programs": {"helm": None, "kubectl": "1"}}, ("helm on the controller", "make setup-kubernetes")),
        ({"error": "connection refused"}, ("connection refused", "alluxio_kubernetes.kubeconfig")),
        ({"version": [1, 24]}, ("1.24", "1.25")),
        ({"nodes": {"other": node()}}, ("gpu-1: host", "no node of this name", "other")),
        ({"nodes": {"gpu-1": node(ready=False, why="kubelet stopped")}}, ("NotReady", "kubelet stopped")),
        (
            {"namespace": {"name": "d", "exists": True, "labels": {"pod-security.kubernetes.io/enforce": "baseline"}}},
            ("baseline", "privileged"),
        ),
        ({"refused": ["policy no-privileged: denied"]}, ("policy no-privileged", "exempted")),
    ],
)
def test_each_fault_is_named_with_a_way_out(wrong: dict[str, Any], words: tuple[str, ...]) -> None:
    (text,) = said(**wrong)
    for word in words:
        assert word in text


NEW, THERE = {"name": "d", "exists": False, "labels": {}}, {"name": "d", "exists": True, "labels": {}}
BASELINE = {**THERE, "labels": {"pod-security.kubernetes.io/enforce": "baseline"}}
SECURITY = 'pods "alluxio-fuse-dry-run" is forbidden: violates PodSecurity "baseline:latest": privileged'
RIGHTS = 'pods is forbidden: User "bob" cannot create resource "pods" in API group "" in the namespace "d"'
POLICY = 'admission webhook "validate.kyverno.svc" denied the request: no privileged pods'


@pytest.mark.parametrize(
    ("namespace", "message", "words"),
    [
        (THERE, SECURITY, ("violates PodSecurity", "enforce=privileged")),  # the cluster's own default
        (BASELINE, SECURITY, ("is baseline",)),
        (THERE, RIGHTS, ("bob", "RoleBinding")),
        (THERE, POLICY, ("kyverno", "exempted")),
        (NEW, POLICY, ("kyverno", "exempted")),
    ],
)
def test_each_refusal_has_its_own_way_out(namespace: dict[str, Any], message: str, words: tuple[str, ...]) -> None:
    (text,) = said(namespace=namespace, refused=[message])
    for word in words:
        assert word in text


@pytest.mark.parametrize("message", [SECURITY, RIGHTS.replace('"d"', '"default"')])
def test_what_holds_in_default_does_not_hold_in_a_namespace_that_we_make(message: str) -> None:
    assert said(namespace=NEW, refused=[message]) == []


OLD_WAIT = "until grep -q ' /data/data .* - fuse[^ ]* alluxio' /proc/self/mountinfo; do sleep 2; done"
EXAMPLE = Path(__file__).parents[3] / "charts/alluxio-fuse/examples/pod.yaml"


def reading(name: str, wait: str = "", **labels: str) -> dict[str, Any]:
    """The chart's example, maybe with another wait."""
    pod: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
    pod["metadata"] = {"name": name, "namespace": "team", "labels": labels}
    if wait:
        pod["spec"]["initContainers"][0]["command"] = ["sh", "-c", wait]
    return pod


def test_pods_that_wait_for_a_fuse_mount_are_named_where_a_copy_may_be() -> None:
    pods = [reading("new"), reading("old", OLD_WAIT), reading("old-too", "findmnt -t fuse.alluxio-fuse /data/data")]
    pods += [
        reading("ours", OLD_WAIT, **{"app.kubernetes.io/instance": "cache-alluxio-fuse"}),
        {**pods[0], "spec": {"containers": []}},
    ]
    pages = {None: (pods[:2], "next"), "next": (pods[2:], "")}

    def page(limit: int, _continue: str | None, _request_timeout: int) -> Any:
        items, more = pages[_continue]
        text = json.dumps({"metadata": {"continue": more}, "items": items})
        return ApiClient().deserialize(text, "V1PodList", "application/json")

    core = SimpleNamespace(list_pod_for_all_namespaces=page)
    staged = "/mnt/data/cache-alluxio-fuse/imagenet"
    said = {"release": "cache-alluxio-fuse", "staged": [staged]}
    assert cluster_facts.waiting(core, said) == ["team/old", "team/old-too"]
    assert cluster_facts.waiting(core, said | {"staged": [f"{staged}-2"]}) == []
    assert cluster_facts.waiting(None, said | {"staged": []}) == []


def test_who_may_not_list_pods_is_told_of_none() -> None:
    def refused(**_: Any) -> None:
        raise api_error(403, None)

    core = SimpleNamespace(list_pod_for_all_namespaces=refused)
    assert cluster_facts.waiting(core, {"release": "a", "staged": ["/mnt/a/b"]}) == []


def test_folders_of_datasets_that_may_be_staged_are_asked_for() -> None:
    datasets = [{"name": f"set-{stage}", "stage": stage} for stage in ("auto", "require", "off", False)]
    asked = preflight.questions({"alluxio_platform": "kubernetes", "alluxio_datasets": [*datasets, {"name": "plain"}]})
    assert asked["kubernetes"]["staged"] == ["/mnt/alluxio-fuse/set-auto", "/mnt/alluxio-fuse/set-require"]


def test_the_level_of_a_namespace_that_is_not_there_yet_is_ours_to_set() -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    assert said(namespace={"name": "d", "exists": False, "labels": labels}) == []


FORBIDDEN = '{"kind": "Status", "message": "nodes is forbidden: User \\"bob\\" cannot list", "code": 403}'


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (api_error(403, FORBIDDEN), 'nodes is forbidden: User "bob" cannot list'),
        (api_error(502, "<html>bad gateway</html>"), "(502)"),
        (api_error(500, None), "(500)"),
        (api_error(500, "[]"), "(500)"),
        (OSError("no such file\nsecond line"), "no such file"),
        (ValueError(), "ValueError"),
    ],
)
def test_what_the_api_server_said_is_told(error: Exception, words: str) -> None:
    assert cluster_facts.words(error) == words

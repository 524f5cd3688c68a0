"""What a pod that removes the start-up taint may change, asked of a real API server with the pod's own token."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import requests
from helm import CHART, Helm, Object, RefusedError, case, pod_template
from test_render import apply

KEY = "alluxio-fuse/mount-not-ready"
NAME = "cache-alluxio-fuse-startup-taint"
OTHERS = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
OURS = {"key": KEY, "effect": "NoSchedule"}

Patch = list[dict[str, Any]]


class Nodes:
    """Nodes of an API server, each with a pod of startup-taint that has a token."""

    def __init__(self, kubectl: list[str]) -> None:
        self.kubectl = kubectl
        self.server = self.ask("config", "view", "--output=jsonpath={.clusters[0].cluster.server}")
        self.authority = Path(kubectl[1].partition("=")[2]).parent / "certificates" / "apiserver.crt"
        self.tokens: dict[str, str] = {}

    def ask(self, *arguments: str, given: Object | None = None) -> str:
        """kubectl, as administrator."""
        text = json.dumps(given) if given else None
        done = subprocess.run([*self.kubectl, *arguments], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def add(self, name: str, taints: Patch, template: Object) -> None:
        """A node with these taints, and the token of a pod on it."""
        about = {"name": name, "labels": {"there": "yes"}, "annotations": {"there": "yes"}}
        self.ask("create", "--filename=-", given={"apiVersion": "v1", "kind": "Node", "metadata": about})
        self.ask("patch", "node", name, "--type=merge", f"--patch={json.dumps({'spec': {'taints': taints}})}")
        spec = {key: value for key, value in template["spec"].items() if key != "priorityClassName"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "data"}}
        self.ask("create", "--filename=-", given={**pod, "spec": {**spec, "nodeName": name}})
        self.tokens[name] = self.token("--bound-object-kind=Pod", f"--bound-object-name={name}")

    def token(self, *bound: str) -> str:
        """A token of the service account, as the kubelet asks for it."""
        return self.ask("create", "token", NAME, "--namespace=data", *bound).strip()

    def patch(self, token: str, node: str, patch: Patch, *, keep: bool = False) -> tuple[int, str]:
        """Patches a node as files/startup-taint.sh does; the status, and what the API server says."""
        answer = requests.patch(
            f"{self.server}/api/v1/nodes/{node}",
            params={"fieldManager": "alluxio-fuse", **({} if keep else {"dryRun": "All"})},
            data=json.dumps(patch),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json-patch+json"},
            verify=str(self.authority),
            timeout=30,
        )
        return answer.status_code, answer.json().get("message", "")

    def taints(self, node: str) -> list[str]:
        """Keys of a node's taints."""
        spec = json.loads(self.ask("get", "node", node, "--output=json"))["spec"]
        return [taint["key"] for taint in spec.get("taints", [])]


@pytest.fixture(scope="module")
def nodes(tools: Path, cluster: list[str], tmp_path_factory: pytest.TempPathFactory) -> Nodes:
    """Two nodes with the taint, and all that the chart makes for the rights of its pods."""
    objects = Helm(tools / "helm", tmp_path_factory.mktemp("helm")).objects(case("autoscaling"))
    template = pod_template(objects["DaemonSet", NAME])
    assert template is not None
    apply(cluster, [one for (kind, name), one in objects.items() if name.endswith(NAME) and kind != "DaemonSet"])
    made = Nodes(cluster)
    made.add("own", [OTHERS, OURS], template)
    made.add("other", [OURS], template)
    deadline = time.monotonic() + 60
    loose = made.token()
    while time.monotonic() < deadline and made.patch(loose, "own", removal(1))[0] == 200:
        time.sleep(0.5)  # the API server learns of a policy a moment after it is there
    return made


def removal(index: int) -> Patch:
    """What files/startup-taint.sh asks for."""
    path = f"/spec/taints/{index}"
    return [{"op": "test", "path": f"{path}/key", "value": KEY}, {"op": "remove", "path": path}]


def add(path: str, value: Any) -> Patch:
    return [{"op": "add", "path": path, "value": value}]


@pytest.mark.parametrize(
    "patch",
    [
        add("/metadata/labels/node-role.kubernetes.io~1control-plane", ""),
        add("/metadata/annotations/note", "x"),
        add("/metadata/finalizers", ["example.com/hold"]),
        [{"op": "remove", "path": "/metadata/labels/there"}],
        add("/spec/unschedulable", True),
        add("/spec/providerID", "x://y"),
        add("/spec/taints/-", {"key": "a", "effect": "NoExecute"}),
        add("/spec/taints/-", {"key": KEY, "effect": "NoExecute"}),
        add("/spec/taints/1/value", "x"),
        [{"op": "remove", "path": "/spec/taints/0"}],
        [{"op": "remove", "path": "/spec/taints"}],
        [*removal(1), *add("/spec/unschedulable", True)],
    ],
    ids=lambda patch: " and ".join(f"{one['op']} {one['path']}" for one in patch),
)
def test_a_pod_changes_nothing_else_of_its_own_node(nodes: Nodes, patch: Patch) -> None:
    status, said = nodes.patch(nodes.tokens["own"], "own", patch)
    assert (status, "startup-taint may" in said) == (403, True), said or "it was changed"


def test_a_pod_changes_no_other_node(nodes: Nodes) -> None:
    status, said = nodes.patch(nodes.tokens["own"], "other", removal(0))
    assert (status, "may patch the node that it runs on" in said) == (403, True), said or "it was changed"


def test_a_token_that_belongs_to_no_pod_changes_no_node(nodes: Nodes) -> None:
    assert [nodes.patch(nodes.token(), *what)[0] for what in (("own", removal(1)), ("other", removal(0)))] == [403, 403]


def test_a_pod_removes_the_taint_of_its_own_node(nodes: Nodes) -> None:
    assert nodes.patch(nodes.tokens["own"], "own", removal(1), keep=True) == (200, "")
    assert nodes.patch(nodes.tokens["other"], "other", removal(0), keep=True) == (200, "")
    assert (nodes.taints("own"), nodes.taints("other")) == ([OTHERS["key"]], [])


def test_others_change_nodes_as_before(nodes: Nodes) -> None:
    nodes.ask("label", "node", "other", "pool=gpu")
    nodes.ask("cordon", "other")


def test_a_cluster_that_cannot_keep_a_pod_to_its_node_is_refused(helm: Helm) -> None:
    render = ("template", "cache", str(CHART), "--kube-version")
    taint = ("--set", "fuse.startupTaint.enabled=true")
    words = (
        "Kubernetes 1.29 cannot keep each to its own node, as 1.30 and later do: write fuse.startupTaint.enabled false"
    )
    with pytest.raises(RefusedError, match=words):
        helm.run(*render, "1.29.0", *taint)
    assert "ValidatingAdmissionPolicyBinding" in helm.run(*render, "1.30.0", *taint)
    assert "kind: ValidatingAdmissionPolicy" not in helm.run(*render, "1.29.0")

"""The release as other tools apply it: the role's own tasks, a real API server, and Helm."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import DEPLOYER
from fleets import fleet
from helm import CHART, ROOT, Helm
from test_plan import VARIABLES
from test_render import apply

from alluxio_fuse.plan import Plan, plan
from alluxio_fuse.plan.views.deployment import deployment

NAME, NAMESPACE = "alluxio-fuse", "data"
RIGHTS = list(yaml.safe_load_all((ROOT / "roles/platform_kubernetes/files/rbac.yaml").read_text()))
Play = Callable[..., subprocess.CompletedProcess[str]]


def planned(**further: Any) -> Plan:
    """Of two nodes, with further values of the chart."""
    said = {**VARIABLES, "alluxio_kubernetes": {"values": further}}
    return plan(fleet(2, said, memory=512, cpus=64, disk=2000, gpus=("V100",) * 8))


@pytest.fixture
def play(cluster: list[str], tools: Path, tmp_path: Path) -> Play:
    """Runs entry points of role `platform_kubernetes` for a plan of two nodes, which the API server has, too."""
    made = planned()
    for number, host in enumerate(made.nodes):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": host}}
        address = [{"type": "InternalIP", "address": f"10.0.0.{number + 1}"}]
        apply(cluster, [node])
        patch = json.dumps({"status": {"addresses": address}})
        subprocess.run([*cluster, "patch", "node", host, "--subresource=status", "-p", patch], check=True)
    facts: dict[str, Any] = {
        "plan_document": made.dump(),
        "plan_deployment": deployment(made, "node-1"),
        "plan_run_dir": str(tmp_path),
        "alluxio_environment": "staging",
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        "alluxio_credentials": {"imagenet": {"access_key": "a", "secret_key": "b"}},
    }
    facts["plan_deployment"]["kubernetes"] |= {
        "kubeconfig": cluster[1].partition("=")[2],
        "context": "tests",
        "namespace": NAMESPACE,
    }
    hosts = {"gpu_nodes": {"hosts": dict.fromkeys(made.nodes)}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"vars": facts, "children": hosts}}))

    def run(*verbs: str, check: bool = False, limit: str = "", further: Any = None, **kubernetes: Any) -> Any:
        about = facts["plan_deployment"]
        said = {"plan_deployment": {**about, "verbs": verbs, "kubernetes": {**about["kubernetes"], **kubernetes}}}
        if further:
            said["plan_document"] = planned(**further).dump()
        task = {"ansible.builtin.include_tasks": str(ROOT / "playbooks/tasks/platform.yml")}
        tasks = [{**task, "vars": {"platform_verb": verb}} for verb in verbs]
        book = tmp_path / "play.yml"
        book.write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
        command = [ROOT / ".venv/bin/ansible-playbook", "-i", tmp_path / "hosts.yml", "-c", "local", book]
        command += [
            "-e",
            json.dumps(said),
            *(["--check", "--diff"] if check else []),
            *(["--limit", limit] if limit else []),
        ]
        env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(tmp_path)}
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=env)

    return run


@pytest.fixture
def values(play: Play, tmp_path: Path) -> Path:
    """What playbooks/plan.yml writes for other tools."""
    done = play("values")
    assert done.returncode == 0, done.stdout
    assert f"--values {tmp_path}/values.yaml" in done.stdout
    return tmp_path / "values.yaml"


def test_what_the_chart_refuses_is_known_with_the_plan(play: Play, helm: Helm, tmp_path: Path) -> None:
    """Prometheus, that nothing lets in; then it and the checks of the playbooks may read counters."""
    monitored: dict[str, Any] = {"monitoring": {"podMonitor": {"enabled": True}}}
    refused = play("values", further=monitored)
    assert refused.returncode == 2
    assert "networkPolicy.metrics lets nobody in: name Prometheus there" in " ".join(refused.stdout.split())
    prometheus = {"podSelector": {"matchLabels": {"app": "prometheus"}}}
    done = play("values", further={**monitored, "networkPolicy": {"metrics": [prometheus]}})
    assert done.returncode == 0, done.stdout
    policy = helm.objects(tmp_path / "values.yaml", release=NAME)["NetworkPolicy", f"{NAME}-fuse"]
    (rule,) = policy["spec"]["ingress"]
    assert rule["from"][0] == prometheus
    assert {"ipBlock": {"cidr": "10.0.0.1/32"}} in rule["from"]


@pytest.fixture
def install(helm: Helm, cluster: list[str]) -> Iterator[Callable[..., None]]:
    """Installs or upgrades the release by Helm alone."""
    where = ("--namespace", NAMESPACE, "--kubeconfig", cluster[1].partition("=")[2])

    def by_helm(values: Path, *more: str) -> None:
        helm.run("upgrade", "--install", NAME, str(CHART), *where, "--values", str(values), *more)

    yield by_helm
    helm.run("uninstall", NAME, *where)


def test_what_helm_installs_from_the_written_values_is_the_plan(
    play: Play, values: Path, install: Callable[..., None]
) -> None:
    """The role compares with what it would install itself: the same values, the same chart."""
    assert {"ipBlock": {"cidr": "10.0.0.1/32"}} in yaml.safe_load(values.read_text())["networkPolicy"]["checks"]
    install(values)
    done = play("values", "owner", "external", check=True)
    assert done.returncode == 0, done.stdout
    assert "changed=0" in done.stdout
    assert ", not " not in done.stdout

    install(values, "--set", "master.terminationGracePeriodSeconds=7", "--set", "datasets[1].name=other")
    done = play("values", "external", check=True)
    for line in (
        "StatefulSet alluxio-fuse-master: spec.template.spec.terminationGracePeriodSeconds: 7, not 60",
        "DaemonSet alluxio-fuse-fuse-clicks: gone, not there",
        "DaemonSet alluxio-fuse-fuse-other: there, not gone",
    ):
        assert line in done.stdout


def test_the_written_pods_are_taken_by_an_api_server(values: Path, cluster: list[str]) -> None:
    readers = values.parent / "readers.yaml"
    (space,) = {one["metadata"]["namespace"] for one in yaml.safe_load(readers.read_text())["items"]}
    apply(cluster, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}])
    applied = [*cluster, "apply", "--dry-run=server", "--validate=strict", "-f", readers, "-o", "name"]
    done = subprocess.run(applied, check=True, capture_output=True, text=True)
    made = [f"{kind}-{one}" for one in ("imagenet", "clicks") for kind in ("pod/read", "job.batch/train-on")]
    assert done.stdout.split() == made
    assert readers.read_text().startswith("# A Pod and a Job for each dataset")


def test_a_release_of_another_tool_is_refused_by_name(play: Play, cluster: list[str], helm: Helm, values: Path) -> None:
    master = helm.objects(values, release=NAME, namespace=NAMESPACE)["StatefulSet", f"{NAME}-master"]
    master["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "cache:apps/StatefulSet:data/x"}
    apply(cluster, [master])
    try:
        done = play("main", check=True)
        assert done.returncode == 2
        assert "belongs to Argo CD, application cache" in done.stdout
        assert "alluxio_kubernetes.release: external" in done.stdout
        assert "folders above" not in done.stdout  # nothing was begun
    finally:
        remove = [*cluster, "delete", "statefulset", f"{NAME}-master", "--namespace", NAMESPACE]
        subprocess.run(remove, check=True, capture_output=True)


def test_a_node_changes_its_pool_with_the_whole_fleet_only(
    play: Play, cluster: list[str], helm: Helm, values: Path
) -> None:
    """The pods on the node are of another pool; nobody reads, as nothing is mounted there."""
    objects = helm.objects(values, release=NAME, namespace=NAMESPACE)
    template = objects["DaemonSet", f"{NAME}-fuse-imagenet"]["spec"]["template"]
    labels = {**template["metadata"]["labels"], "app.kubernetes.io/component": "fuse-imagenet.gone"}
    about = {"name": "moved", "namespace": NAMESPACE, "labels": labels}
    spec = {key: value for key, value in template["spec"].items() if key != "priorityClassName"}
    apply(cluster, [{"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": {**spec, "nodeName": "node-1"}}])
    try:
        assert play("values", "taken").returncode == 0
        alone = play("values", "taken", limit="node-1")
        assert alone.returncode == 2
        assert "may not have the pool that the plan has node-1 in" in " ".join(alone.stdout.split())
    finally:
        remove = [*cluster, "delete", "pod", "moved", "--namespace", NAMESPACE, "--force"]
        subprocess.run(remove, check=True, capture_output=True)


@pytest.fixture
def deployer(cluster: list[str], tmp_path: Path) -> Iterator[str]:
    """The kubeconfig of a user that may do what the manifest in docs/kubernetes.md grants, in another namespace."""
    config = yaml.safe_load(Path(cluster[1].partition("=")[2]).read_text())
    config["users"][0]["user"]["token"] = DEPLOYER
    path = tmp_path / "deployer"
    path.write_text(yaml.safe_dump(config))
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}
    apply(cluster, [space])  # it stays: nothing here would finish removing it
    apply(cluster, RIGHTS)
    yield str(path)
    for one in RIGHTS:
        where = ["--namespace", one["metadata"]["namespace"]] if "namespace" in one["metadata"] else []
        remove = [*cluster, "delete", one["kind"], one["metadata"]["name"], *where]
        subprocess.run(remove, check=True, capture_output=True)


def test_the_rights_of_the_manifest_are_enough(play: Play, helm: Helm, deployer: str, tmp_path: Path) -> None:
    """All that asks the API server: facts, objects, labels, the release, what differs, what stays."""
    where = ("--namespace", NAME, "--kubeconfig", deployer)
    said = {"kubeconfig": deployer, "namespace": NAME}
    done = play("values", "owner", "objects", "labels", **said)
    assert done.returncode == 0, done.stdout
    assert "error" not in done.stdout.lower()
    install = [NAME, str(CHART), "--values", str(tmp_path / "values.yaml"), *where]
    helm.run("upgrade", "--install", *install)
    helm.run("upgrade", *install, "--set", "master.terminationGracePeriodSeconds=7")
    done = play("values", "external", "status", "endpoints", check=True, **said)
    assert done.returncode == 0, done.stdout
    assert "terminationGracePeriodSeconds: 7, not 60" in done.stdout
    helm.run("uninstall", NAME, *where)


def test_without_the_manifest_the_run_says_what_is_forbidden(play: Play, cluster: list[str], deployer: str) -> None:
    apply(cluster, [{**RIGHTS[0], "rules": []}])
    assert 'User "alluxio-fuse" cannot list resource "nodes"' in play("values", kubeconfig=deployer).stdout

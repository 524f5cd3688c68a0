"""The run pushes its image to a real registry, and the lab's nodes pull it from there by its digest.

The order matters: at first no node trusts the registry; the last test tears down.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from bundle import Run, succeed
from cluster import Cluster
from main_job import LAB_INVENTORY, NAME, Job
from registry import Registry, registry

REPOSITORY = "data/alluxio-fuse"
LOGIN = "registry"  # the pull secret
STAGES = [f"playbooks/{stage}.yml" for stage in ("preflight", "deliver", "plan", "nodes", "services")]


@pytest.fixture(scope="module")
def served(lab: list[str], cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry on this machine, as nodes reach it; their namespace has credentials for it."""
    (address, *_) = (one["address"] for node in cluster.get("nodes") for one in node["status"]["addresses"])
    with registry(tmp_path_factory.mktemp("registry"), f"{address.rpartition('.')[0]}.1") as running:
        cluster.kubectl("create", "namespace", NAME)
        try:
            file, kind = f"--from-file=.dockerconfigjson={running.auth_file}", "kubernetes.io/dockerconfigjson"
            cluster.kubectl("create", f"--namespace={NAME}", "secret", "generic", LOGIN, f"--type={kind}", file)
            yield running
        finally:
            cluster.kubectl("delete", "namespace", NAME, "--ignore-not-found")


@pytest.fixture(scope="module")
def job(cluster: Cluster, served: Registry) -> Iterator[Job]:
    made = Job(cluster, LAB_INVENTORY)
    yield made
    made.play("playbooks/teardown.yml", **said(made, served))


def said(job: Job, served: Registry) -> dict[str, Any]:
    image = {"by": "push", "auth_file": str(served.auth_file), "ca_file": str(served.ca_file)}
    return {
        "alluxio_image": f"{served.address}/{REPOSITORY}:2.9.6",
        "alluxio_kubernetes": {
            "kubeconfig": str(job.cluster.kubeconfig),
            "keep_journal": False,
            "image": image,
            "pull_secrets": [LOGIN],
        },
    }


def deploy(job: Job, served: Registry) -> Run:
    first, *others = STAGES
    return job.play(first, *others, **said(job, served))


def trust(job: Job, served: Registry) -> None:
    """Each node's containerd takes the registry's certificates from now on."""
    folder = f"/etc/containerd/certs.d/{served.address}"
    hosts = f'[host."https://{served.address}"]\n  ca = "{folder}/ca.crt"\n'
    for node in job.cluster.get("nodes"):
        name = node["metadata"]["name"]
        job.podman("exec", name, "mkdir", "-p", folder)
        job.podman("cp", str(served.ca_file), f"{name}:{folder}/ca.crt")
        job.podman("exec", name, "sh", "-c", f"printf '{hosts}' >{folder}/hosts.toml")


def test_nodes_that_do_not_trust_the_registry_are_named(job: Job, served: Registry) -> None:
    """By the words of their containerd. The image is in the registry by then, and nothing is installed."""
    refused = deploy(job, served)
    assert refused.status != 0
    assert "certificate signed by unknown authority" in refused.output, refused.output[-3000:]
    assert all(node in refused.output.rpartition("TASK [")[2] for node in job.cluster.gpu_nodes())
    assert served.held(REPOSITORY) == ["2.9.6"]
    assert job.release() == {}


def test_pods_run_what_was_pushed(job: Job, served: Registry) -> None:
    trust(job, served)
    run = succeed(deploy(job, served))
    inspected = served.skopeo("inspect", f"docker://{served.address}/{REPOSITORY}:2.9.6")
    name = f"{served.address}/{REPOSITORY}@{json.loads(inspected)['Digest']}"
    containers = [one for pod in job.cluster.pods(NAME).values() for one in pod["spec"]["containers"]]
    assert {(one["image"], one["imagePullPolicy"]) for one in containers} == {(name, "IfNotPresent")}
    assert served.password not in run.output
    again = succeed(deploy(job, served))
    assert again.changed == 0, again.tasks("changed")


def test_teardown_leaves_the_registry_and_the_namespace_of_others(job: Job, served: Registry) -> None:
    succeed(job.play("playbooks/teardown.yml", **said(job, served)))
    assert served.held(REPOSITORY) == ["2.9.6"]
    assert NAME in job.names("namespaces")

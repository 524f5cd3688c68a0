"""The run imports its image on every node of the lab, by a name that no registry has, and takes it away again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import ROOT, Cluster
from main_job import LAB_INVENTORY, NAME, Job, sample_digests

sys.path.insert(0, str(ROOT / "tests"))
from bundle import Run, succeed

REPOSITORY = "registry.invalid/data/alluxio-fuse"
STAGES = [f"playbooks/{stage}.yml" for stage in ("preflight", "deliver", "plan", "nodes", "services")]


@pytest.fixture(scope="module")
def job(cluster: Cluster, lab: list[str]) -> Iterator[Job]:
    made = Job(cluster, LAB_INVENTORY)
    yield made
    teardown(made)


def said(job: Job) -> dict[str, Any]:
    kubernetes = {"kubeconfig": str(job.cluster.kubeconfig), "keep_journal": False, "image": {"by": "import"}}
    return {"alluxio_image": f"{REPOSITORY}:2.9.6", "alluxio_kubernetes": kubernetes}


def deploy(job: Job, *arguments: str) -> Run:
    first, *others = STAGES
    return succeed(job.play(first, *others, *arguments, **said(job)))


def teardown(job: Job) -> Run:
    return job.play("playbooks/teardown.yml", **said(job))


def images(job: Job) -> dict[str, set[str]]:
    """Names of images that each node's containerd has, but for those that it makes of their ids."""
    found = {}
    for node in [one["metadata"]["name"] for one in job.cluster.get("nodes")]:
        listed = job.podman("exec", node, "ctr", "--namespace=k8s.io", "images", "list", "--quiet").split()
        found[node] = {name for name in listed if not name.startswith("sha256:")}
    return found


def test_pods_run_what_was_imported(job: Job) -> None:
    before = images(job)
    first = deploy(job)
    assert "imports it into containerd on" in first.output
    (name,) = {image for node in images(job).values() for image in node if image.startswith(REPOSITORY)}
    assert name.startswith(f"{REPOSITORY}@sha256:")
    assert all(added == {name} for added in (after - before[node] for node, after in images(job).items()))
    containers = [one for pod in job.cluster.pods(NAME).values() for one in pod["spec"]["containers"]]
    assert {(one["image"], one["imagePullPolicy"]) for one in containers} == {(name, "Never")}
    again = deploy(job)
    assert again.changed == 0, again.tasks("changed")
    assert f"containerd has it on each node: {name.partition('@')[2]}" in again.output


def test_nodes_that_start_cold_together_read_the_store_once(job: Job) -> None:
    sent = job.store_sent()
    read = job.read_at_once()
    sent = job.store_sent() - sent
    sample = Path(job.cluster.settings["lab_sample"])
    size = sum(path.stat().st_size for path in sample.rglob("*") if path.is_file())
    print(f"{len(read)} nodes, cold together: the store sent {sent / size:.2f} times the set")
    assert read == dict.fromkeys(job.cluster.gpu_nodes(), sample_digests(sample))
    assert sent <= 1.2 * size


def test_pods_that_the_run_wrote_read_as_they_are(job: Job) -> None:
    """As somebody of the readers' group, by the imported image; the sample has more than a hundred files."""
    readers = max((ROOT / "runs").glob("*/readers.yaml"))
    job.cluster.kubectl("apply", "-f", str(readers))
    try:
        for what, condition in (
            ("pod/read-imagenet", "jsonpath={.status.phase}=Succeeded"),
            ("job/train-on-imagenet", "condition=Complete"),
        ):
            job.cluster.kubectl("wait", f"--namespace={NAME}", f"--for={condition}", what, "--timeout=180s")
            assert job.cluster.kubectl("logs", f"--namespace={NAME}", what).split() == ["100"]
    finally:
        job.cluster.kubectl("delete", "-f", str(readers))


def test_teardown_removes_it_and_no_other(job: Job) -> None:
    before = images(job)
    succeed(teardown(job))
    for node, after in images(job).items():
        assert {image.partition("@")[0] for image in before[node] - after} == {REPOSITORY}

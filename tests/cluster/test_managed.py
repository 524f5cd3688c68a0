"""The main job without any connection to nodes: in the lab, or in the cluster of KUBECONFIG."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import ROOT, Cluster, consumer
from main_job import ENVIRONMENT, MANAGED, NAME, Job, inventory_of

sys.path.insert(0, str(ROOT / "tests"))
from bundle import judged, latest, succeed


@pytest.fixture
def job(cluster: Cluster, tmp_path: Path) -> Iterator[Job]:
    made = Job(cluster, inventory_of(cluster, tmp_path), (ENVIRONMENT, MANAGED))
    yield made
    cluster.kubectl("delete", "--namespace=default", "pod/reader", "--ignore-not-found")
    made.play("playbooks/teardown.yml")


def test_only_a_kubeconfig_is_enough(job: Job) -> None:
    """Pods stand in for nodes."""
    run = judged(job.play("site.yml"))
    check = latest("check")
    assert {one["host"] for one in check["datasets"]} == set(job.cluster.gpu_nodes())
    assert all(one["wrong"] == 0 for one in check["datasets"])
    assert "nodes were looked at from pods" in run.output

    node = job.cluster.gpu_nodes()[0]
    parent = f"/mnt/{NAME}/imagenet"
    job.cluster.apply(consumer("default", "reader", node=node, image=job.cluster.image, parent=parent, user=(0, 0)))
    job.cluster.kubectl("wait", "--namespace=default", "--for=condition=Ready", "pod/reader", "--timeout=120s")
    again = judged(job.play("site.yml"))
    assert again.changed == 0, again.tasks("changed")
    assert f"imagenet on {node}: left alone, in use by pod default/reader" in again.output
    job.cluster.kubectl("delete", "--namespace=default", "pod/reader")

    job.cluster.kubectl("create", "role", "notes", "--verb=get", "--resource=pods", f"--namespace={NAME}")
    kept = succeed(job.play("playbooks/teardown.yml"))
    assert f"namespace {NAME} stays, it holds Role notes" in kept.output
    job.cluster.kubectl("delete", "role", "notes", f"--namespace={NAME}")
    succeed(job.play("playbooks/teardown.yml"))
    assert NAME not in job.names("namespaces")

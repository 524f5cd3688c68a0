"""A release that another tool installs, in the lab."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import CHART, ROOT, Cluster
from main_job import LAB_INVENTORY, NAME, Job

sys.path.insert(0, str(ROOT / "tests"))
from bundle import judged, latest, succeed


@pytest.fixture
def job(cluster: Cluster, lab: list[str]) -> Iterator[Job]:
    made = Job(cluster, LAB_INVENTORY)
    yield made
    made.play("playbooks/teardown.yml")


def test_a_release_of_another_tool_is_warmed_and_checked(job: Job) -> None:
    """`helm upgrade --install` with the plan's values is what Argo CD and Flux do, too."""
    kubernetes = {"kubeconfig": str(job.cluster.kubeconfig), "keep_journal": False, "release": "external"}
    stages = [f"playbooks/{stage}.yml" for stage in ("preflight", "plan", "nodes")]
    succeed(job.play(stages[0], *stages[1:], alluxio_kubernetes=kubernetes))
    values = latest_values()
    install = ("upgrade", "--install", NAME, CHART, f"--namespace={NAME}", "--create-namespace", f"--values={values}")
    job.cluster.helm(*install)
    run = judged(job.play("site.yml", alluxio_kubernetes=kubernetes))
    assert all(one["wrong"] == 0 for one in latest("check")["datasets"]), run.output[-3000:]
    again = judged(job.play("site.yml", alluxio_kubernetes=kubernetes))
    assert again.changed == 0, again.tasks("changed")
    succeed(job.play("playbooks/drift.yml", "--check", "--diff", alluxio_kubernetes=kubernetes))

    job.cluster.helm(*install, "--set=worker.resources.requests.cpu=17m")
    differs = job.play("playbooks/drift.yml", "--check", "--diff", alluxio_kubernetes=kubernetes)
    assert differs.status != 0
    assert "17m" in differs.output, differs.output[-3000:]

    kept = job.play("playbooks/teardown.yml", alluxio_kubernetes=kubernetes)
    assert kept.status != 0
    assert "remove the release with the tool that applied it" in " ".join(kept.output.split())
    job.cluster.helm("uninstall", NAME, f"--namespace={NAME}")
    succeed(job.play("playbooks/teardown.yml", alluxio_kubernetes=kubernetes))
    assert NAME not in job.names("namespaces")


def latest_values() -> Path:
    """values.yaml of the last plan."""
    return max((ROOT / "runs").glob("*/values.yaml"), key=lambda path: path.stat().st_mtime)

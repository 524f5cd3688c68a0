"""A set that workers do not hold at once, and that both nodes stage whole, in windows: the store is read once.

The order matters: the first test deploys, the last one tears down.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bundle import Run, succeed
from main_job import NAME, Job, digests, sample_digests, unlike
from test_staged import STAGES, WHOLE, on_node
from test_staged import said as staged

#: Of each of two workers: together they hold three quarters of the set.
QUOTA, WINDOWS = "96Mi", 3


def said(job: Job) -> dict[str, Any]:
    return {**staged(job, part=False), "alluxio_overrides": {"worker.tier_quota": QUOTA}}


def sample(job: Job) -> Path:
    return Path(job.cluster.settings["lab_sample"])


def warm(job: Job, **wish: Any) -> Run:
    return succeed(job.play("playbooks/warm.yml", **said(job), **({"alluxio_warm": wish} if wish else {})))


@pytest.fixture(scope="module")
def expected(job: Job) -> dict[str, str]:
    return sample_digests(sample(job))


@pytest.fixture(scope="module")
def deployed(job: Job, before: Any) -> Run:
    first, *others = (f"playbooks/{stage}.yml" for stage in STAGES)
    return succeed(job.play(first, *others, **said(job)))


def tasks(job: Job, node: str) -> list[dict[str, Any]]:
    """Of windows, as the node tells."""
    listed = json.loads(on_node(job, node, f"/var/lib/{NAME}/warm/alluxio-warm list --json"))
    return [one for one in listed if f"-{WHOLE}-" in one["id"]]


def test_both_nodes_copy_the_set_in_windows(job: Job, deployed: Run, expected: dict[str, str]) -> None:
    assert f"{WHOLE}: {WINDOWS} windows: workers hold 7" in deployed.output
    of_nodes = [tasks(job, node) for node in job.cluster.gpu_nodes()]
    for made in of_nodes:
        assert [one["operation"] for one in made] == ["load", "evict"] * WINDOWS
        assert {one["state"] for one in made} == {"done"}
    assert copied(job) == dict.fromkeys(job.cluster.gpu_nodes(), expected)


def copied(job: Job) -> dict[str, dict[str, str]]:
    """{node: {file: sha256}} of the copies that paths show."""
    folder = f"/mnt/{NAME}/{WHOLE}/data"
    script = f"findmnt --noheadings --output FSTYPE {folder} | grep --quiet --line-regexp tmpfs && cd {folder}"
    script += " && find . -type f -print0 | xargs -0 -n 100 sha256sum"
    return {node: digests("podman", "exec", node, "sh", "-ec", script) for node in job.cluster.gpu_nodes()}


def test_what_was_given_up_is_read_from_the_store_once(job: Job, deployed: Run, expected: dict[str, str]) -> None:
    """First reads were measured before, once, so that nothing is read but for the copies."""
    size = sum(path.stat().st_size for path in sample(job).rglob("*") if path.is_file())
    warm(job, evict=True, into="stage")
    before = job.store_sent()
    warm(job)
    sent = job.store_sent() - before
    assert copied(job) == dict.fromkeys(job.cluster.gpu_nodes(), expected)
    print(f"the store sent {sent / size:.2f} times the set's bytes for {len(job.cluster.gpu_nodes())} nodes")
    assert 0.5 * size < sent < 1.1 * size  # what workers held at the beginning is not read again


def test_a_second_run_changes_nothing(job: Job, deployed: Run) -> None:
    count = len(tasks(job, job.cluster.gpu_nodes()[0]))
    again = warm(job)
    assert again.changed == 0, again.tasks("changed")
    assert len(tasks(job, job.cluster.gpu_nodes()[0])) == count


def test_teardown_leaves_nodes_and_cluster_as_they_were(job: Job, before: Any, deployed: Run) -> None:
    succeed(job.play("playbooks/teardown.yml", **said(job)))
    nodes, objects = before
    for name, after in job.nodes().items():
        assert unlike(nodes[name], after) == []
    assert job.objects() == objects

"""Unlike nodes in one release, in the lab. The order matters."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster import ROOT, Cluster
from main_job import ENVIRONMENT, NAME, Job, connection, inventory_of

sys.path.insert(0, str(ROOT / "tests"))
from bundle import judged, latest, succeed

SMALL = {"alluxio_cache_tiers": [{"medium": "memory", "budget": "384Mi"}]}
MOUNT_POINT = f"/mnt/{NAME}/imagenet/data"


@pytest.fixture(scope="module")
def inventory(cluster: Cluster, lab: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lab's inventory, with a group for each of its two GPU nodes."""
    folder = tmp_path_factory.mktemp("inventory")
    path = inventory_of(cluster, folder, **connection())
    said = yaml.safe_load(path.read_text())
    groups = said["all"]["children"]
    first, second = groups["gpu_nodes"]["hosts"]
    groups["gpu_nodes"] = {"children": {"gpu_large": None, "gpu_small": None}}
    groups |= {"gpu_large": {"hosts": {first: None}}, "gpu_small": {"hosts": {second: None}}}
    path.write_text(yaml.safe_dump(said))
    own = folder / "group_vars" / "gpu_small.yml"
    own.parent.mkdir()
    own.write_text(yaml.safe_dump(SMALL))
    return path


@pytest.fixture(scope="module")
def job(cluster: Cluster, inventory: Path) -> Iterator[Job]:
    made = Job(cluster, inventory, (ENVIRONMENT,))
    yield made
    made.play("playbooks/teardown.yml")


def daemon_sets(job: Job) -> dict[str, dict[str, Any]]:
    """The spec of the pods of each DaemonSet, by its name."""
    return {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]
        for one in job.cluster.get("daemonsets", f"--namespace={NAME}")
    }


def memory_of_tiers(pod: dict[str, Any]) -> str:
    """The size limit of a worker's memory tier."""
    (size,) = {volume["emptyDir"]["sizeLimit"] for volume in pod["volumes"] if volume["name"].startswith("tier-memory")}
    return str(size)


def where(job: Job, component: str) -> list[str]:
    return sorted(pod["spec"]["nodeName"] for pod in job.cluster.pods(NAME, component).values())


def test_each_pool_has_the_pods_of_its_own_plan(job: Job) -> None:
    large, small = job.cluster.gpu_nodes()
    run = judged(job.play("site.yml"))
    check = latest("check")
    assert {one["host"]: one["wrong"] for one in check["datasets"]} == {large: 0, small: 0}, run.output[-3000:]

    sets = daemon_sets(job)
    assert set(sets) == {
        f"{NAME}-{service}{pool}" for service in ("fuse-imagenet", "worker") for pool in ("", "-gpu-small")
    }
    sizes = {name: memory_of_tiers(sets[name]) for name in sets if "worker" in name}
    assert len(set(sizes.values())) == 2, sizes
    for component in ("fuse-imagenet", "worker"):
        assert (where(job, component), where(job, f"{component}.gpu-small")) == ([large], [small])

    again = judged(job.play("site.yml"))
    assert again.changed == 0, again.tasks("changed")


def test_a_node_changes_its_pool_only_while_nobody_reads_there(job: Job) -> None:
    large, small = job.cluster.gpu_nodes()
    stages = [f"playbooks/{stage}.yml" for stage in ("preflight", "plan", "nodes", "services")]
    with subprocess.Popen(
        ["podman", "exec", small, "sh", "-c", f"exec 3< $(find {MOUNT_POINT} -type f | head -1); sleep 600"]
    ):
        try:
            # It sleeps once it has a file open.
            slept = ("exec", small, "sh", "-c", "pgrep --exact --full 'sleep 600' || true")
            job.cluster.wait("it reads", lambda: job.podman(*slept) != "")
            run = job.play(stages[0], *stages[1:], **SMALL)
            assert run.status != 0
            assert f"{MOUNT_POINT}" in run.output, run.output[-3000:]
            assert small in run.output
            assert where(job, "fuse-imagenet.gpu-small") == [small]
        finally:
            job.podman("exec", small, "pkill", "-f", "sleep 600")
    succeed(job.play(stages[0], *stages[1:], **SMALL))
    assert set(daemon_sets(job)) == {f"{NAME}-fuse-imagenet", f"{NAME}-worker"}
    assert where(job, "fuse-imagenet") == [large, small]

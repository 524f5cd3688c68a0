"""Faults while processes on a GPU node read, in the lab's cluster: what they saw, how long it took, no byte wrong.

Each drill begins when all is as before. The table is printed at the end, and kept in runs/.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import ROOT, Cluster, is_ready, restarts
from main_job import LAB_INVENTORY, NAME, Job
from test_main_job import deploy, sample_digests

sys.path.insert(0, str(ROOT / "tests" / "local"))
from drills import READING, Drill, Readers, reading

COMPONENT = "app.kubernetes.io/component"
SPACE = f"--namespace={NAME}"
FUSE, WORKER = "alluxio.image.Start fuse", "alluxio.image.Start worker"
CACHES = {"fuse.client_cache_size": "16Mi", "worker.tier_quota": "64Mi"}  # a part of the set: every layer is needed
THERE = "/srv/drills"


@pytest.fixture(scope="module")
def job(cluster: Cluster, lab: list[str]) -> Iterator[Job]:
    made = Job(cluster, LAB_INVENTORY)
    deploy(made, alluxio_overrides=CACHES)
    yield made
    made.play("playbooks/teardown.yml")


@pytest.fixture(scope="module")
def here(job: Job) -> str:
    """The node whose readers are looked at."""
    return job.cluster.gpu_nodes()[0]


@pytest.fixture(scope="module")
def readers(job: Job, here: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
    folder = tmp_path_factory.mktemp("reading")
    (folder / "digests.json").write_text(json.dumps(sample_digests(Path(job.cluster.settings["lab_sample"]))))
    job.podman("exec", here, "mkdir", "-p", THERE)
    for file in (READING, folder / "digests.json"):
        job.podman("cp", str(file), f"{here}:{THERE}/{file.name}")
    command = [f"{THERE}/reading.py", f"/mnt/{NAME}/imagenet/data", f"{THERE}/digests.json"]
    commands = [["podman", "exec", here, "python3", *command, str(seed)] for seed in range(3)]
    try:
        with reading(commands, folder) as running:
            running.settle(time.time(), 300)
            yield running
    finally:
        signal_on(here, "TERM", f"{THERE}/reading.py")
        job.podman("exec", here, "rm", "-r", THERE)
    table = running.table()
    (ROOT / "runs" / "drills-kubernetes.md").write_text(f"{table}\n")
    print(f"\n{table}")


@pytest.fixture
def drill(job: Job, readers: Readers) -> Callable[..., Drill]:
    """Runs a drill that must leave no wrong byte."""

    def run(fault: str, happen: Callable[[], Any], limit: float = 400) -> Drill:
        done = readers.drill(fault, happen, lambda: started(job), limit)
        assert done.wrong == 0
        assert done.reads > 0
        return done

    return run


def started(job: Job) -> dict[str, str]:
    """By component and node: the pod that serves, and how often its containers were started again."""
    served = {}
    for pod in job.cluster.pods(NAME).values():
        component = pod["metadata"]["labels"][COMPONENT]
        if component != "mounts":
            served[f"{component} on {pod['spec'].get('nodeName')}"] = f"{pod['metadata']['uid']} {restarts(pod)}"
    return served


def signal_on(node: str, signal: str, what: str) -> None:
    """Sends a signal to processes of a node, by their command line."""
    subprocess.run(["podman", "exec", node, "pkill", f"-{signal}", "-f", what], check=False)


def all_ready(job: Job) -> bool:
    """Whether every pod of the release is Ready."""
    return all(is_ready(pod) for pod in job.cluster.pods(NAME).values())


def only(component: str, node: str) -> list[str]:
    """One service that was started again."""
    return [f"{component} on {node}"]


def fuse_pod(job: Job, node: str) -> str:
    """The name of a node's FUSE pod."""
    pods = job.cluster.pods(NAME, "fuse-imagenet").items()
    return next(name for name, pod in pods if pod["spec"]["nodeName"] == node)


def test_the_fuse_pod_is_deleted(drill: Callable[..., Drill], job: Job, here: str) -> None:
    done = drill("FUSE pod deleted", lambda: job.cluster.kubectl(SPACE, "delete", "pod", fuse_pod(job, here)))
    assert done.restarted == only("fuse-imagenet", here)


def test_fuse_is_killed(drill: Callable[..., Drill], here: str) -> None:
    done = drill("FUSE killed -9", lambda: signal_on(here, "KILL", FUSE))
    assert done.restarted == only("fuse-imagenet", here)


def test_fuse_is_killed_for_memory(drill: Callable[..., Drill], job: Job, here: str) -> None:
    """Something else in its pod takes all memory, and is told to the kernel as what must not be ended for it."""
    take = "sleep 5; exec tail /dev/zero"
    spare = f"for one in $(pgrep -fx 'sh -c {take}'); do echo -1000 >/proc/$one/oom_score_adj; done"

    def exhaust() -> None:
        program = [str(job.cluster.programs / "kubectl"), f"--kubeconfig={job.cluster.kubeconfig}", SPACE]
        inside = ["exec", fuse_pod(job, here), "--container=fuse", "--", "sh", "-c", take]
        with subprocess.Popen([*program, *inside], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            time.sleep(3)
            job.podman("exec", here, "sh", "-c", spare)

    done = drill("FUSE killed for memory", exhaust)
    assert done.restarted == only("fuse-imagenet", here)
    (status,) = job.cluster.pods(NAME)[fuse_pod(job, here)]["status"]["containerStatuses"]
    assert status["lastState"]["terminated"]["reason"] == "OOMKilled"


def test_the_worker_is_killed(drill: Callable[..., Drill], here: str) -> None:
    done = drill("worker killed -9", lambda: signal_on(here, "KILL", WORKER))
    assert done.restarted == only("worker", here)


def test_all_workers_are_away(drill: Callable[..., Drill], job: Job) -> None:
    selector = {"path": "/spec/template/spec/nodeSelector/nowhere"}

    def patch(change: dict[str, str]) -> None:
        said = json.dumps([selector | change])
        job.cluster.kubectl(SPACE, "patch", f"daemonset/{NAME}-worker", "--type=json", "--patch", said)

    def away() -> None:
        patch({"op": "add", "value": "there"})
        job.cluster.wait("no worker is left", lambda: not job.cluster.pods(NAME, "worker"), 120)
        time.sleep(20)
        patch({"op": "remove"})

    done = drill("all workers away for 20 s", away)
    assert done.restarted == [f"worker on {node}" for node in job.cluster.gpu_nodes()]


def test_the_master_is_restarted(drill: Callable[..., Drill], job: Job) -> None:
    done = drill("master pod deleted", lambda: job.cluster.kubectl(SPACE, "delete", "pod", f"{NAME}-master-0"))
    assert [name.partition(" ")[0] for name in done.restarted] == ["master"]


def test_another_node_is_off_and_on(drill: Callable[..., Drill], job: Job, lab: list[str], here: str) -> None:
    """What its worker held is read from the store meanwhile; it serves again by itself."""
    other = next(node for node in job.cluster.gpu_nodes() if node != here)

    def off_and_on() -> None:
        subprocess.run([*lab, "power", other, "off"], check=True)
        time.sleep(40)
        subprocess.run([*lab, "power", other, "on"], check=True)
        job.cluster.wait("all pods are ready", lambda: all_ready(job), 300)

    done = drill("another node off and on", off_and_on)
    assert {name.partition(" on ")[2] for name in done.restarted} == {other}
    assert job.read_at_once()[other] == sample_digests(Path(job.cluster.settings["lab_sample"]))

"""Trainings on two nodes together: what they prove, a lie, what is refused, and what an interrupt leaves.

The order matters: the first test deploys, the last one tears down.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from typing import Any

import leftovers
import pytest
from bundle import Run, latest, succeed
from cluster import ROOT
from main_job import ENVIRONMENT, LAB_INVENTORY, NAME, PROGRAMS, Job, unlike
from test_staged import ENVIRONMENT as DECLARED
from torchrun import TINY

from alluxio_fuse.kubernetes.objects import metadata

DATASET, STAGED = "imagenet", "shared"
MOUNT = f"/mnt/{NAME}/{DATASET}/data"
STAGES = ("preflight", "plan", "nodes", "services")
SPACE = f"--namespace={NAME}"
OURS = f"--selector=app.kubernetes.io/instance={NAME},app.kubernetes.io/component=train"
LEFT = "jobs,pods,services,configmaps"


@pytest.fixture(scope="module")
def deployed(job: Job, torch_image: None, before: Any) -> Run:
    first, *others = (f"playbooks/{stage}.yml" for stage in STAGES)
    return succeed(job.play(first, *others, **said(job)))


def said(job: Job) -> dict[str, Any]:
    """The lab's dataset, and beside it the same files in a folder that all nodes see, staged as far as they fit."""
    settings, (declared,) = job.cluster.settings, DECLARED["alluxio_datasets"]
    reached = {"endpoint": settings["lab_s3_endpoint"], "ca_file": settings["lab_s3_ca_file"]}
    first = {**declared, "source": settings["lab_dataset"], "s3": {**declared["s3"], **reached}}
    shared = {"name": STAGED, "source": f"file://{settings['lab_shared']}", "stage": "auto"}
    return {"alluxio_datasets": [first, {**shared, "readers": declared["readers"]}]}


def train(job: Job, **fields: Any) -> Run:
    return job.play("playbooks/train.yml", **said(job), alluxio_train={**TINY, **fields})


def left(job: Job) -> list[str]:
    """What a run must not leave."""
    return [f"{one['kind']} {one['metadata']['name']}" for one in job.cluster.get(LEFT, SPACE, OURS)]


def findings(number: int, outcome: str) -> list[str]:
    return [one["reason"] for one in latest("train")["nodes"][number]["findings"] if one["outcome"] == outcome]


def test_two_nodes_together_read_the_manifest_once(job: Job, deployed: Run) -> None:
    """Once on both and once on one of them, other images; what an interrupted run left is no hindrance."""
    about = metadata(f"{NAME}-train", NAME, NAME, "train")
    job.cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": {"of": "before"}})
    run = succeed(train(job, nodes=["all", 1]))
    found = latest("train")
    assert [node["host"] for node in found["nodes"]] == ["2 nodes (lab-gpu1, lab-gpu2)", "lab-gpu1"], run.output[-3000:]
    for number, steps in enumerate((10, 20)):
        assert [row["path"] for row in found["nodes"][number]["rows"]] == ["synthetic", "mount"]
        assert {row["steps"] for row in found["nodes"][number]["rows"]} == {steps}
        (proof,) = findings(number, "PASS")
        assert proof.startswith("2 epochs read the manifest's bytes, digest ")
    both, one = (node["rows"][1] for node in found["nodes"])
    assert both["digest"] != one["digest"]
    assert {both["state"], one["state"]} <= {"cold", "mixed"}
    assert min(both["origins"]["under_store"], one["origins"]["under_store"]) > 0.9
    (given,) = found["saturation"]
    assert given.startswith(f"the source of {DATASET} gave by mount ")
    assert " to 2 nodes: " in given
    assert found["nodes"][0]["device"] == "cpu"
    assert left(job) == []


def test_losses_are_equal_again_and_again(job: Job, deployed: Run) -> None:
    succeed(train(job, rounds=2))
    _, equal = findings(0, "PASS")
    assert equal == "2 loss curves of 10 steps are equal"


def test_swapped_classes_are_caught_by_path_and_node(job: Job, deployed: Run) -> None:
    """On one of the nodes two classes have each other's files, under their own names, as far as the names go."""
    script = f"""
      cd {MOUNT}/train; set -- *; mkdir -p /srv/swapped/$1 /srv/swapped/$2
      swap() {{ ls $2 >/tmp/theirs; ls $1 | paste - /tmp/theirs | while read -r mine theirs; do
        [ -z "$mine" ] || cat "$2/${{theirs:-$mine}}" >/srv/swapped/$1/$mine; done; }}
      swap $1 $2; swap $2 $1; mount --bind /srv/swapped/$1 $1; mount --bind /srv/swapped/$2 $2; echo $1
    """
    gone = f"cd {MOUNT}/train; set -- *; umount $1 $2; rm -rf /srv/swapped /tmp/theirs"
    with leftovers.recorded("command", ["podman", "exec", "lab-gpu2", "sh", "-c", gone]):
        name = job.podman("exec", "lab-gpu2", "sh", "-ec", script).strip()
        run = train(job, images=None)
    assert run.status != 0
    reason = latest("train")["reasons"][0]
    assert f"1: mount, epoch 1: train/{name}/{name}_" in reason, reason
    assert " on lab-gpu2" in reason
    assert [row["path"] for row in latest("train")["nodes"][0]["rows"]] == ["synthetic"]
    assert left(job) == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"image": ""}, "alluxio_train: neither python nor image"),
        (
            {"image": "", "python": "/usr/bin/python3"},
            "alluxio_train: on Kubernetes pods train: name an image that has",
        ),
        ({"image": "localhost/alluxio-fuse:2.9.6"}, "alluxio_train.image: localhost/alluxio-fuse:2.9.6: it cannot run"),
        ({"image": "localhost/none:1"}, "localhost/none:1"),
        ({"nodes": 3}, "alluxio_train.nodes: 3: 2 nodes of this run mount imagenet; write a number up to 2, or all"),
        ({"loaders": 4000}, "alluxio_train: 4000 loaders with batches of 32 may need"),
        ({"gpus": 1}, "Insufficient nvidia.com/gpu"),
        ({"folder": "records"}, "alluxio_train.folder: records: its folder records: no folder for each class"),
    ],
)
def test_what_cannot_be_trained_is_refused(job: Job, deployed: Run, fields: dict[str, Any], reason: str) -> None:
    run = train(job, **fields)
    assert run.status != 0
    assert reason in " ".join(run.output.split()), run.output[-3000:]
    assert left(job) == []


def test_readers_are_left_alone(job: Job, deployed: Run) -> None:
    holds = f"exec 3<$(find {MOUNT}/train -name '*.JPEG' | head -n 1); echo held; sleep 600"
    with subprocess.Popen(["podman", "exec", "lab-gpu2", "sh", "-c", holds], stdout=subprocess.PIPE) as reader:
        assert reader.stdout
        assert reader.stdout.readline() == b"held\n"
        run = train(job)
        job.podman("exec", "lab-gpu2", "pkill", "-f", "^sleep 600")
    assert run.status != 0
    assert f"{MOUNT} is in use by " in " ".join(run.output.split())
    assert "on lab-gpu2" in run.output
    assert left(job) == []


def test_pods_read_the_copies_of_a_staged_dataset(job: Job, deployed: Run) -> None:
    succeed(job.play("playbooks/warm.yml", **said(job)))
    succeed(train(job, dataset=STAGED))
    _, row = latest("train")["nodes"][0]["rows"]
    assert row["path"] == "staged"
    assert row["origins"]["stage"] + row["origins"]["page_cache"] > 0.5
    (proof,) = findings(0, "PASS")
    assert proof.startswith("2 epochs read the manifest's bytes, digest ")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(job: Job, deployed: Run, how: int) -> None:
    wanted = {**said(job), "alluxio_train": {**TINY, "epochs": 500}}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as extra:
        json.dump(wanted, extra)
        extra.flush()
        inventories = ["-i", str(LAB_INVENTORY), "-i", str(ENVIRONMENT)]
        command = [str(PROGRAMS / "ansible-playbook"), "playbooks/train.yml", *inventories, "-e", f"@{extra.name}"]
        variables = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        with subprocess.Popen(
            command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, start_new_session=True
        ) as run:
            job.cluster.wait("a run trains", lambda: trains(job))
            os.killpg(run.pid, how)
    job.cluster.wait("nothing is left", lambda: left(job) == [], 60)


def trains(job: Job) -> bool:
    pods = job.cluster.get("pods", SPACE, OURS)
    running = [one for one in pods if one["status"]["phase"] == "Running"]
    return len(running) == 2 and not any(one["metadata"]["name"].startswith(f"{NAME}-train-0-") for one in running)


def test_nothing_is_left(job: Job, deployed: Run, before: tuple[dict[str, Any], dict[str, Any]]) -> None:
    succeed(job.play("playbooks/teardown.yml", **said(job)))
    nodes, objects = before
    for name, after in job.nodes().items():
        assert unlike(nodes[name], after) == []
    assert job.objects() == objects

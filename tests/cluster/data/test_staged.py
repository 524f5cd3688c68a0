"""Staged datasets in pods, one whole and one in part: what consumers read while FUSE, keepers and nodes come and go.

The order matters: the first test deploys, the last one tears down.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import yaml
from ansible_collections.alluxio.fuse.plugins.module_utils import residency
from bundle import Run, latest, succeed
from cluster import ROOT, consumer, restarts
from main_job import NAME, Job, digests, sample_digests, unlike
from readers import READING, Read, recorded
from test_drills import WORKER, exhaust_memory, fuse_pod, no_store, signal_on
from torchrun import TINY

WHOLE, PART = "imagenet", "shared"
STAGES = ("preflight", "plan", "nodes", "services", "warm")
KINDS = {WHOLE: ["tmpfs"], PART: ["overlay"]}
READERS = (0, 2000)
THERE = "/srv/staged"
PAUSE = "0.01"  # after each file: readers that never rest leave the run nothing of this machine's processors
SPACE = f"--namespace={NAME}"
ENVIRONMENT = yaml.safe_load((ROOT / "tests/cluster/environment/group_vars/all/main.yml").read_text())


def said(job: Job, *, part: bool = True) -> dict[str, Any]:
    """The lab's dataset, staged whole, and beside it the same files in a folder that all nodes see."""
    settings = job.cluster.settings
    s3 = {"endpoint": settings["lab_s3_endpoint"], "region": "us-east-1", "path_style": True}
    readers = {"readers": ENVIRONMENT["alluxio_datasets"][0]["readers"]}
    whole = {"name": WHOLE, "source": settings["lab_dataset"], "s3": {**s3, "ca_file": settings["lab_s3_ca_file"]}}
    shared = {"name": PART, "source": f"file://{settings['lab_shared']}"}
    datasets = [{**whole, **readers, "stage": "require"}, *([{**shared, **readers, "stage": "auto"}] if part else [])]
    return {"alluxio_datasets": datasets, "alluxio_check_fail_on": ["FAIL"]}


def run(job: Job, *stages: str, **variables: Any) -> Run:
    first, *others = (f"playbooks/{stage}.yml" for stage in stages)
    return job.play(first, *others, **variables)


@pytest.fixture(scope="module")
def deployed(job: Job, before: Any) -> Run:
    return succeed(run(job, *STAGES, **said(job)))


@pytest.fixture(scope="module")
def expected(job: Job) -> dict[str, str]:
    return sample_digests(Path(job.cluster.settings["lab_sample"]))


@pytest.fixture(scope="module")
def consumers(job: Job, deployed: Run) -> Iterator[dict[tuple[str, str], str]]:
    """By node and dataset, a pod that mounted the parent folder as docs tell, and stays."""
    made = {}
    for node in job.cluster.gpu_nodes():
        for dataset in (WHOLE, PART):
            name, parent = f"reads-{dataset}-{node}", f"/mnt/{NAME}/{dataset}"
            job.cluster.apply(
                consumer("default", name, node=node, image=job.cluster.image, parent=parent, user=READERS)
            )
            made[node, dataset] = name
    for name in made.values():
        job.cluster.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=120s")
    yield made
    job.cluster.kubectl("delete", "pod", *made.values(), "--ignore-not-found", "--grace-period=0", "--force")


@pytest.fixture(scope="module")
def here(job: Job) -> str:
    """The node whose readers are looked at."""
    return job.cluster.gpu_nodes()[0]


class Reader:
    """A process of a node that reads every file of a dataset, again and again."""

    def __init__(self, record: Path, files: int) -> None:
        self._record, self._files = record, files

    def reads(self) -> list[Read]:
        """All reads so far."""
        return recorded(self._record)

    def outcomes(self) -> set[str]:
        """What they came to."""
        return {one.outcome for one in self.reads()}

    def goes_on(self, job: Job) -> None:
        """Waits until it has read every file once more."""
        so_far = len(self.reads())
        job.cluster.wait("it reads every file", lambda: len(self.reads()) > so_far + self._files, 300)


@pytest.fixture(scope="module")
def readers(
    job: Job, deployed: Run, here: str, expected: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Reader]]:
    folder = tmp_path_factory.mktemp("reading")
    (folder / "digests.json").write_text(json.dumps(expected))
    job.podman("exec", here, "mkdir", "-p", THERE)
    for file in (READING, folder / "digests.json"):
        job.podman("cp", str(file), f"{here}:{THERE}/{file.name}")
    there = f"pkill -f {THERE}/reading[.]py; rm -rf {THERE}"
    end = ["sh", "-c", f"! podman container exists {here} || podman exec {here} sh -c '{there}'"]
    with leftovers.recorded("command", end):
        processes, found = [], {}
        for seed, dataset in enumerate((WHOLE, PART)):
            record = folder / dataset
            command = [f"{THERE}/reading.py", f"/mnt/{NAME}/{dataset}/data", f"{THERE}/digests.json", str(seed), PAUSE]
            with record.open("w") as out:
                processes.append(subprocess.Popen(["podman", "exec", here, "python3", *command], stdout=out))
            found[dataset] = Reader(record, len(expected))
        yield found
        for process in processes:
            process.kill()
            process.wait()


def read_in(job: Job, pod: str) -> dict[str, str]:
    """{file: sha256} that a consumer reads."""
    script = "cd /data/data && find . -type f -print0 | xargs -0 -n 100 sha256sum"
    command = [str(job.cluster.programs / "kubectl"), f"--kubeconfig={job.cluster.kubeconfig}"]
    return digests(*command, "exec", pod, "--", "bash", "-ec", script)


def is_whole(job: Job, pod: str, expected: dict[str, str]) -> bool:
    """Whether a consumer can read every file, and reads the right bytes."""
    try:
        return read_in(job, pod) == expected
    except subprocess.CalledProcessError:
        return False


def mounted_in(job: Job, pod: str) -> list[str]:
    """Filesystems at the dataset's path in a consumer."""
    return types_at("/data/data", job.cluster.kubectl("exec", pod, "--", "cat", "/proc/self/mountinfo"))


def types_at(point: str, mounts: str) -> list[str]:
    """Filesystems that are mounted at a path."""
    return [line.split(" - ")[1].split()[0] for line in mounts.splitlines() if line.split()[4] == point]


def on_node(job: Job, node: str, script: str) -> str:
    return job.podman("exec", node, "sh", "-ec", script)


def ours_on(job: Job, node: str) -> list[str]:
    """Mounts of ours on a node: {point} of copies, FUSE and media."""
    lines = on_node(job, node, "cat /proc/self/mountinfo").splitlines()
    points = [line.split()[4] for line in lines]
    return sorted(one for one in points if one.startswith((f"/mnt/{NAME}/", f"/var/lib/{NAME}/")))


def keeper(job: Job, node: str) -> dict[str, Any]:
    """A node's keeper."""
    (found,) = [one for one in job.cluster.pods(NAME, "stage").values() if one["spec"]["nodeName"] == node]
    return found


def staged_files(job: Job, node: str, dataset: str) -> set[str]:
    folder = f"/var/lib/{NAME}/stage/{dataset}"
    return set(on_node(job, node, f"cd {folder}/*/files && find . -type f").split())


def test_consumers_read_every_byte_from_the_kernel(
    job: Job, deployed: Run, consumers: dict[tuple[str, str], str], expected: dict[str, str]
) -> None:
    for (node, dataset), pod in consumers.items():
        assert mounted_in(job, pod) == KINDS[dataset], (node, dataset)
        assert read_in(job, pod) == expected, (node, dataset)
    for node in job.cluster.gpu_nodes():
        assert staged_files(job, node, WHOLE) == set(expected)
        assert set() < staged_files(job, node, PART) < set(expected)
        assert f"/var/lib/{NAME}/fuse/{WHOLE}/data" in ours_on(job, node)
        labels = job.node_labels(node)
        assert [labels[f"{NAME}.alluxio-fuse/{dataset}"] for dataset in (WHOLE, PART)] == ["staged", "part"]


def test_a_second_run_changes_nothing(job: Job, deployed: Run) -> None:
    again = succeed(run(job, *STAGES, **said(job)))
    assert again.changed == 0, again.tasks("changed")


def test_the_check_proves_both(job: Job, deployed: Run, consumers: dict[tuple[str, str], str]) -> None:
    succeed(job.play("playbooks/check.yml", **said(job)))
    for dataset in latest("check")["datasets"]:
        rows = {(row["path"], row["state"], row["kind"]): row for row in dataset["rows"]}
        assert rows["mount", "staged", "small"]["established"], rows["mount", "staged", "small"]["why"]
        assert dataset["wrong"] == 0
    status = succeed(job.play("playbooks/status.yml", **said(job)))
    assert "100%" in status.output, status.output[-3000:]


def test_two_nodes_train_on_what_is_staged_in_part(job: Job, deployed: Run, torch_image: None) -> None:
    """Images are small, and small files are staged first, so that FUSE is asked for none of them."""
    residency.drop_caches()  # of all nodes, which share this machine's kernel: what FUSE serves is asked of it again
    succeed(job.play("playbooks/train.yml", **said(job), alluxio_train={**TINY, "dataset": PART}))
    (node,) = latest("train")["nodes"]
    synthetic, staged = node["rows"]
    assert (node["nodes"], synthetic["path"], staged["path"]) == (2, "synthetic", "staged")
    assert staged["origins"]["stage"] + staged["origins"]["page_cache"] == 1, staged["origins"]
    assert [one["outcome"] for one in node["findings"]] == ["PASS", "CANNOT TELL"], node["findings"]


def test_fuse_is_killed(
    job: Job, readers: dict[str, Reader], here: str, consumers: dict[tuple[str, str], str], expected: dict[str, str]
) -> None:
    """Staged files go on; others fail at once until FUSE is back, and the keeper gives the path to it."""
    for reader in readers.values():
        reader.goes_on(job)
    subprocess.run(["podman", "exec", here, "pkill", "-KILL", "-f", "alluxio.image.Start fuse"], check=True)
    for dataset in (WHOLE, PART):
        pod = consumers[here, dataset]
        job.cluster.wait(f"{dataset} is whole again", lambda pod=pod: is_whole(job, pod, expected), 300)
        readers[dataset].goes_on(job)
    assert readers[WHOLE].outcomes() == {"ok"}
    assert readers[PART].outcomes() <= {"ok", "ECONNABORTED", "ENOTCONN"}  # a read that is under way is aborted
    assert "ENOTCONN" in readers[PART].outcomes()


def test_fuse_is_killed_for_memory(
    job: Job, readers: dict[str, Reader], here: str, consumers: dict[tuple[str, str], str], expected: dict[str, str]
) -> None:
    pod = fuse_pod(job, here, PART)
    exhaust_memory(job, pod)
    job.cluster.wait("it is whole again", lambda: is_whole(job, consumers[here, PART], expected), 300)
    (status,) = job.cluster.pods(NAME)[pod]["status"]["containerStatuses"]
    assert status["lastState"]["terminated"]["reason"] == "OOMKilled"
    for reader in readers.values():
        reader.goes_on(job)
    assert readers[WHOLE].outcomes() == {"ok"}
    assert "wrong" not in readers[PART].outcomes()


def test_fuse_is_away(
    job: Job, readers: dict[str, Reader], here: str, consumers: dict[tuple[str, str], str], expected: dict[str, str]
) -> None:
    """Until it is back, a consumer sees all names, reads what is staged, and is told at once of the others."""
    daemons, pod = f"daemonset/{NAME}-fuse-{PART}", consumers[here, PART]
    selector = {"path": "/spec/template/spec/nodeSelector/nowhere"}

    def patch(change: dict[str, str]) -> None:
        job.cluster.kubectl(SPACE, "patch", daemons, "--type=json", "--patch", json.dumps([selector | change]))

    patch({"op": "add", "value": "there"})
    try:
        hidden = f"/var/lib/{NAME}/fuse/{PART}/data"
        job.cluster.wait("FUSE is away", lambda: not job.cluster.pods(NAME, f"fuse-{PART}"), 180)
        job.cluster.wait("its mount is", lambda: hidden not in ours_on(job, here), 60)
        names, failed = names_and_failed(job, pod)
        assert names == set(expected)
        assert failed == set(expected) - staged_files(job, here, PART)
        readers[WHOLE].goes_on(job)
    finally:
        patch({"op": "remove"})
    job.cluster.wait_ready(NAME, {f"fuse-{PART}": len(job.cluster.gpu_nodes())})
    job.cluster.wait("it is whole again", lambda: is_whole(job, pod, expected), 200)
    assert "wrong" not in readers[PART].outcomes()
    assert readers[WHOLE].outcomes() == {"ok"}


def names_and_failed(job: Job, pod: str) -> tuple[set[str], set[str]]:
    """Files that a consumer sees, and those that it cannot read."""
    names = job.cluster.kubectl("exec", pod, "--", "bash", "-ec", "cd /data/data && find . -type f").split()
    script = "cd /data/data; find . -type f | while read -r file; do cat $file >/dev/null 2>&1 || echo $file; done"
    return set(names), set(job.cluster.kubectl("exec", pod, "--", "bash", "-c", script).split())


def test_master_workers_and_store_are_away(
    job: Job, readers: dict[str, Reader], here: str, consumers: dict[tuple[str, str], str], expected: dict[str, str]
) -> None:
    """Whoever reads what is staged notices nothing, also while the store refuses, and the rest waits."""
    before = len(readers[PART].reads())
    master, source = f"statefulset/{NAME}-master", job.cluster.settings["lab_shared"]
    job.cluster.kubectl(SPACE, "scale", master, "--replicas=0")
    try:
        job.cluster.wait("no master is left", lambda: not job.cluster.pods(NAME, "master"), 60)
        for node in job.cluster.gpu_nodes():
            signal_on(node, "KILL", WORKER)
        for code in (503, 403):
            with no_store(job, code):
                readers[WHOLE].goes_on(job)
        with no_store(job, None):
            readers[WHOLE].goes_on(job)
            names = " ".join(sorted(staged_files(job, here, PART)))
            on_node(job, here, f"for name in {names}; do cmp {source}/$name /mnt/{NAME}/{PART}/data/$name; done")
    finally:
        job.cluster.kubectl(SPACE, "scale", master, "--replicas=1")
    job.cluster.wait_ready(NAME, {"master": 1, "worker": len(job.cluster.gpu_nodes())})
    job.cluster.wait("it is whole again", lambda: is_whole(job, consumers[here, PART], expected), 300)
    readers[PART].goes_on(job)
    assert readers[WHOLE].outcomes() == {"ok"}
    assert {one.outcome for one in readers[PART].reads()[before:]} == {"ok"}


def test_the_keeper_is_deleted(job: Job, readers: dict[str, Reader], here: str) -> None:
    former = keeper(job, here)["metadata"]
    mounts = ours_on(job, here)
    job.cluster.kubectl(SPACE, "delete", "pod", former["name"])
    job.cluster.wait("another one keeps", lambda: keeper(job, here)["metadata"]["uid"] != former["uid"], 120)
    job.cluster.wait_ready(NAME, {"stage": len(job.cluster.gpu_nodes())})
    for reader in readers.values():
        reader.goes_on(job)
    assert readers[WHOLE].outcomes() == {"ok"}
    assert ours_on(job, here) == mounts


def test_a_node_that_was_off_stages_again(
    job: Job, lab: list[str], consumers: dict[tuple[str, str], str], expected: dict[str, str]
) -> None:
    """Memory is empty then: the keeper fills it by itself, charged to its own pod, which its limit holds."""
    other = job.cluster.gpu_nodes()[1]
    subprocess.run([*lab, "power", other, "off"], check=True)
    time.sleep(5)
    subprocess.run([*lab, "power", other, "on"], check=True)

    def shown() -> dict[str, list[str]]:
        mounts = on_node(job, other, "cat /proc/self/mountinfo")
        return {dataset: types_at(f"/mnt/{NAME}/{dataset}/data", mounts) for dataset in (WHOLE, PART)}

    job.cluster.wait("both are mounted again", lambda: shown() == KINDS, 500)
    for dataset in (WHOLE, PART):
        script = f"cd /mnt/{NAME}/{dataset}/data && find . -type f -print0 | xargs -0 -n 100 sha256sum"
        assert digests("podman", "exec", other, "sh", "-ec", script) == expected, dataset
    (status,) = keeper(job, other)["status"]["containerStatuses"]
    last = status["lastState"].get("terminated", {})
    assert last.get("reason") != "OOMKilled"


def test_what_is_no_longer_a_dataset_leaves_nothing(
    job: Job, readers: dict[str, Reader], consumers: dict[tuple[str, str], str], here: str
) -> None:
    refused = run(job, *STAGES, **said(job, part=False))
    assert refused.status != 0
    assert f"/mnt/{NAME}/{PART}/data is read by python3" in refused.output.replace("\n", " "), refused.output[-3000:]
    subprocess.run(["podman", "exec", here, "pkill", "-f", f"{PART}/data {THERE}"], check=True)
    succeed(run(job, *STAGES, **said(job, part=False)))
    for node in job.cluster.gpu_nodes():
        assert [one for one in ours_on(job, node) if PART in one] == []
        assert on_node(job, node, f"ls /var/lib/{NAME}/stage").split() == [WHOLE]
    readers[WHOLE].goes_on(job)
    assert readers[WHOLE].outcomes() == {"ok"}


def test_the_keeper_was_never_killed_for_memory(job: Job, here: str) -> None:
    assert restarts(keeper(job, here)) == 0


def test_teardown_leaves_nodes_and_cluster_as_they_were(
    job: Job, before: Any, here: str, readers: dict[str, Reader], consumers: dict[tuple[str, str], str]
) -> None:
    refused = job.play("playbooks/teardown.yml", **said(job, part=False))
    assert refused.status != 0
    assert "is read by python3" in refused.output.replace("\n", " ")
    subprocess.run(["podman", "exec", here, "sh", "-c", f"pkill -f {THERE}/reading[.]py; rm -rf {THERE}"], check=True)
    job.cluster.kubectl("delete", "pod", *consumers.values(), "--ignore-not-found", "--grace-period=0", "--force")
    succeed(job.play("playbooks/teardown.yml", **said(job, part=False)))
    nodes, objects = before
    for name, after in job.nodes().items():
        assert unlike(nodes[name], after) == []
    assert job.objects() == objects

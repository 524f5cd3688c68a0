"""A dataset on a claim, in the lab. Its volumes are folders that every node has with the same files, as of a share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import ROOT, Cluster
from main_job import LAB_INVENTORY, MANAGED, NAME, Job, digests, inventory_of

sys.path.insert(0, str(ROOT / "tests"))
from bundle import Run, judged, latest, succeed

FOLDER = "/var/lib/claims-of-the-test"
CLAIMS = {"nfs": ["ReadOnlyMany"], "other": ["ReadWriteMany"], "single": ["ReadWriteOnce"]}
#: The same names and sizes behind each claim, and other bytes.
FILL = """
mkdir -p {folder}/train/sub
for number in $(seq 300); do
  yes "{claim} $number" | head --bytes=100000 >{folder}/train/sub/$number.jpg
done
chmod -R a+rX {folder}
"""
PREFLIGHT = "playbooks/preflight.yml"


@pytest.fixture(scope="module")
def job(cluster: Cluster, lab: list[str]) -> Iterator[Job]:
    made = Job(cluster, LAB_INVENTORY)
    nodes = [one["metadata"]["name"] for one in cluster.get("nodes")]
    try:
        for node in nodes:
            for claim in CLAIMS:
                made.podman("exec", node, "sh", "-ec", FILL.format(folder=f"{FOLDER}/{claim}", claim=claim))
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}, *volumes())
        yield made
    finally:
        made.play("playbooks/teardown.yml", alluxio_under_readers=True, **said("nfs"))
        cluster.kubectl("delete", "namespace", NAME, "--ignore-not-found")
        cluster.kubectl("delete", "persistentvolume", "--ignore-not-found", *(f"test-{claim}" for claim in CLAIMS))
        for node in nodes:
            made.podman("exec", node, "rm", "-rf", FOLDER)


def volumes() -> Iterator[dict[str, Any]]:
    """A volume and its claim each; `unbound` has none."""
    for claim, modes in {**CLAIMS, "unbound": ["ReadOnlyMany"]}.items():
        size = {"storage": "1Gi"}
        if claim != "unbound":
            spec = {
                "capacity": size,
                "accessModes": modes,
                "storageClassName": "",
                "claimRef": {"namespace": NAME, "name": claim},
                "hostPath": {"path": f"{FOLDER}/{claim}", "type": "Directory"},
            }
            yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"test-{claim}"}, "spec": spec}
        asked = {"accessModes": modes, "storageClassName": "", "resources": {"requests": size}}
        about = {"name": claim, "namespace": NAME}
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": about, "spec": asked}


def said(claim: str, **more: Any) -> dict[str, Any]:
    dataset = {"name": "imagenet", "source": f"pvc://{claim}/train", **more}
    return {"alluxio_datasets": [dataset], "alluxio_credentials": {}}


def served(job: Job) -> dict[str, dict[str, str]]:
    """{node: {file: sha256}} as readers see it."""
    return job.read_at_once()


def held(job: Job, claim: str) -> dict[str, str]:
    """{file: sha256} on the claim's volume."""
    script = f"cd {FOLDER}/{claim}/train && find . -type f -print0 | xargs -0 sha256sum"
    return digests("podman", "exec", job.cluster.gpu_nodes()[0], "sh", "-c", script)


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("none", f"namespace {NAME} has no such PersistentVolumeClaim"),
        ("unbound", "it is Pending, not Bound"),
        ("single", "it is ReadWriteOnce: pods of one node alone can mount it"),
    ],
)
def test_a_claim_that_not_every_node_can_read_is_refused(job: Job, claim: str, reason: str) -> None:
    refused = job.play(PREFLIGHT, **said(claim))
    assert refused.status != 0
    assert f"alluxio_datasets[].source: pvc://{claim}" in refused.output
    assert reason in refused.output
    assert "sources" not in " ".join(job.cluster.pods(NAME))


def test_a_folder_that_the_claim_does_not_have_is_refused(job: Job) -> None:
    absent = {"alluxio_datasets": [{"name": "imagenet", "source": "pvc://nfs/absent"}], "alluxio_credentials": {}}
    refused = job.play(PREFLIGHT, **absent, platform_kubernetes_wait=30)
    assert refused.status != 0
    assert "absent" in refused.output


def test_every_byte_of_the_claim_is_read_on_every_node(job: Job) -> None:
    run = judged(job.play("site.yml", **said("nfs")))
    check = latest("check")
    assert {one["host"] for one in check["datasets"]} == set(job.cluster.gpu_nodes())
    assert all(one["wrong"] == 0 for one in check["datasets"]), run.output[-3000:]
    there = held(job, "nfs")
    assert len(there) == 300
    assert served(job) == dict.fromkeys(job.cluster.gpu_nodes(), there)


def test_a_second_run_changes_nothing(job: Job) -> None:
    again = judged(job.play("site.yml", **said("nfs")))
    assert again.changed == 0, again.tasks("changed")


def test_nothing_of_ours_can_write_to_it(job: Job) -> None:
    """As root and as the user that services are, in every pod that sees it."""
    tried = 0
    for name, pod in job.cluster.pods(NAME).items():
        for container in pod["spec"]["containers"]:
            for mount in container.get("volumeMounts", ()):
                if mount["mountPath"].startswith("/sources/"):
                    script = f"touch {mount['mountPath']}/written 2>&1 || true"
                    answer = job.cluster.execute(NAME, name, script, container=container["name"])
                    assert "Read-only file system" in answer, (name, container["name"], answer)
                    tried += 1
    assert tried >= 3  # the one that lists, master, worker
    assert len(held(job, "nfs")) == 300


def test_another_claim_under_the_same_name_is_another_source(job: Job) -> None:
    """Names and sizes are the same: whatever was cached of the former one would be taken for it."""
    assert served(job) != dict.fromkeys(job.cluster.gpu_nodes(), held(job, "other"))
    run = judged(job.play("site.yml", **said("other")))
    assert all(one["wrong"] == 0 for one in latest("check")["datasets"]), run.output[-3000:]
    assert served(job) == dict.fromkeys(job.cluster.gpu_nodes(), held(job, "other"))


def test_a_claim_is_staged(job: Job) -> None:
    """As any other source is: FUSE serves what is copied."""
    stages = [f"playbooks/{stage}.yml" for stage in ("preflight", "plan", "nodes", "services", "warm")]
    succeed(job.play(*stages, **said("other", stage="require")))
    look = ("stat", "--file-system", "--format=%T", f"/mnt/{NAME}/imagenet/data")
    assert {job.podman("exec", node, *look).strip() for node in job.cluster.gpu_nodes()} == {"tmpfs"}
    assert served(job) == dict.fromkeys(job.cluster.gpu_nodes(), held(job, "other"))


def test_teardown_leaves_claims_and_their_files(job: Job) -> None:
    """And the namespace, which this deployment did not make."""
    succeed(job.play("playbooks/teardown.yml", **said("other")))
    assert NAME in job.names("namespaces")
    left = job.cluster.get("persistentvolumeclaims", f"--namespace={NAME}")
    assert {one["metadata"]["name"] for one in left} >= {*CLAIMS, "unbound"}
    assert not job.cluster.pods(NAME)
    assert len(held(job, "nfs")) == len(held(job, "other")) == 300


def test_pods_in_place_of_nodes_see_it_too(job: Job, tmp_path: Path) -> None:
    """Without access to nodes."""
    managed = Job(job.cluster, inventory_of(job.cluster, tmp_path), (*job.layers, MANAGED))
    succeed(managed.play(PREFLIGHT, **said("nfs")))
    node = job.cluster.gpu_nodes()[0]
    listed = job.cluster.execute(NAME, f"{NAME}-access-{node}", "ls /sources/imagenet/sub | wc -l")
    assert listed.strip() == "300"
    run: Run = managed.play("playbooks/teardown.yml", **said("nfs"))
    succeed(run)
    assert not job.cluster.pods(NAME)

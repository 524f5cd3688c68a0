"""From bare nodes to verified reads and back, by the playbooks alone. The order matters."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster import CHART, ROOT, Cluster, CommandError, pod_object
from main_job import LAB_INVENTORY, NAME, Job, connection, deploy, inventory_of, sample_digests, unlike

sys.path.insert(0, str(ROOT / "tests"))
from bundle import Run, judged, latest, succeed

POLICY = [
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "no-privileged-pods"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                ]
            },
            "validations": [
                {"expression": "object.spec.containers.all(c, !(c.?securityContext.?privileged.orValue(false)))"}
            ],
        },
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "no-privileged-pods"},
        "spec": {"policyName": "no-privileged-pods", "validationActions": ["Deny"]},
    },
]


@pytest.fixture(scope="module")
def job(cluster: Cluster, lab: list[str]) -> Iterator[Job]:
    made = Job(cluster, LAB_INVENTORY)
    yield made
    made.play("playbooks/teardown.yml")


@pytest.fixture(scope="module")
def deployed(job: Job, before: Any) -> Run:
    return judged(job.play("site.yml"))


def test_an_image_that_no_node_can_have_is_refused_before_anything_is_installed(job: Job, before: Any) -> None:
    run = job.play("playbooks/preflight.yml", alluxio_image="localhost/no-such-image:1")
    assert run.status != 0
    assert "ErrImage" in run.output or "ImagePullBackOff" in run.output
    assert "no-such-image" in run.output
    assert job.cluster.pods(NAME) == {}


def test_a_namespace_and_a_policy_that_forbid_fuse_are_named(job: Job, before: Any) -> None:
    label = {"pod-security.kubernetes.io/enforce": "baseline"}
    job.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME, "labels": label}})
    try:
        run = job.play("playbooks/preflight.yml")
        assert run.status != 0
        assert "pod-security.kubernetes.io/enforce is baseline" in run.output
    finally:
        job.cluster.kubectl("delete", "namespace", NAME)
    job.cluster.apply(*POLICY)
    try:
        job.cluster.wait("the policy is in force", lambda: not admitted(job), 60)
        run = job.play("playbooks/preflight.yml")
        assert run.status != 0
        assert "ValidatingAdmissionPolicy 'no-privileged-pods'" in run.output
    finally:
        job.cluster.kubectl("delete", *(f"{one['kind']}/{one['metadata']['name']}" for one in POLICY))


def admitted(job: Job) -> bool:
    """Whether the API server would take a privileged pod."""
    container = {"name": "a", "image": "a", "securityContext": {"privileged": True}}
    pod = pod_object("default", "dry-run", {"containers": [container]})
    try:
        job.cluster.kubectl("create", "--dry-run=server", "-f", "-", text=yaml.safe_dump(pod))
    except CommandError:
        return False
    return True


def test_a_first_install_that_fails_says_why_and_is_taken_away(job: Job, before: Any) -> None:
    run = job.play("site.yml", alluxio_overrides={"master.jvm_flags": ["-XX:+NoSuchFlag"]})
    assert run.status != 0
    assert "Unrecognized VM option 'NoSuchFlag'" in run.output
    assert job.cluster.pods(NAME, "master") == {}


def test_every_node_reads_every_byte(deployed: Run, job: Job) -> None:
    check = latest("check")
    assert {one["host"] for one in check["datasets"]} == set(job.cluster.gpu_nodes())
    assert all(one["wrong"] == 0 for one in check["datasets"])
    assert all(one["coverage"] == "all" and one["digested"] >= one["files"] for one in check["datasets"])


def test_one_node_reads_cold_and_all_read_at_once(deployed: Run, job: Job) -> None:
    nodes = job.cluster.gpu_nodes()
    rows = {one["host"]: [row for row in one["rows"] if row["path"] == "mount"] for one in latest("check")["datasets"]}
    cold = {
        (host, row["kind"]) for host in nodes for row in rows[host] if row["state"] == "cold" and row["established"]
    }
    assert cold == {(nodes[0], "small"), (nodes[0], "large")}
    assert {one["nodes"] for one in latest("check")["fleet"]} == {len(nodes)}
    together = [one for one in latest("check")["fleet"] if (one["kind"], one["state"]) == ("small", "client-cache")]
    assert all(one["files_per_s"] or "began after" in one["why"] for one in together), together
    assert all(f"{host}: 1: all nodes at once, small files" in deployed.output for host in nodes)
    lines = [line for line in deployed.output.splitlines() if ": mount, client-cache, small" in line]
    turns = [line.partition(":")[0].strip() for line in lines]
    assert {*turns} == {*nodes}
    assert turns not in (sorted(turns), sorted(turns, reverse=True))  # not one node after the other


def test_pods_read_as_their_readers_and_as_strangers(deployed: Run, job: Job) -> None:
    for node in job.cluster.gpu_nodes():
        for uid in (0, 65532):  # the owner, and somebody of the group
            line = f"{node}: imagenet in a pod of uid {uid}, gid 2000: 200 files compared, all right"
            assert line in deployed.output
        assert f"{node}: imagenet in a pod of uid 65533, gid 65533: denied, as declared" in deployed.output


def test_the_key_is_in_secrets_only(deployed: Run, job: Job) -> None:
    (password,) = job.cluster.get("secret", f"{NAME}-rpc-password", f"--namespace={NAME}")
    canaries = [job.cluster.settings["lab_access_key"], job.cluster.settings["lab_secret_key"]]
    canaries.append(base64.b64decode(password["data"]["password"]).decode())
    kinds = ("pods", "configmaps", "daemonsets", "statefulsets", "deployments", "events")
    told = [deployed.output, *(json.dumps(job.cluster.get(kind, f"--namespace={NAME}")) for kind in kinds)]
    told += [path.read_text(errors="replace") for path in (ROOT / "runs").rglob("*") if path.is_file()]
    for name, pod in job.cluster.pods(NAME).items():
        told.append(job.cluster.kubectl("logs", f"--namespace={NAME}", name, "--all-containers", "--tail=-1"))
        assert not any(canary in json.dumps(pod) for canary in canaries)
    assert not [text[:200] for text in told if any(canary in text for canary in canaries)]


def test_a_pod_is_told_nothing_by_rpc_ports(deployed: Run, job: Job) -> None:
    """Of the image itself, by Alluxio's admin's name: without the password the master tells it no keys."""
    master = f"{NAME}-master-0.{NAME}-master-headless.{NAME}.svc"
    said = {
        "alluxio.master.hostname": master,
        "alluxio.job.master.hostname": master,
        "alluxio.security.login.username": "alluxio",
        "alluxio.user.rpc.retry.max.duration": "2s",
    }
    options = " ".join(f"-D{key}={amount}" for key, amount in said.items())
    pod = ["run", "stranger", "--namespace=default", "--rm", "--attach", "--quiet", "--restart=Never"]
    image = [f"--image={job.cluster.image}", "--image-pull-policy=Never", f"--env=ALLUXIO_JAVA_OPTS={options}"]
    for arguments in (["fs", "mount"], ["fsadmin", "report"], ["job", "ls"]):
        with pytest.raises(CommandError, match="this deployment's password was not given") as answer:
            job.cluster.kubectl(*pod, *image, "--command", "--", "/opt/alluxio/bin/alluxio", *arguments)
        assert "/imagenet" not in str(answer.value).partition("--command")[2]


def test_a_second_run_disturbs_no_reader(deployed: Run, job: Job) -> None:
    node = job.cluster.gpu_nodes()[0]
    was, sent = job.release(), job.store_sent()
    read = "find . -type f -exec cat {} + >/dev/null || exit 7; sleep 5"
    script = f"cd /mnt/{NAME}/imagenet/data; exec 3< $(find . -type f | head -1); while true; do {read}; done"
    with subprocess.Popen(["podman", "exec", node, "sh", "-c", script]) as reader:
        try:
            run = judged(job.play("site.yml"))
            assert reader.poll() is None
        finally:
            subprocess.run(["podman", "exec", node, "pkill", "-f", "while true; do find"], check=False)
            reader.kill()
    assert run.changed == 0, run.tasks("changed")
    assert job.release() == was
    assert job.store_sent() - sent < 0.05 * sum(one["bytes"] for one in latest("check")["datasets"][:1])
    assert "left alone, in use by" in run.output


def test_one_edited_flag_rolls_the_workers_alone(deployed: Run, job: Job) -> None:
    was = job.release()
    succeed(job.play("playbooks/plan.yml", alluxio_overrides={"worker.jvm_flags": ["-Dedited=1"]}))
    run = succeed(job.play("playbooks/services.yml"))
    assert run.changed == 1, run.tasks("changed")
    now = job.release()
    assert {name for name in was if now.get(name) != was[name]} == {name for name in was if "-worker-" in name}


def test_masters_that_will_want_a_password_cut_no_reader_off(deployed: Run, job: Job) -> None:
    """A release as of a version before: its FUSE pods have none."""
    node = job.cluster.gpu_nodes()[0]
    here = f"--namespace={NAME}"
    values = yaml.safe_load(job.cluster.helm("get", "values", NAME, here, "--output=yaml"))
    without = values | {"rpcPassword": {"secret": ""}}
    job.cluster.helm("upgrade", NAME, CHART, here, values=without)  # --wait would wait for FUSE, which updates OnDelete
    for rolled in (f"statefulset/{NAME}-master", f"daemonset/{NAME}-worker"):
        job.cluster.kubectl("rollout", "status", here, rolled)
    job.cluster.kubectl("delete", "pods", here, "--selector=app.kubernetes.io/component=fuse-imagenet")
    job.cluster.wait_ready(NAME, {"fuse-imagenet": len(job.cluster.gpu_nodes())})
    wanted = sample_digests(Path(job.cluster.settings["lab_sample"]))
    reader = f"exec sleep 600 </mnt/{NAME}/imagenet/data/{min(wanted)}"
    job.podman("exec", "--detach", node, "sh", "-c", reader)
    try:
        was = job.release()
        refused = job.play("playbooks/services.yml")
        assert refused.status != 0
        assert "from before Alluxio's ports had a password, and read by sleep (" in " ".join(refused.output.split())
        assert job.release() == was
    finally:
        job.podman("exec", node, "pkill", "-f", "sleep 600")
    succeed(job.play("playbooks/services.yml"))
    assert job.read_at_once() == dict.fromkeys(job.cluster.gpu_nodes(), wanted)


def test_what_somebody_changed_is_named_and_undone(deployed: Run, job: Job) -> None:
    """Helm compares with its own record, so it would not notice."""
    was, namespace = job.release(), f"--namespace={NAME}"
    edit = '{"data":{"master.properties":"alluxio.debug=true"}}'
    job.cluster.kubectl(namespace, "patch", "configmap", NAME, "--type=merge", "--patch", edit)
    job.cluster.kubectl(
        namespace, "label", "service", f"{NAME}-master", "app.kubernetes.io/instance=mine", "--overwrite"
    )
    told = f"Service {NAME}-master: metadata.labels.app.kubernetes.io/instance: mine, not {NAME}"
    drift = job.play("playbooks/drift.yml", "--check", "--diff")
    assert drift.status == 2
    assert told in drift.output
    assert "differ; site.yml makes them as planned" in drift.output
    looked = succeed(job.play("playbooks/services.yml", "--check"))
    assert told in looked.output
    assert "ConfigMap alluxio-fuse: data.master.properties: alluxio.debug=true, not " in looked.output
    run = succeed(job.play("playbooks/services.yml"))
    assert told in run.output
    assert run.changed == 1, run.tasks("changed")
    assert succeed(job.play("playbooks/services.yml")).changed == 0
    assert "drift    none" in succeed(job.play("playbooks/drift.yml", "--check", "--diff")).output
    assert job.release() == was


def test_a_diagnosis_holds_what_the_cluster_tells_and_no_key(deployed: Run, job: Job, tmp_path: Path) -> None:
    was = job.release()
    run = succeed(job.play("playbooks/diagnose.yml", "-e", f"diagnose_dir={tmp_path}"))
    with tarfile.open(tmp_path / "diagnosis.tar.gz") as archive:
        files = {one.name.partition("/")[2]: archive.extractfile(one).read().decode() for one in archive}
    logs = [name for name in files if name.startswith(f"cluster/{NAME}-") and name.endswith("/fuse.txt")]
    assert len(logs) == len(job.cluster.gpu_nodes())
    assert {"cluster/pods.json", "cluster/events.json", "cluster/nodes.json", "cluster/configmaps.json"} <= files.keys()
    assert "imagenet   serves" in files["status.txt"]
    keys = [job.cluster.settings["lab_access_key"], job.cluster.settings["lab_secret_key"]]
    assert not [name for name, text in {**files, "output": run.output}.items() if any(key in text for key in keys)]
    assert job.release() == was


def test_status_says_what_serves(deployed: Run, job: Job) -> None:
    run = succeed(job.play("playbooks/status.yml"))
    assert run.changed == 0
    for node in job.cluster.gpu_nodes():
        assert f"{node}   imagenet   serves" in run.output
    job.cluster.kubectl(f"--namespace={NAME}", "scale", f"statefulset/{NAME}-master", "--replicas=0")
    try:
        job.cluster.wait("the master is away", lambda: not job.cluster.pods(NAME, "master"), 120)
        down = job.play("playbooks/status.yml")
        assert down.status == 2
        assert "FAILING  master:" in down.output
    finally:
        job.cluster.kubectl(f"--namespace={NAME}", "scale", f"statefulset/{NAME}-master", "--replicas=1")
    job.cluster.wait_ready(NAME, {"master": 1})


def test_nodes_outside_of_limit_are_not_touched(deployed: Run, job: Job) -> None:
    mine, other = job.cluster.gpu_nodes()[:2]
    was, looked = job.release(), job.nodes()[other]
    run = judged(job.play("site.yml", "--limit", mine, alluxio_check_passes=2))
    assert f"{mine} " in run.output
    assert f"{other} " not in run.output.partition("PLAY RECAP")[2]
    assert job.release() == was
    assert unlike(looked, job.nodes()[other]) == []
    assert {one["host"] for one in latest("check")["datasets"]} == {mine}


def test_a_node_that_leaves_the_inventory_serves_no_more_until_it_is_back(
    deployed: Run, job: Job, tmp_path: Path
) -> None:
    leaves = job.cluster.gpu_nodes()[-1]
    without = Job(job.cluster, inventory_of(job.cluster, tmp_path, [leaves], **connection()))
    succeed(without.play("playbooks/plan.yml"))
    succeed(without.play("playbooks/services.yml"))
    assert not [label for label in job.node_labels(leaves) if "alluxio-fuse/" in label]
    served = {pod["spec"]["nodeName"] for pod in job.cluster.pods(NAME, "fuse-imagenet").values()}
    assert served == {*job.cluster.gpu_nodes()} - {leaves}
    job.cluster.wait_ready(NAME, {"worker": len(served), "fuse-imagenet": len(served)})
    succeed(job.play("playbooks/plan.yml"))
    succeed(job.play("playbooks/services.yml"))
    job.cluster.wait_ready(NAME, {"worker": len(served) + 1, "fuse-imagenet": len(served) + 1})


def test_labels_follow_from_gpus_when_asked_and_go_with_them(deployed: Run, job: Job) -> None:
    """What nvidia-smi prints stands in for the cards themselves."""
    node, outputs = job.cluster.gpu_nodes()[0], ROOT / "tests/unit/node/nvidia_smi"
    cluster = {"kubeconfig": str(job.cluster.kubeconfig), "keep_journal": False, "gpu_labels": True}
    succeed(job.play("playbooks/plan.yml", alluxio_kubernetes=cluster))
    was = job.node_labels(node)
    vendor = ("nvidia.com/gpu.product", "nvidia.com/gpu.count", "nvidia.com/gpu.present")
    try:
        job.podman("cp", str(outputs / "v100.csv"), f"{node}:/srv/nvidia-smi.csv")
        job.podman("cp", str(outputs / "nvidia-smi"), f"{node}:/usr/bin/nvidia-smi")
        succeed(job.play("playbooks/services.yml"))
        now = job.node_labels(node)
        assert now["alluxio-fuse/gpu.product"] == "Tesla-V100-SXM2-16GB"
        assert [now.get(name) for name in vendor] == [None, None, "true"]  # somebody labels this node: the lab
        job.cluster.kubectl("label", "node", node, "nvidia.com/gpu.present-")
        succeed(job.play("playbooks/services.yml"))
        now = job.node_labels(node)
        assert [now.get(name) for name in vendor] == ["Tesla-V100-SXM2-16GB", "8", "true"]
        job.podman("exec", node, "rm", "/srv/nvidia-smi.csv", "/usr/bin/nvidia-smi")
        succeed(job.play("playbooks/services.yml"))
        assert not {*vendor, "alluxio-fuse/gpu"} & job.node_labels(node).keys()
    finally:
        job.podman("exec", node, "rm", "-f", "/srv/nvidia-smi.csv", "/usr/bin/nvidia-smi")
        job.cluster.kubectl("label", "node", node, "--overwrite", "nvidia.com/gpu.present=true")
    assert job.node_labels(node) == was


def test_teardown_leaves_nodes_and_cluster_as_they_were(deployed: Run, job: Job, before: Any) -> None:
    succeed(job.play("playbooks/teardown.yml"))
    nodes, objects = before
    for name, after in job.nodes().items():
        assert unlike(nodes[name], after) == []
    assert job.objects() == objects
    assert succeed(job.play("playbooks/teardown.yml")).changed == 0


def test_a_node_that_sees_another_filesystem_serves_nothing(job: Job, before: Any) -> None:
    """A folder that every node has mounted, with one of its files as the marker."""
    shared, node = job.cluster.settings["lab_shared"], job.cluster.gpu_nodes()[-1]
    right = sample_digests(Path(job.cluster.settings["lab_sample"]))
    file, digest = next(iter(right.items()))
    dataset = {"name": "imagenet", "source": f"file://{shared}", "marker": {"file": file[2:], "sha256": digest}}
    cluster = {"kubeconfig": str(job.cluster.kubeconfig), "keep_journal": True}
    said = {"alluxio_datasets": [dataset], "alluxio_credentials": {}, "alluxio_kubernetes": cluster}
    hide = f"mount -t tmpfs other {shared} && echo other >{shared}/file"
    succeed(job.play("playbooks/preflight.yml", **said))
    job.podman("exec", node, "sh", "-c", hide)
    try:
        run = job.play("playbooks/preflight.yml", **said)
        assert run.status != 0
        assert f"foreign on {node}: the marker {shared}/{file[2:]} is missing" in run.output
    finally:
        job.podman("exec", node, "umount", shared)

    deploy(job, **said)
    assert job.read_at_once() == dict.fromkeys(job.cluster.gpu_nodes(), right)
    job.podman("exec", node, "sh", "-c", hide)
    try:
        assert "so this is not the dataset's filesystem" in said_at_start(job, node)
    finally:
        job.podman("exec", node, "umount", shared)
    job.cluster.wait_ready(NAME, {"worker": len(job.cluster.gpu_nodes())})
    succeed(job.play("playbooks/teardown.yml", **said))
    kept = job.cluster.get("pvc", f"--namespace={NAME}")
    assert [one["metadata"]["name"] for one in kept] == [f"journal-{NAME}-master-0"]
    job.cluster.kubectl("delete", "namespace", NAME)


def said_at_start(job: Job, node: str) -> str:
    """What the container says that verifies the dataset before a node's new worker starts."""
    namespace = f"--namespace={NAME}"

    def worker() -> str:
        pods = job.cluster.pods(NAME, "worker").items()
        return next((name for name, pod in pods if pod["spec"].get("nodeName") == node), "")

    job.cluster.kubectl(namespace, "delete", "pod", worker())
    said: list[str] = []

    def ended() -> bool:
        said.append(job.cluster.kubectl(namespace, "logs", worker(), "--container=verify"))
        return bool(said[-1]) and "unable to retrieve" not in said[-1]  # that is the kubelet's, between two starts

    job.cluster.wait("the worker's container verify speaks", ended, 120)
    return said[-1]

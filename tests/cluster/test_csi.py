"""Volumes of the chart's CSI driver: what pods of a namespace that enforces `restricted` read. The order matters."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cluster import CHART, Cluster, CommandError, Object, pod_object
from test_chart import FUSE, MASTER, MOUNTS, READERS, WORKER, namespace_with_keys, remove, values

RELEASE, READING = "volumes", "restricted-readers"
DRIVER = f"cache-alluxio-fuse.{RELEASE}"
SERVES = "alluxio-fuse-tests/serves"
INLINE = {"csi": {"driver": DRIVER, "readOnly": True, "volumeAttributes": {"dataset": "imagenet"}}}
CLAIM = {"persistentVolumeClaim": {"claimName": f"imagenet.{DRIVER}", "readOnly": True}}


def reader(cluster: Cluster, name: str, node: str, volume: Object, propagation: str = "HostToContainer") -> Object:
    """A pod of the readers' group that Pod Security `restricted` takes, and that sleeps with a volume at /data."""
    container = {
        "name": "reader",
        "image": cluster.image,
        "command": ["sleep", "infinity"],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "data", "mountPath": "/data", "mountPropagation": propagation, "readOnly": True}],
    }
    profile = {"seccompProfile": {"type": "RuntimeDefault"}}
    spec = {
        "nodeName": node,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 12345, "runAsGroup": READERS, **profile},
        "containers": [container],
        "volumes": [{"name": "data", **volume}],
    }
    return pod_object(READING, name, spec)


def ready(cluster: Cluster, name: str, seconds: int = 120) -> None:
    cluster.kubectl(f"--namespace={READING}", "wait", "--for=condition=Ready", f"pod/{name}", f"--timeout={seconds}s")


def told(cluster: Cluster, name: str) -> str:
    """What events say of a pod."""
    found = cluster.get("events", f"--namespace={READING}", f"--field-selector=involvedObject.name={name}")
    return "\n".join(one["message"] for one in found)


@pytest.fixture(scope="module")
def nodes(cluster: Cluster) -> list[str]:
    """GPU nodes, of which the first serves from the beginning."""
    return list(cluster.gpu_nodes()[:2])


@pytest.fixture(scope="module", autouse=True)
def release(cluster: Cluster, nodes: list[str]) -> Iterator[None]:
    """A release with the plugin on every node, and FUSE on those that are labelled for it."""
    remove(cluster, RELEASE)
    cluster.kubectl("delete", "namespace", READING, "--ignore-not-found")
    cluster.kubectl("label", "node", "--all", f"{SERVES}-")
    namespace_with_keys(cluster, RELEASE)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": READING, "labels": labels}})
    cluster.kubectl("label", "node", nodes[0], f"{SERVES}=yes")
    given = values(cluster, csi={"enabled": True, "claims": [READING]}, fuse={"nodeSelector": {SERVES: "yes"}})
    everywhere = len(cluster.get("nodes"))
    try:
        cluster.helm("install", "cache", CHART, "--namespace", RELEASE, values=given)
        wanted = {MASTER: 1, WORKER: len(cluster.gpu_nodes()), MOUNTS: 1, FUSE: 1, "csi": everywhere}
        cluster.wait_ready(RELEASE, wanted)
        yield
    finally:
        cluster.kubectl("delete", "pods", "--all", f"--namespace={READING}", "--wait")
        remove(cluster, RELEASE)
        cluster.kubectl("delete", "namespace", READING)
        cluster.kubectl("label", "node", "--all", f"{SERVES}-")
        for node in nodes:
            cluster.kubectl("delete", "pod", f"shell-{node}", "--namespace=default", "--ignore-not-found")


@pytest.fixture(scope="module")
def check(cluster: Cluster) -> Callable[..., None]:
    """Reads files of the dataset in a pod, every one or one of so many, and compares their digests."""
    sample = Path(cluster.settings["lab_sample"])
    files = sorted(path for path in sample.rglob("*") if path.is_file() and not path.name.startswith("."))
    digests = {str(path.relative_to(sample)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    lines = [f"{digest}  {name}\n" for name, digest in digests.items()]
    assert len(lines) > 100

    def check(pod: str, one_of: int = 100) -> None:
        text = "".join(lines[::one_of])
        cluster.execute(READING, pod, "cd /data/data && sha256sum --check --strict --quiet", text=text)

    return check


@pytest.mark.parametrize(("name", "volume"), [("inline", INLINE), ("claimed", CLAIM)])
def test_a_restricted_namespace_reads_every_byte(
    cluster: Cluster, nodes: list[str], check: Callable[..., None], name: str, volume: Object
) -> None:
    cluster.apply(reader(cluster, name, nodes[0], volume))
    ready(cluster, name)
    check(name, one_of=1)
    with pytest.raises(CommandError, match="Read-only file system"):
        cluster.execute(READING, name, "touch /data/file")
    with pytest.raises(CommandError, match="Read-only file system"):
        cluster.execute(READING, name, "touch /data/data/file")


def test_a_restricted_namespace_takes_no_folder_of_the_node(cluster: Cluster, nodes: list[str]) -> None:
    folder = {"hostPath": {"path": f"/mnt/{RELEASE}/cache-alluxio-fuse/imagenet", "type": "Directory"}}
    with pytest.raises(CommandError, match="violates PodSecurity"):
        cluster.apply(reader(cluster, "folder", nodes[0], folder))


def test_an_unknown_dataset_is_said_to_the_pod(cluster: Cluster, nodes: list[str]) -> None:
    unknown = {"csi": {"driver": DRIVER, "volumeAttributes": {"dataset": "coco"}}}
    cluster.apply(reader(cluster, "unknown", nodes[0], unknown))
    words = "code = NotFound desc = the release has no dataset coco: write one of imagenet"
    cluster.wait("an event", lambda: words in told(cluster, "unknown"), 60)
    cluster.kubectl("delete", "pod", "unknown", f"--namespace={READING}")


def test_a_pod_waits_until_its_node_serves(cluster: Cluster, nodes: list[str], check: Callable[..., None]) -> None:
    cluster.apply(reader(cluster, "early", nodes[1], INLINE))
    # The folder of a former release may be there.
    nothing = rf"(serves it on node {nodes[1]}|is mounted at \S+ on node {nodes[1]} yet)"
    words = re.compile(f"code = Unavailable desc = dataset imagenet: nothing {nothing}")
    cluster.wait("an event", lambda: words.search(told(cluster, "early")), 60)
    (pod,) = cluster.get("pod", "early", f"--namespace={READING}")
    (state,) = pod["status"]["containerStatuses"]
    assert state["state"]["waiting"]["reason"] == "ContainerCreating"
    cluster.kubectl("label", "node", nodes[1], f"{SERVES}=yes")
    cluster.wait_ready(RELEASE, {FUSE: 2})
    ready(cluster, "early", 180)
    check("early")


def test_the_kubelet_knows_how_full_a_volume_is(cluster: Cluster, nodes: list[str]) -> None:
    def sizes() -> list[int]:
        summary = json.loads(cluster.kubectl("get", "--raw", f"/api/v1/nodes/{nodes[0]}/proxy/stats/summary"))
        volumes = [one for pod in summary["pods"] for one in pod.get("volume", [])]
        return [one["capacityBytes"] for one in volumes if one.get("pvcRef", {}).get("namespace") == READING]

    cluster.wait("capacity", lambda: [size > 0 for size in sizes()] == [True], 180)


def test_a_killed_fuse_comes_back_inside_running_pods(
    cluster: Cluster, nodes: list[str], check: Callable[..., None]
) -> None:
    """By inline volume and by claim; a container without HostToContainer keeps the dead mount."""
    cluster.apply(reader(cluster, "without", nodes[0], INLINE, propagation="None"))
    ready(cluster, "without")
    check("without")
    fuse = next(pod for pod in cluster.pods(RELEASE, FUSE).values() if pod["spec"]["nodeName"] == nodes[0])
    # All processes but the first, so that nobody is left to clean up.
    with suppress(CommandError):
        cluster.execute(RELEASE, fuse["metadata"]["name"], "kill -9 -1", container="fuse")
    with pytest.raises(CommandError, match="Transport endpoint is not connected"):
        cluster.execute(READING, "without", "ls /data/data")
    for name in ("inline", "claimed"):
        cluster.wait(f"{name} reads again", lambda name=name: check(name) or True, 180)
    with pytest.raises(CommandError, match="Transport endpoint is not connected"):
        cluster.execute(READING, "without", "ls /data/data")
    cluster.apply(reader(cluster, "later", nodes[0], INLINE))
    ready(cluster, "later")
    check("later")


def test_pods_read_on_and_others_start_when_the_plugin_was_replaced(
    cluster: Cluster, nodes: list[str], check: Callable[..., None]
) -> None:
    before = set(cluster.pods(RELEASE, "csi"))
    cluster.kubectl(f"--namespace={RELEASE}", "delete", "pods", "--selector=app.kubernetes.io/component=csi")
    check("inline")
    cluster.wait_ready(RELEASE, {"csi": len(before)})
    assert not before & set(cluster.pods(RELEASE, "csi"))
    cluster.apply(reader(cluster, "after", nodes[0], CLAIM))
    ready(cluster, "after")
    check("after")


def test_nothing_stays_mounted_when_pods_are_gone(cluster: Cluster, nodes: list[str]) -> None:
    left = "if grep kubernetes.io~csi /proc/self/mountinfo; then exit 1; fi"
    with pytest.raises(CommandError):
        cluster.on_node(nodes[0], left)
    cluster.kubectl("delete", "pods", "--all", f"--namespace={READING}", "--wait")
    for node in nodes:  # their kubelets may unmount after the pods are gone
        cluster.wait("unmounted volumes", lambda node=node: cluster.on_node(node, left) or True, 60)
    assert len(cluster.pods(RELEASE, FUSE)) == 2

"""The chart, installed: what pods and training jobs see of it, and what they do not notice. The order matters."""

from __future__ import annotations

import hashlib
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster import CHART, GPU, Cluster, CommandError, Object, consumer, is_ready, restarts

HERE = Path(__file__).parent
SMALL = yaml.safe_load((HERE / "small.yaml").read_text())
PREVIOUS = HERE / "fixtures" / "alluxio-fuse-0.1.0.tgz"
MASTER, WORKER, MOUNTS, FUSE = "master", "worker", "mounts", "fuse-imagenet"
READERS = 2000
POINT = "/mnt/fast0"
TAINT = "alluxio-fuse/mount-not-ready"


def parent(namespace: str) -> str:
    """The folder on nodes that readers mount."""
    return f"/mnt/{namespace}/cache-alluxio-fuse/imagenet"


def merged(base: Object, over: Object) -> Object:
    """Values with others on top."""
    both = {key: merged(base[key], over[key]) for key in base.keys() & over.keys() if isinstance(base[key], dict)}
    return {**base, **over, **both}


def values(cluster: Cluster, **over: Any) -> Object:
    """A release of the lab's dataset."""
    imagenet = {
        "name": "imagenet",
        "source": cluster.settings["lab_dataset"],
        "s3": {"endpoint": cluster.settings["lab_s3_endpoint"], "region": "us-east-1", "pathStyle": True},
        "credentials": {"secret": "keys", "accessKey": "access_key", "secretKey": "secret_key"},
        "readers": {"uid": 0, "gid": READERS, "mode": "0750"},
    }
    repository, _, tag = cluster.image.rpartition(":")
    image = {"repository": repository, "tag": tag}
    return merged({**SMALL, "datasets": [imagenet], "image": image}, over)


def namespace_with_keys(cluster: Cluster, name: str, labels: dict[str, str] | None = None) -> None:
    """A namespace that holds the store's keys and CA."""
    keys = {"access_key": cluster.settings["lab_access_key"], "secret_key": cluster.settings["lab_secret_key"]}
    authority = {"ca.crt": Path(cluster.settings["lab_s3_ca_file"]).read_text()}
    cluster.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": name}, "stringData": keys},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "store-ca", "namespace": name},
            "data": authority,
        },
    )


def remove(cluster: Cluster, name: str) -> None:
    """The release and its namespace, gone."""
    cluster.helm("uninstall", "cache", "--namespace", name, "--ignore-not-found", "--wait", "--timeout", "4m")
    cluster.kubectl("delete", "namespace", name, "--ignore-not-found")


def whole(cluster: Cluster) -> dict[str, int]:
    """Components of a release and their pods."""
    nodes = len(cluster.gpu_nodes())
    return {MASTER: 1, WORKER: nodes, MOUNTS: 1, FUSE: nodes}


def start_reader(
    cluster: Cluster, namespace: str, name: str, node: str, user: tuple[int, int] = (12345, READERS)
) -> None:
    """A running consumer pod; of an arbitrary uid in the readers' group, unless said otherwise."""
    cluster.apply(consumer(namespace, name, node=node, image=cluster.image, parent=parent(namespace), user=user))
    cluster.kubectl(f"--namespace={namespace}", "wait", "--for=condition=Ready", f"pod/{name}", "--timeout=120s")


def uids(cluster: Cluster, namespace: str) -> dict[str, str]:
    """Component and uid of each pod that a controller keeps."""
    return {
        pod["metadata"]["uid"]: pod["metadata"]["labels"]["app.kubernetes.io/component"]
        for pod in cluster.pods(namespace).values()
        if pod["metadata"]["labels"]["app.kubernetes.io/component"] != "test"
    }


@pytest.fixture(scope="module")
def digests(cluster: Cluster) -> list[dict[str, str]]:
    """Paths of the dataset and their digests, taken from what was uploaded."""
    sample = Path(cluster.settings["lab_sample"])
    files = sorted(path for path in sample.rglob("*") if path.is_file() and not path.name.startswith("."))
    few = [*files[:: len(files) // 20], *sorted(sample.glob("tfrecord/*"))[:1]]
    return [
        {"path": str(path.relative_to(sample)), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in few
    ]


@pytest.fixture(scope="module")
def check(cluster: Cluster, digests: list[dict[str, str]]) -> Callable[..., None]:
    """Reads files in a consumer and compares their digests."""
    lines = "".join(f"{one['sha256']}  {one['path']}\n" for one in digests)

    def check(pod: str, namespace: str = "data") -> None:
        cluster.execute(namespace, pod, "cd /data/data && sha256sum --check --strict --quiet", text=lines)

    return check


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Iterator[Callable[..., None]]:
    """A release `cache` in namespace `data`; called with values, it is upgraded to them."""

    def upgrade(**over: Any) -> None:
        cluster.helm("upgrade", "--install", "cache", CHART, "--namespace", "data", values=values(cluster, **over))

    remove(cluster, "data")
    namespace_with_keys(cluster, "data")
    try:
        upgrade()
        cluster.wait_ready("data", whole(cluster))
        yield upgrade
    finally:
        remove(cluster, "data")
        for node in cluster.gpu_nodes():
            cluster.kubectl("delete", "pod", f"shell-{node}", "--namespace=default", "--ignore-not-found")


@pytest.fixture(scope="module")
def readers(cluster: Cluster, release: object) -> dict[str, str]:
    """A consumer per GPU node: node and pod."""
    found = {node: f"reader-{node}" for node in cluster.gpu_nodes()}
    for node, name in found.items():
        start_reader(cluster, "data", name, node)
    return found


def test_consumers_of_every_node_read_the_dataset(readers: dict[str, str], check: Callable[..., None]) -> None:
    for pod in readers.values():
        check(pod)


def test_root_reads_and_a_stranger_does_not(
    cluster: Cluster, readers: dict[str, str], check: Callable[..., None]
) -> None:
    node = next(iter(readers))
    start_reader(cluster, "data", "root", node, (0, 0))
    start_reader(cluster, "data", "stranger", node, (3000, 3000))
    check("root")
    with pytest.raises(CommandError, match="Permission denied"):
        cluster.execute("data", "stranger", "ls /data/data")


def test_nobody_writes(cluster: Cluster, readers: dict[str, str]) -> None:
    for pod in ("root", *readers.values()):
        with pytest.raises(CommandError, match="Read-only file system"):
            cluster.execute("data", pod, "touch /data/data/file")


def test_helm_test_tells_right_from_wrong(
    cluster: Cluster, release: Callable[..., None], digests: list[dict[str, str]]
) -> None:
    before = uids(cluster, "data")
    release(tests={"digests": digests})
    cluster.helm("test", "cache", "--namespace", "data", "--timeout", "3m")
    said = cluster.kubectl("--namespace=data", "logs", "cache-alluxio-fuse-test")
    assert f"{digests[0]['path']}: OK" in said
    assert "MB/s" in said

    release(tests={"digests": [{**digests[0], "sha256": "0" * 64}]})
    with pytest.raises(CommandError):
        cluster.helm("test", "cache", "--namespace", "data", "--timeout", "3m")
    assert f"{digests[0]['path']}: FAILED" in cluster.kubectl("--namespace=data", "logs", "cache-alluxio-fuse-test")
    assert uids(cluster, "data") == before


def test_one_flag_of_the_workers_rolls_the_workers_only(
    cluster: Cluster, release: Callable[..., None], readers: dict[str, str], check: Callable[..., None]
) -> None:
    before = uids(cluster, "data")
    release(worker={"jvm": {**SMALL["worker"]["jvm"], "extra": ["-XX:NewRatio=3"]}})
    cluster.kubectl("--namespace=data", "rollout", "status", "daemonset/cache-alluxio-fuse-worker", "--timeout=240s")
    cluster.wait_ready("data", whole(cluster))
    after = uids(cluster, "data")
    assert {before[uid] for uid in before.keys() - after.keys()} == {WORKER}
    assert {after[uid] for uid in after.keys() & before.keys()} == {MASTER, MOUNTS, FUSE}
    for pod in readers.values():
        check(pod)


def test_a_running_consumer_sees_the_mount_again_after_fuse_was_killed(
    cluster: Cluster, readers: dict[str, str], check: Callable[..., None]
) -> None:
    node, reader = next(iter(readers.items()))
    fuse = next(pod for pod in cluster.pods("data", FUSE).values() if pod["spec"]["nodeName"] == node)
    name = fuse["metadata"]["name"]
    # All processes but the first, so that nobody is left to clean up.
    with suppress(CommandError):
        cluster.execute("data", name, "kill -9 -1", container="fuse")
    cluster.wait("the consumer reads again", lambda: check(reader) or True, 180)
    now = cluster.pods("data", FUSE)[name]
    assert now["metadata"]["uid"] == fuse["metadata"]["uid"]
    assert restarts(now) == restarts(fuse) + 1


def test_without_a_master_fuse_stays_and_the_journal_is_kept(
    cluster: Cluster, readers: dict[str, str], check: Callable[..., None]
) -> None:
    def table() -> str:
        return cluster.execute("data", "cache-alluxio-fuse-master-0", "alluxio fs mount", container="master")

    before = {name: restarts(pod) for name, pod in cluster.pods("data", FUSE).items()}
    # Nobody mounts anew what a lost journal would have forgotten.
    cluster.kubectl("--namespace=data", "scale", "deployment/cache-alluxio-fuse-mounts", "--replicas=0")
    cluster.kubectl("--namespace=data", "scale", "statefulset/cache-alluxio-fuse-master", "--replicas=0")
    cluster.wait(
        "the master is gone", lambda: not cluster.get("pods", "-n=data", f"-l=app.kubernetes.io/component={MASTER}")
    )
    alive = f"bash /opt/alluxio/conf/fuse-live.sh {parent('data')}/data 49999"
    for _ in range(5):
        for name in before:
            cluster.execute("data", name, alive, container="fuse")
        time.sleep(5)
    with pytest.raises(CommandError, match="nothing of type fuse"):
        cluster.execute("data", next(iter(before)), alive.replace("/data 4", "/nowhere 4"), container="fuse")

    cluster.kubectl("--namespace=data", "scale", "statefulset/cache-alluxio-fuse-master", "--replicas=1")
    cluster.wait_ready("data", {MASTER: 1})
    cluster.wait("the mount table is the journal's", lambda: " on /imagenet " in " ".join(table().split()))
    cluster.kubectl("--namespace=data", "scale", "deployment/cache-alluxio-fuse-mounts", "--replicas=1")
    cluster.wait_ready("data", whole(cluster))
    assert {name: restarts(pod) for name, pod in cluster.pods("data", FUSE).items()} == before
    for pod in readers.values():
        check(pod)


@pytest.fixture(scope="module")
def second(cluster: Cluster, release: object) -> Iterator[Callable[..., None]]:
    """A release of the same name in another namespace, first installed from the previous version of the chart."""

    def upgrade(chart: Path, **over: Any) -> None:
        cluster.helm("upgrade", "--install", "cache", chart, "--namespace", "other", values=values(cluster, **over))

    remove(cluster, "other")
    namespace_with_keys(cluster, "other")
    try:
        upgrade(PREVIOUS)
        cluster.wait_ready("other", whole(cluster))
        yield upgrade
    finally:
        remove(cluster, "other")
        for node in cluster.gpu_nodes():
            cluster.on_node(node, f"if mountpoint -q {POINT}; then umount {POINT}; fi; rm -rf {POINT}")


def test_two_releases_serve_the_same_nodes(
    cluster: Cluster, second: object, readers: dict[str, str], check: Callable[..., None]
) -> None:
    for node, reader in readers.items():
        start_reader(cluster, "other", f"reader-{node}", node)
        check(f"reader-{node}", "other")
        check(reader)


def test_upgraded_release_refuses_devices_that_are_not_mounted(
    cluster: Cluster, second: Callable[..., None], check: Callable[..., None]
) -> None:
    before = uids(cluster, "other")
    nodes = cluster.gpu_nodes()
    for node in nodes:
        cluster.on_node(node, f"mkdir -p {POINT}")
    tier = {"medium": "ssd", "quota": "128Mi", "hostPath": {"path": f"{POINT}/tier", "mountPoint": POINT}}
    cache = {"medium": "ssd", "size": "128Mi", "hostPath": {"path": f"{POINT}/cache", "mountPoint": POINT}}
    second(
        CHART,
        worker={"tiers": [tier], "maxUnavailable": len(nodes)},
        fuse={"clientCache": cache, "startupTaint": {"enabled": True}},
        networkPolicy={"clients": [{"namespaceSelector": {}}]},
        shortCircuit={"enabled": True},
    )
    # FUSE pods wait to be deleted, so readers keep their mount.
    assert {uid for uid, component in before.items() if component == FUSE} <= uids(cluster, "other").keys()
    for node in nodes:
        check(f"reader-{node}", "other")
    delete_pods(cluster, "other", FUSE)

    def refused(component: str) -> bool:
        names = cluster.pods("other", component)
        return len(names) == len(nodes) and all(
            f"nothing is mounted at {POINT}" in cluster.kubectl("--namespace=other", "logs", name, "--container=verify")
            for name in names
        )

    cluster.wait("workers refuse", lambda: refused(WORKER))
    cluster.wait("FUSE refuses", lambda: refused(FUSE))
    # As a node that joins without its mount.
    for node in nodes:
        cluster.kubectl("taint", "node", node, f"{TAINT}=:NoSchedule", "--overwrite")
    delete_pods(cluster, "other", "startup-taint")
    cluster.wait_ready("other", {"startup-taint": len(nodes)})
    assert tainted(cluster) == nodes

    for node in nodes:
        cluster.on_node(node, f"mount -t tmpfs -o size=512m tmpfs {POINT}")
    cluster.wait_ready("other", whole(cluster))
    for node in nodes:
        check(f"reader-{node}", "other")
    cluster.wait("the taint is removed", lambda: not tainted(cluster), 60)


def delete_pods(cluster: Cluster, namespace: str, component: str) -> None:
    """The pods of a component, deleted and gone."""
    cluster.kubectl(f"--namespace={namespace}", "delete", "pod", f"-l=app.kubernetes.io/component={component}")


def tainted(cluster: Cluster) -> list[str]:
    """GPU nodes that the start-up taint keeps pods from."""
    nodes = cluster.get("nodes", f"--selector={GPU}")
    return sorted(
        one["metadata"]["name"] for one in nodes if TAINT in [taint["key"] for taint in one["spec"].get("taints", [])]
    )


def test_restricted_namespace_runs_a_master_and_a_worker_with_a_claim(cluster: Cluster) -> None:
    namespace_with_keys(cluster, "restricted", {"pod-security.kubernetes.io/enforce": "restricted"})
    tiers = [{"medium": "ssd", "quota": "128Mi", "claim": {}}]
    worker = {**SMALL["worker"], "kind": "StatefulSet", "replicas": 1, "tiers": tiers}
    tolerate = {"tolerations": [{"operator": "Exists"}]}
    try:
        given = values(cluster, worker={**worker, **tolerate}, fuse={"enabled": False})
        cluster.helm("install", "cache", CHART, "--namespace", "restricted", values=given)
        cluster.wait_ready("restricted", {MASTER: 1, WORKER: 1, MOUNTS: 1})

        cluster.helm(
            "upgrade", "cache", CHART, "--namespace", "restricted", values=merged(given, {"fuse": {"enabled": True}})
        )
        events = ("get", "events", "--namespace=restricted", "--field-selector=reason=FailedCreate")
        cluster.wait("FUSE is refused", lambda: "violates PodSecurity" in cluster.kubectl(*events), 60)
    finally:
        remove(cluster, "restricted")


def test_a_node_that_joins_gets_a_mount_without_any_playbook(
    cluster: Cluster, lab: list[str], release: object, check: Callable[..., None]
) -> None:
    name = subprocess.run([*lab, "add"], check=True, capture_output=True, text=True).stdout.split()[-1]
    try:
        cluster.wait_ready("data", whole(cluster))
        fuse = [pod for pod in cluster.pods("data", FUSE).values() if pod["spec"]["nodeName"] == name]
        assert [is_ready(pod) for pod in fuse] == [True]
        start_reader(cluster, "data", f"reader-{name}", name)
        check(f"reader-{name}")
    finally:
        subprocess.run([*lab, "remove", name], check=True)

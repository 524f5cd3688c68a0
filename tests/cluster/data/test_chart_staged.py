"""What the chart alone stages, in the lab: in windows, under readers whom no death of FUSE reaches, and gone.

The order matters: the last test uninstalls.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cluster import CHART, Cluster, CommandError, Object
from main_job import LAB_INVENTORY, Job, sample_digests
from test_chart import SMALL, delete_pods, namespace_with_keys, remove, start_reader, values, whole

NAMESPACE, STAGE, FUSE = "staged", "stage", "fuse-imagenet"
STATE, ROOT = f"/var/lib/{NAMESPACE}/cache-alluxio-fuse", f"/mnt/{NAMESPACE}/cache-alluxio-fuse"
DISK = "/var/cache/chart-staged"
#: Of each of two workers: together they hold three quarters of the set.
QUOTA, WINDOWS = "96Mi", 6
ALL = "cd /data/data && find . -type f -print0 | xargs -0 -n 100 sha256sum"


@pytest.fixture(scope="module")
def expected(cluster: Cluster) -> dict[str, str]:
    return sample_digests(Path(cluster.settings["lab_sample"]))


def said(cluster: Cluster, **stage: Any) -> Object:
    """A release whose dataset has this `stage`, or none."""
    tiers = [{**one, "quota": QUOTA} for one in SMALL["worker"]["tiers"]]
    given = values(cluster, stage={"overhead": "640Mi"}, worker={"tiers": tiers})
    staged = [{**one, "stage": stage} if stage else one for one in given["datasets"]]
    return {**given, "datasets": staged, "fuse": SMALL["fuse"]}


@pytest.fixture(scope="module")
def sent(cluster: Cluster, lab: list[str]) -> Iterator[int]:
    """Installs the release, with a reader on each node; bytes that the store sent until both had a copy."""
    store = Job(cluster, LAB_INVENTORY)
    remove(cluster, NAMESPACE)
    namespace_with_keys(cluster, NAMESPACE)
    try:
        before = store.store_sent()
        cluster.helm(
            "install", "cache", CHART, "--namespace", NAMESPACE, values=said(cluster, medium="memory", size="320Mi")
        )
        cluster.wait_ready(NAMESPACE, {**whole(cluster), STAGE: len(cluster.gpu_nodes())}, 600)
        start_readers(cluster)
        cluster.wait("a copy on each node", lambda: shown(cluster) == {"tmpfs"}, 300)
        yield store.store_sent() - before
    finally:
        remove(cluster, NAMESPACE)
        for node in cluster.gpu_nodes():
            on_node(node, f"rm -rf {DISK}")


def readers(cluster: Cluster) -> dict[str, str]:
    return {node: f"reader-{node}" for node in cluster.gpu_nodes()}


def start_readers(cluster: Cluster) -> None:
    for node, reader in readers(cluster).items():
        start_reader(cluster, NAMESPACE, reader, node)


def end_readers(cluster: Cluster) -> None:
    cluster.kubectl(f"--namespace={NAMESPACE}", "delete", "pod", "--selector=!app.kubernetes.io/name")


def upgrade(cluster: Cluster, **stage: Any) -> None:
    cluster.helm("upgrade", "cache", CHART, "--namespace", NAMESPACE, values=said(cluster, **stage))


def on_node(node: str, script: str) -> str:
    return subprocess.run(
        ["podman", "exec", node, "sh", "-ec", script], capture_output=True, text=True, check=True
    ).stdout


def read(cluster: Cluster, script: str) -> list[str]:
    """What a script says in the reader of each node."""
    return [cluster.execute(NAMESPACE, reader, script) for reader in readers(cluster).values()]


def shown(cluster: Cluster) -> set[str]:
    """Kinds of filesystems at the dataset's path, as readers see it."""
    return {one.strip() for one in read(cluster, "stat --file-system --format=%T /data/data")}


def digests(cluster: Cluster) -> list[dict[str, str]]:
    """{file: sha256} of all that readers read, of each node."""
    lines = [one.splitlines() for one in read(cluster, ALL)]
    return [{line.split(maxsplit=1)[1]: line.split()[0] for line in of_node} for of_node in lines]


def test_every_node_reads_its_copy_and_the_store_was_read_once(
    cluster: Cluster, sent: int, expected: dict[str, str]
) -> None:
    assert digests(cluster) == [expected] * len(readers(cluster))
    size = sum(path.stat().st_size for path in Path(cluster.settings["lab_sample"]).rglob("*") if path.is_file())
    print(f"the store sent {sent / size:.2f} times the set's bytes for {len(readers(cluster))} nodes")
    assert sent < 1.1 * size
    for name in cluster.pods(NAMESPACE, STAGE):
        assert f"window {WINDOWS} of {WINDOWS}: " in cluster.kubectl(f"--namespace={NAMESPACE}", "logs", name)


def test_who_may_read_is_as_the_dataset_says(cluster: Cluster, sent: int) -> None:
    node = cluster.gpu_nodes()[0]
    start_reader(cluster, NAMESPACE, "stranger", node, (3000, 3000))
    with pytest.raises(CommandError, match="Permission denied"):
        cluster.execute(NAMESPACE, "stranger", "ls /data/data")
    start_reader(cluster, NAMESPACE, "root", node, (0, 0))
    with pytest.raises(CommandError, match="Read-only file system"):
        cluster.execute(NAMESPACE, "root", "touch /data/data/file")


def test_readers_do_not_notice_that_fuse_dies_and_is_replaced(
    cluster: Cluster, sent: int, expected: dict[str, str]
) -> None:
    for name in cluster.pods(NAMESPACE, FUSE):
        with suppress(CommandError):
            cluster.execute(NAMESPACE, name, "kill -9 -1", container="fuse")
    assert digests(cluster) == [expected] * len(readers(cluster))
    delete_pods(cluster, NAMESPACE, FUSE)
    assert digests(cluster) == [expected] * len(readers(cluster))
    cluster.wait_ready(NAMESPACE, whole(cluster))
    assert shown(cluster) == {"tmpfs"}


def test_the_next_pod_keeps_the_copy(cluster: Cluster, sent: int, expected: dict[str, str]) -> None:
    """Its memory is another pod's by now, and nothing is copied again."""
    before = read(cluster, "stat --format=%d:%i /data/data/*")
    delete_pods(cluster, NAMESPACE, STAGE)
    cluster.wait_ready(NAMESPACE, {STAGE: len(cluster.gpu_nodes())})

    def says_so() -> bool:
        logs = [cluster.kubectl(f"--namespace={NAMESPACE}", "logs", name) for name in cluster.pods(NAMESPACE, STAGE)]
        assert not [text for text in logs if "workers loaded" in text]
        return all(f"all {len(expected)} files staged" in text for text in logs)

    cluster.wait("it has looked", says_so, 120)
    assert read(cluster, "stat --format=%d:%i /data/data/*") == before
    assert digests(cluster) == [expected] * len(readers(cluster))


def test_less_room_makes_a_part_under_readers(cluster: Cluster, sent: int, expected: dict[str, str]) -> None:
    upgrade(cluster, medium="memory", size="128Mi")
    deadline = time.monotonic() + 300
    while shown(cluster) != {"overlayfs"}:
        assert digests(cluster) == [expected] * len(readers(cluster))
        assert time.monotonic() < deadline, cluster.reasons(NAMESPACE)
    assert digests(cluster) == [expected] * len(readers(cluster))


def test_what_is_no_longer_staged_comes_through_fuse(cluster: Cluster, sent: int, expected: dict[str, str]) -> None:
    """Nobody reads, and FUSE pods are replaced at once, as docs/staging.md says."""
    end_readers(cluster)
    upgrade(cluster)
    cluster.wait("keepers are gone", lambda: not cluster.pods(NAMESPACE, STAGE), 120)
    delete_pods(cluster, NAMESPACE, FUSE)
    cluster.wait_ready(NAMESPACE, whole(cluster))
    start_readers(cluster)
    assert shown(cluster) == {"fuseblk"}
    assert digests(cluster) == [expected] * len(readers(cluster))
    for node in cluster.gpu_nodes():
        assert STATE not in on_node(node, "cat /proc/mounts")


def test_a_disk_holds_a_copy(cluster: Cluster, sent: int, expected: dict[str, str]) -> None:
    end_readers(cluster)
    upgrade(cluster, medium="ssd", size="1Gi", hostPath={"path": DISK})
    delete_pods(cluster, NAMESPACE, FUSE)
    cluster.wait_ready(NAMESPACE, {**whole(cluster), STAGE: len(cluster.gpu_nodes())}, 600)
    start_readers(cluster)
    disk = {on_node(node, "stat --file-system --format=%T /var/cache").strip() for node in cluster.gpu_nodes()}
    cluster.wait("a copy on each node", lambda: shown(cluster) == disk, 300)
    assert digests(cluster) == [expected] * len(readers(cluster))


def test_uninstalled_it_leaves_no_mount_and_no_copy(cluster: Cluster, sent: int) -> None:
    end_readers(cluster)
    cluster.helm("uninstall", "cache", "--namespace", NAMESPACE, "--wait", "--timeout", "4m")
    cluster.wait("pods are gone", lambda: not cluster.get("pods", f"--namespace={NAMESPACE}"), 120)
    for node in cluster.gpu_nodes():
        mounts = on_node(node, "cat /proc/mounts")
        assert not [line for line in mounts.splitlines() if NAMESPACE in line or DISK in line]
        left = on_node(node, f"find {STATE} {ROOT} -printf '%P\\n'").split()
        (fuse,) = {line for line in left if line.startswith("fuse/") and line.count("/") == 1}
        assert {*left} == {
            ".owner", "fuse", fuse, f"{fuse}/.owner", f"{fuse}/data", "imagenet", "imagenet/.owner", "imagenet/data"
        }  # fmt: skip
        assert on_node(node, f"cd {DISK} && find . -type f").split() == ["./imagenet/.owner"]

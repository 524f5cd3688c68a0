"""Three masters with the embedded journal: one may go, and what reads goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from cluster import CHART, Cluster
from test_chart import SMALL, namespace_with_keys, remove, values

NAMESPACE = "quorum"
MASTERS = tuple(f"cache-alluxio-fuse-master-{index}" for index in range(3))


@pytest.fixture(scope="module")
def quorum(cluster: Cluster) -> Iterator[None]:
    """A release without FUSE: three masters, each on a node of its own, and a worker."""
    tolerate = {"tolerations": [{"operator": "Exists"}]}
    worker = {**SMALL["worker"], "kind": "StatefulSet", "replicas": 1}
    remove(cluster, NAMESPACE)
    namespace_with_keys(cluster, NAMESPACE)
    try:
        over = {"master": {**SMALL["master"], **tolerate, "replicas": 3}, "worker": worker, "fuse": {"enabled": False}}
        cluster.helm("install", "cache", CHART, "--namespace", NAMESPACE, values=values(cluster, **over))
        cluster.wait_ready(NAMESPACE, {"master": 3, "worker": 1, "mounts": 1})
        yield
    finally:
        remove(cluster, NAMESPACE)


def test_another_master_leads_and_knows_every_file(cluster: Cluster, quorum: None) -> None:
    nodes = {pod["spec"]["nodeName"] for pod in cluster.pods(NAMESPACE, "master").values()}
    assert len(nodes) == 3
    was = leader(cluster, MASTERS[0])
    other = next(name for name in MASTERS if name != was)
    listed = files(cluster, other)
    assert len(listed) > 1000
    cluster.kubectl(f"--namespace={NAMESPACE}", "delete", "pod", was, "--grace-period=0", "--force", "--wait=false")
    begun = time.monotonic()
    cluster.wait("another master leads", lambda: leader(cluster, other) not in ("", was), 120)
    # A new leader is in safe mode first, and says so to who asks for names.
    cluster.wait("the new leader knows every file", lambda: files(cluster, other) == listed, 120)
    print(f"another leader, and all names, after {time.monotonic() - begun:.0f} s")
    cluster.wait_ready(NAMESPACE, {"master": 3})


def leader(cluster: Cluster, by: str) -> str:
    """The pod that leads, as the masters say; empty while none does."""
    said = cluster.execute(NAMESPACE, by, "alluxio fs leader", container="master")
    return next((name for name in MASTERS if name in said), "")


def files(cluster: Cluster, by: str) -> list[str]:
    """Every file of the dataset with its size, asked of the leader."""
    said = cluster.execute(NAMESPACE, by, "alluxio fs ls -R /imagenet", container="master")
    lines = [line.split() for line in said.splitlines()]
    return sorted(f"{line[-1]} {line[-6]}" for line in lines if line[-2] != "DIR")

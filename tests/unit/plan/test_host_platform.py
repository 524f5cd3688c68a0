"""Platform host: FUSE only, through a cluster that runs elsewhere or straight on the under store."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import local

from alluxio_fuse import targets
from alluxio_fuse.plan import Plan, plan

SET = {"name": "set", "source": "file:///data/set", "files": 100, "bytes": "10Mi"}
STRAIGHT = SET | {"through": "under_store"}
ELSEWHERE = {"masters": ["one.example:19998", "two.example:19998", "three.example:19998"]}


def made(*datasets: dict[str, Any], **said: Any) -> Plan:
    return plan(local(alluxio_platform="host", alluxio_datasets=list(datasets), **said))


def test_fuse_is_all_that_runs() -> None:
    for planned in (made(STRAIGHT), made(SET, alluxio_cluster=ELSEWHERE)):
        assert list(planned.nodes["localhost"]) == ["node", "fuse/set"]


def test_no_group_of_masters_is_needed() -> None:
    hosts = local(alluxio_platform="host", alluxio_datasets=[STRAIGHT])
    hosts["localhost"]["groups"] = ["gpu_nodes"]
    without = plan(hosts)
    assert (without.fleet["masters"].amount, without.warnings) == ([], [])
    assert [warning["path"] for warning in made(STRAIGHT).warnings] == ["masters"]


def test_without_a_cluster_everything_comes_from_the_source() -> None:
    planned = made(STRAIGHT)
    assert planned.fleet["served_from"].amount["set"] == {"client_cache": 0.0, "worker": 0.0, "under_store": 1.0}
    assert planned.fleet["warm_strategy"].amount["set"] == []
    assert planned.nodes["localhost"]["node"]["cache_media"].amount == []
    (target,) = targets.targets(planned, "localhost")
    assert (target["direct"], target["client_cache_bytes"], target["metrics"]["worker"]) == (True, 0, [])


def test_through_a_cluster_there_is_a_client_cache() -> None:
    planned = made(SET, alluxio_cluster=ELSEWHERE)
    assert planned.fleet["served_from"].amount["set"]["client_cache"] == 1.0
    assert planned.fleet["warm_strategy"].amount["set"] == ["read-through"]
    (target,) = targets.targets(planned, "localhost")
    assert (target["direct"], target["first_reads"]) == (False, False)
    assert target["identity_file"].endswith("/client-cache/set/.identity")


@pytest.mark.parametrize("password", [True, False])
def test_a_cluster_with_a_password_is_asked_with_one(password: bool) -> None:
    secret = {"alluxio_cluster_password": "canary"}
    planned = made(SET, alluxio_cluster=ELSEWHERE | {"password": password}, **secret)
    properties = planned.nodes["localhost"]["fuse/set"]["properties"].amount
    assert ("alluxio.security.authentication.type" in properties) is password
    assert "canary" not in str(planned.dump())


@pytest.mark.parametrize(
    ("said", "path", "remedy"),
    [
        ({"alluxio_datasets": [SET]}, "alluxio_cluster.masters", "write through: under_store"),
        ({"alluxio_datasets": [STRAIGHT], "alluxio_cluster": ELSEWHERE}, "alluxio_cluster.masters", "remove it"),
        ({"alluxio_datasets": [SET], "alluxio_cluster": {"masters": ["one.example"]}},
         "alluxio_cluster.masters[0]", "host:port"),
        ({"alluxio_datasets": [STRAIGHT | {"freshness": "within: 10m"}]},
         "alluxio_datasets[0].freshness", "freshness: immutable, or through: cluster"),
        ({"alluxio_datasets": [STRAIGHT | {"writable": True}]},
         "alluxio_datasets[0].writable", "writable: false, or through: cluster"),
        ({"alluxio_datasets": [STRAIGHT | {"cache": {"pin": True}}]}, "alluxio_datasets[0].cache", "through: cluster"),
        ({"alluxio_datasets": [STRAIGHT], "alluxio_overrides": {"fuse.client_cache_size": "1Gi"}},
         "alluxio_datasets[0].through", "no client_cache_size, or through: cluster"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(finding: Any, said: dict[str, Any], path: str, remedy: str) -> None:
    found = finding(local(alluxio_platform="host", **said))
    assert found.path == path
    assert remedy in found.remedy


def test_a_cluster_elsewhere_is_only_for_this_platform(finding: Any) -> None:
    found = finding(local(alluxio_datasets=[SET], alluxio_cluster=ELSEWHERE))
    assert (found.path, found.remedy) == ("alluxio_cluster", "remove it, or write alluxio_platform: host")


def test_nodes_that_serve_nobody_need_no_address() -> None:
    hosts = {name: local(alluxio_platform="host", alluxio_datasets=[STRAIGHT])["localhost"] for name in ("a", "b")}
    for node in hosts.values():
        node["facts"]["network"].append({"name": "eth1", "addresses": ["10.1.0.1"], "speed_mbps": None})
        del node["variables"]["alluxio_bind_address"]
    assert set(plan(hosts).nodes) == {"a", "b"}

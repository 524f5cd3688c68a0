"""An hdfs:// source is planned read-only, of one namenode, and without keys."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import fleet, local

from alluxio_fuse.plan import plan
from alluxio_fuse.preflight.asked import questions

SOURCE = "hdfs://namenode.example.com:8020/train/set"
WEB = {"web": "http://namenode.example.com:9870"}


def dataset(**said: Any) -> dict[str, Any]:
    return local(alluxio_datasets=[{"name": "set", "source": SOURCE, "files": 1000, "bytes": "1Gi", **said}])


def test_what_is_planned() -> None:
    made = plan(dataset(hdfs={"web": f"{WEB['web']}/"}))
    (one,) = made.datasets
    assert (one.source, one.options, one.writable, one.hdfs) == (SOURCE, {}, False, WEB)
    assert not any("keys" in str(warning) for warning in made.warnings)


@pytest.mark.parametrize(
    ("said", "path", "reason", "remedy"),
    [
        (
            {"source": "hdfs://nameservice/x"},
            ".source",
            "stands for several namenodes (HA)",
            "hdfs://<namenode>:<port>",
        ),
        ({"source": "hdfs://one:8020,two:8020/x"}, ".source", "one namenode is read here", "hdfs://<namenode>:<port>"),
        ({"source": "hdfs://one:port/x"}, ".source", "its port is no number", "dfs.namenode.rpc-address"),
        ({"source": "hdfs://[::1]:8020/x"}, ".source", "services reach HDFS by IPv4", "hdfs://<namenode>:<port>"),
        ({"source": "hdfs://one:8020/"}, ".source", "cannot mount the root of HDFS", "name a folder below it"),
        ({"hdfs": {"web": "http://namenode:9870?x"}}, ".hdfs.web", "not an address", "without a path"),
        ({"hdfs": {"web": "http://namenode:port"}}, ".hdfs.web", "not an address", "without a path"),
        ({"source": "hdfs:///x"}, ".source", "one namenode is read here", "hdfs://<namenode>:<port>"),
        ({"source": "hdfs://user:CANARY@one:8020/x"}, ".source", "credentials do not belong in a source", ""),
        ({"hdfs": {"web": "namenode:9870"}}, ".hdfs.web", "not an address", "http://<namenode>:9870"),
        ({"hdfs": {"web": "http://namenode:9870/webhdfs"}}, ".hdfs.web", "not an address", "without a path"),
        ({"hdfs": WEB, "source": "s3://bucket/x"}, "", "hdfs is given, the source is s3://bucket/x", "remove hdfs"),
        ({"writable": True}, "", "hdfs:// is read only here", "write to a file:// or s3:// source"),
        ({"through": "under_store"}, "", "hdfs:// is read through a cluster only", "remove through"),
    ],
)
def test_what_is_refused(finding: Any, said: dict[str, Any], path: str, reason: str, remedy: str) -> None:
    found = finding(dataset(**said))
    assert found.path == f"alluxio_datasets[0]{path}"
    assert reason in found.reason
    assert remedy in f"{found.path} {found.reason} {found.remedy}"
    assert "CANARY" not in str(found)


def test_preflight_asks_the_namenode() -> None:
    said = {"alluxio_datasets": [{"name": "set", "source": SOURCE, "hdfs": WEB}]}
    assert questions(said)["object_stores"] == [{"name": "set", "source": SOURCE, "store": WEB, "keyed": False}]


@pytest.mark.parametrize(
    ("state", "detail", "remedy"),
    [
        ("denied", "AccessControlException: Permission denied", "let HDFS's user alluxio list and read this folder"),
        ("denied", "Kerberos: it wants a login", "copy the files into a store that speaks S3, or mount HDFS"),
        ("missing", "FileNotFoundException: File", "name a folder of HDFS that exists"),
        ("empty", "", "name a folder of HDFS that exists and is not empty"),
        ("unreachable", "refused", "correct alluxio_datasets[0].hdfs.web"),
    ],
)
def test_a_remedy_is_of_what_the_namenode_said(finding: Any, state: str, detail: str, remedy: str) -> None:
    hosts = dataset()
    known = {"state": state, "detail": detail or None, "files": None, "bytes": None}
    hosts["localhost"]["facts"]["sources"] = {SOURCE: known}
    found = finding(hosts)
    assert found.path == "alluxio_datasets[0].source"
    assert remedy in found.remedy


def test_keys_of_it_are_refused(finding: Any) -> None:
    hosts = dataset()
    known = {"state": "contradictory", "detail": "keys are given", "files": None, "bytes": None}
    hosts["localhost"]["facts"]["sources"] = {SOURCE: known}
    assert finding(hosts).remedy == "remove them"


def test_a_secret_with_keys_of_it_is_refused(finding: Any) -> None:
    said = {
        "alluxio_platform": "kubernetes",
        "alluxio_image": "registry.example.com/alluxio-fuse:2.9.6",
        "alluxio_kubernetes": {"secrets": {"set": "mine"}},
        "alluxio_datasets": [{"name": "set", "source": SOURCE, "files": 1000, "bytes": "1Gi"}],
    }
    found = finding(fleet(2, said))
    assert (found.path, found.reason, found.remedy) == (
        "alluxio_kubernetes.secrets.set",
        "HDFS has no keys",
        "remove it",
    )

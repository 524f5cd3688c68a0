"""What preflight refuses on a node, each finding with variable or place, value, reason and remedy."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import examples, local

from alluxio_fuse import going, preflight
from alluxio_fuse.adapters import as_filter
from alluxio_fuse.containers import containers
from alluxio_fuse.plan import plan
from alluxio_fuse.views.preflight import planner_facts

POINT = "/mnt/alluxio-fuse/imagenet-sample/data"


def found(**facts: Any) -> list[dict[str, Any]]:
    hosts = local()
    hosts["localhost"]["facts"] |= facts
    return preflight.findings(hosts)


def test_a_refused_plan_is_no_plan() -> None:
    hosts = local(alluxio_datasets=[{"name": "data", "source": "abfs://container/data"}])
    assert "abfs" in str(as_filter(preflight.findings)(hosts, {}, {}))


def test_nothing_stands_in_the_way() -> None:
    assert found() == []


def test_a_part_of_the_fleet_is_judged_by_the_plan_of_the_whole() -> None:
    fleet = next(hosts for hosts in examples().values() if len(hosts) > 2)
    name = next(name for name, host in fleet.items() if "masters" not in host["groups"])
    part = {name: fleet[name]}
    assert "masters" in str(preflight.findings(part))
    assert "masters" not in str(preflight.findings(part, saved=plan(fleet)))


@pytest.mark.parametrize(
    ("facts", "path", "value"),
    [
        ({"architecture": "aarch64"}, "localhost: architecture", "aarch64"),
        ({"distribution": {"id": "slackware", "version": "15"}}, "localhost: distribution", "slackware 15"),
        ({"mount_points": {POINT: {"state": "files", "type": None, "source": None}}}, f"localhost: {POINT}", "files"),
        (
            {"mount_points": {POINT: {"state": "mounted", "type": "nfs4", "source": "filer:/x"}}},
            f"localhost: {POINT}",
            "nfs4 from filer:/x",
        ),
        (
            {"taken": [{"path": "/var/lib/alluxio-fuse/journal", "holds": ["BlockJournal"]}]},
            "localhost: /var/lib/alluxio-fuse/journal",
            "holds BlockJournal",
        ),
        (
            {"listeners": [{"address": "0.0.0.0", "port": 19998, "process": "nginx"}]},
            "localhost: port 19998",
            "nginx on 0.0.0.0",
        ),
        (
            {"listeners": [{"address": "127.0.0.1", "port": 29999, "process": None}]},
            "localhost: port 29999",
            "a process on 127.0.0.1",
        ),
        (
            {"readers": {"/mnt/alluxio-fuse/before/data": ["python3 (4711)"]}},
            "localhost: /mnt/alluxio-fuse/before/data",
            "read by python3 (4711)",
        ),
        (
            {"containers": [{"name": "alluxio-fuse-master", "state": "exited", "image": "alluxio/alluxio:2.9.4"}]},
            "localhost: container alluxio-fuse-master",
            "exited, of alluxio/alluxio:2.9.4",
        ),
    ],
    ids=[
        "architecture",
        "distribution",
        "files",
        "foreign mount",
        "taken",
        "foreign listener",
        "listener on our address",
        "readers of what would go",
        "foreign container",
    ],
)
def test_refused(facts: dict[str, Any], path: str, value: str) -> None:
    (finding,) = found(**facts)
    assert (finding["path"], finding["value"]) == (path, value)
    assert finding["reason"]
    assert finding["remedy"]


@pytest.mark.parametrize(
    "running", ["debian 11", "debian 12", "debian 13", "ubuntu 22.04", "ubuntu 24.04", "rhel 9.4", "rocky 9.5"]
)
def test_a_distribution_that_was_run_or_is_listed(running: str) -> None:
    distribution, version = running.split()
    assert found(distribution={"id": distribution, "version": version}) == []


@pytest.mark.parametrize("running", ["debian 10", "ubuntu 20.04", "rhel 8.10", "rhel 10.0", "fedora 9", "alpine 3.20"])
def test_a_distribution_that_is_not_listed(running: str) -> None:
    distribution, version = running.split()
    (finding,) = found(distribution={"id": distribution, "version": version})
    assert (finding["path"], finding["value"]) == ("localhost: distribution", running)


def test_a_store_that_was_asked_and_gave_no_answer_is_refused() -> None:
    """Also where files and bytes are given, which are believed of a source that nobody looks at."""
    source = "s3://training/imagenet"
    hosts = local(alluxio_datasets=[{"name": "data", "source": source, "files": 9, "bytes": "1Gi"}])
    assert preflight.findings(hosts) == []
    stores = [{"item": {"source": source}, "msg": "it ended"}]
    hosts["localhost"]["facts"] = planner_facts(hosts["localhost"]["facts"], stores=stores, names=[])
    (finding,) = preflight.findings(hosts)
    assert (finding["path"], finding["value"]) == ("alluxio_datasets[0].source", source)
    assert finding["reason"] == "unreachable on localhost: no answer came"


def test_no_fuse_device() -> None:
    fuse = local()["localhost"]["facts"]["fuse"] | {"device": False}
    assert "localhost: /dev/fuse" in {finding["path"] for finding in found(fuse=fuse)}


def test_what_the_record_names_is_ours() -> None:
    items = [
        {"kind": "directory", "id": POINT, "data": {}},
        {"kind": "container", "id": "alluxio-fuse-master", "data": {}},
    ]
    assert (
        found(
            owned={"version": 1, "name": "alluxio-fuse", "items": items},
            mount_points={POINT: {"state": "stale", "type": "fuse.alluxio-fuse", "source": "alluxio-fuse"}},
            listeners=[{"address": "127.0.0.1", "port": 19998, "process": "java"}],
        )
        == []
    )


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ({"alluxio_datasets": [{"name": "a", "source": "s3://b/x"}]}, []),
        ({"alluxio_datasets": [{"name": "a", "source": "s3://b/y"}]}, ["a"]),
        ({"alluxio_datasets": [{"name": "b", "source": "s3://b/x"}]}, ["a"]),
        ({}, ["a"]),
    ],
    ids=["the same", "another source", "another name", "the sample"],
)
@pytest.mark.parametrize("made", [("container", ""), ("unit", ".service")])
def test_what_would_go_is_looked_at(said: dict[str, Any], gone: list[str], made: tuple[str, str]) -> None:
    kind, suffix = made
    items = [{"kind": kind, "id": f"lake-{service}{suffix}"} for service in ("master", "fuse-a")]
    facts = {"owned": {"items": items}, "manifests": {"a": "s3://b/x/"}}
    asked = preflight.questions({"alluxio_name": "lake", **said})
    assert going.going(facts, asked) == [f"/mnt/lake/{name}/data" for name in gone]
    assert going.going({"owned": {}, "manifests": {}}, asked) == []
    changed = [name for name in gone if name in asked["datasets"]]
    assert going.going(facts | {"owned": {}}, asked) == [f"/mnt/lake/{name}/data" for name in changed]  # in pods


def test_names_of_containers_are_those_of_the_plan() -> None:
    hosts = local()
    asked = preflight.questions(hosts["localhost"]["variables"])
    assert {*asked["containers"]} == {one["name"] for one in containers(plan(hosts), "localhost")}
    assert preflight.questions({"alluxio_platform": "host"})["containers"] == []


def test_another_address_is_no_clash() -> None:
    assert found(listeners=[{"address": "10.0.0.1", "port": 19998, "process": "nginx"}]) == []


def test_questions_survive_any_input() -> None:
    asked = preflight.questions({"alluxio_datasets": ["nonsense", {"source": 7}], "alluxio_port_offset": "x"})
    assert asked["state_dir"] == "/var/lib/alluxio-fuse"
    assert asked["object_stores"] == []


@pytest.mark.parametrize(("said", "meant"), [("yes", True), ("false", False), (True, True), ("perhaps", False)])
def test_a_store_is_reached_as_its_switches_mean(said: object, meant: bool) -> None:
    switches = ("path_style", "anonymous", "credential_chain")
    bucket = {"name": "b", "source": "s3://b/x", "s3": {"region": "eu-1", **dict.fromkeys(switches, said)}}
    (store,) = preflight.questions({"alluxio_datasets": [bucket]})["object_stores"]
    assert store["store"] == {"region": "eu-1", **dict.fromkeys(switches, meant)}


def test_a_marker_is_asked_for_where_its_source_is_a_folder() -> None:
    marker = {"file": ".dataset", "sha256": "0" * 64}
    lake, bucket = {"name": "a", "source": "file:///lake"}, {"name": "b", "source": "s3://b/x"}
    sets = [lake | {"marker": marker}, bucket | {"marker": marker}, {"name": "c", "marker": 7}]
    asked = preflight.questions({"alluxio_datasets": sets})
    assert asked["markers"] == {"file:///lake": marker}
    assert asked["folders"] == [{"path": "/lake", "read_only": True}]


def test_questions_and_plan_name_the_same_places() -> None:
    asked = preflight.questions(local()["localhost"]["variables"])
    assert asked["mount_points"] == [POINT]
    assert 19998 in asked["ports"]


def test_the_text_counts_the_findings() -> None:
    text = preflight.findings_text(found(architecture="aarch64"))
    assert text.startswith("One thing stands in the way; nothing was changed.")
    assert "aarch64" in text


def test_a_host_that_is_not_reached_is_a_finding() -> None:
    assert preflight.silent(["a", "b"], ["a", "b"]) == []
    text = preflight.findings_text(preflight.silent(["a", "b"], ["a"]))
    assert "not reached" in text
    assert "--limit" in text


@pytest.mark.parametrize(("said", "taken"), [(True, True), ("yes", True), ("false", False), (None, False)])
def test_readers_keep_what_goes_unless_the_user_says_otherwise(said: object, taken: bool) -> None:
    assert preflight.questions({"alluxio_under_readers": said})["under_readers"] is taken

"""The ways to look at a plan."""

import json
from typing import Any

import pytest
from fleets import facts, fleet, host, local

from alluxio_fuse.plan import Plan, plan
from alluxio_fuse.plan.views.amounts import amounts
from alluxio_fuse.plan.views.diff import MOST, diff_lines, differences
from alluxio_fuse.plan.views.explain import explain
from alluxio_fuse.plan.views.table import plan_table

SET = {
    "name": "imagenet",
    "source": "s3://bucket/with/a/rather/long/prefix/for/a/table",
    "files": 10**6,
    "bytes": "90Gi",
}


@pytest.fixture
def saved() -> Plan:
    """A plan as it was saved."""
    return Plan.load(json.loads(json.dumps(plan(local()).dump())))


def test_plan_json_has_the_promised_shape() -> None:
    saved = plan(local()).dump()
    assert list(saved) == ["version", "environment", "name", "profile", "fleet", "nodes", "warnings", "assumptions"]
    values = [*saved["fleet"].values()]
    values += [value for service in saved["nodes"]["localhost"].values() for value in service.values()]
    for value in values:
        assert {"amount", "rule", "why", "source"} <= value.keys()
        assert value["rule"]
        assert value["why"]
        assert value["source"]


def test_amounts_are_the_plan_of_one_host_without_reasons(saved: Plan) -> None:
    plain = amounts(saved, "localhost")
    assert plain["fleet"]["platform"] == "containers"
    assert plain["worker"]["heap"] == saved.nodes["localhost"]["worker"]["heap"].amount
    with pytest.raises(KeyError, match="it has localhost"):
        amounts(saved, "elsewhere")


def test_a_value_is_explained(saved: Plan) -> None:
    text = explain(saved, "localhost.worker.direct_memory")
    assert "640Mi (671088640 bytes)" in text
    assert "64Mi for each of 2 concurrent clients" in text
    assert "PR #13870" in text


def test_so_is_one_property(saved: Plan) -> None:
    text = explain(saved, "localhost.fuse/imagenet-sample.properties.alluxio.user.update.file.accesstime.disabled")
    assert text.splitlines()[0].endswith("= true")
    assert "a call to the master for each read" in text


@pytest.mark.parametrize(
    ("path", "remedy"),
    [("localhost.worker.heep", "did you mean heap?"), ("fleet.gates", "did you mean gate?"), ("nowhere", "localhost")],
)
def test_what_is_not_there_is_said(saved: Plan, path: str, remedy: str) -> None:
    with pytest.raises(KeyError, match=remedy.replace("?", r"\?")):
        explain(saved, path)


def test_equal_plans_do_not_differ(saved: Plan) -> None:
    assert differences(saved, saved) == []
    assert diff_lines(saved, saved) == ["the plans are equal"]


def test_what_differs_is_named(saved: Plan) -> None:
    other = plan(local(alluxio_overrides={"worker.heap": "2Gi"}))
    paths = {each["path"] for each in differences(saved, other)}
    assert "worker.heap" in paths
    assert "worker.container_memory" in paths
    assert "master.heap" not in paths
    line = next(line for line in diff_lines(saved, other) if line.startswith("localhost.worker.heap: "))
    assert line.endswith(" -> 2Gi (2147483648 bytes)")


def test_what_comes_and_goes_is_one_line_each() -> None:
    clicks = {"name": "clicks", "source": "s3://bucket/clicks", "files": 100, "bytes": "1Gi"}
    few, more = (
        plan(fleet(nodes, {"alluxio_datasets": sets}, memory=64)) for nodes, sets in ((2, [SET]), (3, [SET, clicks]))
    )
    lines = diff_lines(few, more)
    assert [line for line in lines if "node-2" in line] == ["node-2: new"]
    assert [line for line in lines if "fuse/clicks" in line] == ["fuse/clicks on node-0, node-1: new"]
    assert "fleet.datasets.clicks: new" in lines
    assert "node-2: gone" in diff_lines(more, few)


def test_hosts_that_differ_alike_share_a_line_and_there_is_no_wall_of_them() -> None:
    few, many = (plan(fleet(60, {"alluxio_datasets": [SET]} | said, memory=64)) for said in ({}, {"alluxio_java": 11}))
    assert "worker.java_major on node-0, node-1 and 58 more: 17 -> 11" in diff_lines(few, many)
    small, large = (fleet(60, {"alluxio_datasets": [SET]}, memory=64) for _ in range(2))
    for count, one in enumerate(large.values()):
        one["facts"]["memory"] = facts(memory=65 + count)["memory"]
    lines = diff_lines(plan(small), plan(large))
    assert len(lines) == MOST + 1
    assert lines[-1].startswith("and ")
    assert max(map(len, lines)) < 250


@pytest.mark.parametrize(
    "hosts",
    [
        local(),
        local(alluxio_datasets=[SET], alluxio_overrides={"master.heap": "5Gi", "fuse.mount_options": ["ro"]}),
        fleet(40, {"alluxio_datasets": [SET]}, memory=512, gpus=("NVIDIA H200",)),
        {"a-host-with-a-name-that-is-long.example.org": host({"alluxio_datasets": [SET]}, memory=256)},
    ],
)
def test_the_table_is_narrow_and_complete(hosts: dict[str, Any]) -> None:
    made = plan(hosts)
    lines = plan_table(made)
    assert max(map(len, lines)) <= 120
    text = "\n".join(lines)
    for name in (*next(iter(made.nodes.values())), *(each["name"] for each in made.assumptions)):
        assert name == "node" or name in text
    for service in made.nodes[next(iter(hosts))].values():
        for key, value in service.items():
            assert value.overridden is None or key in text

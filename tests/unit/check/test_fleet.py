"""Many nodes: what they read at the same moments is judged, medians of different moments are never added up."""

import copy
from typing import Any

import pytest

from alluxio_fuse.check import junit, passes, table
from alluxio_fuse.check.fleet import Fleet
from alluxio_fuse.check.verdict import Check, check
from check.made import HEADER, MOUNT, Made

SETTINGS = {"passes": 5, "readers": 4, "bytes": 1 << 32, "disruptive": True}
GATE = {"name": "8 x V100, resnet50", "files_per_s": 3000.0}
Measured = dict[str, Any]


@pytest.fixture
def nodes(measured: Measured, passed: Made) -> list[Measured]:
    """Two nodes that began five passes together; the second takes twice as long, and began 10 ms later."""

    def node(host: str, speed: float, late: float) -> Measured:
        seconds = 4000 / speed
        together = [
            passed(files_per_s=speed, began=100.0 * number + late, ended=100.0 * number + late + seconds)
            for number in range(5)
        ]
        return copy.deepcopy(measured) | {"host": host, "together": together}

    return [node("gpu-1", 8000.0, 0.0), node("gpu-2", 4000.0, 0.01)]


def judged(nodes: list[Measured], **settings: Any) -> Check:
    return check(nodes, settings.pop("gate", GATE), SETTINGS | settings, "2026-11-21T08:00:00Z", {})


def small(result: Check, state: str = "client-cache") -> Fleet:
    return next(one for one in result.fleet if (one.kind, one.state) == ("small", state))


def test_a_pass_lasts_from_the_first_begin_to_the_last_end(nodes: list[Measured]) -> None:
    result = judged(nodes)
    one = small(result)
    assert one.files_per_s
    assert one.mb_per_s
    assert one.files_per_s.median == pytest.approx(8000 / 1.01)  # not 8000 + 4000
    assert one.mb_per_s.median == pytest.approx(2 * 458.64 / 1.01)
    assert (one.nodes, one.wanted_files_per_s) == (2, 6000.0)
    assert result.verdict == "PASS"
    assert "fleet    imagenet, small files, client-cache, 2 nodes at once: 7921 files/s, 908 MB/s" in table.render(
        result
    )
    assert "small files, files/s, 2 nodes at once: 7921 files/s" in junit.render(result)


def test_the_slowest_is_named_by_its_own_median(nodes: list[Measured]) -> None:
    for one in nodes[1]["results"]:
        one["files_per_s"] /= 2
    assert "slowest gpu-2, 2.00 x below the fastest" in small(judged(nodes)).said()


def test_nodes_that_reach_their_gates_alone_and_not_together_fail(nodes: list[Measured]) -> None:
    result = judged(nodes, gate={"name": "8 x V100, resnet50", "files_per_s": 4000.0})
    assert result.verdict == "FAIL"
    (reason,) = result.reasons
    assert reason.startswith(
        "imagenet on all nodes: small files, files/s, 2 nodes at once: 7921 files/s (7921 to 7921)"
    )
    assert 'name="imagenet on all nodes"' in junit.render(result)


def test_an_edited_gate_is_not_a_lower_one_for_all(nodes: list[Measured]) -> None:
    edited = {"name": "8 x V100", "files_per_s": 10.0, "planned": {"files_per_s": 4000.0}}
    assert judged(nodes, gate=edited).verdict == "FAIL"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"began": 0.5}, "the last one began after 25% of a pass: raise forks in ansible.cfg"),
        ({"resident_before": 1.0}, "2 of 2 nodes read at once, and not all of them from there"),
        ({"state": "worker"}, "1 of 2 nodes read at once, and not all of them from there"),
    ],
)
def test_what_was_not_at_once_is_no_figure(nodes: list[Measured], change: Measured, why: str) -> None:
    shift = change.get("began", 0.0)
    for number, passed in enumerate(nodes[1]["together"]):
        passed.update(change)
        if shift:
            passed.update(began=100.0 * number + 0.5, ended=100.0 * number + 2.0)
    result = judged(nodes)
    one = small(result)
    assert (one.files_per_s, one.mb_per_s) == (None, None)
    assert result.verdict == "CANNOT TELL"
    assert any(why in reason for reason in result.reasons), result.reasons


def test_wrong_bytes_of_these_passes_count_too(nodes: list[Measured]) -> None:
    nodes[1]["together"][2] |= {"wrong": 1, "problems": [{"path": "a", "what": "9 of 10 bytes"}]}
    assert judged(nodes).verdict == "FAIL"


def test_one_after_the_other_is_no_fleet_figure(nodes: list[Measured]) -> None:
    turns = judged([node | {"together": []} for node in nodes], at_once=False)
    assert small(turns).said().endswith("they read one after the other")
    assert (small(turns).files_per_s, turns.verdict) == (None, "PASS")


def test_a_planned_mix_is_judged_node_by_node(nodes: list[Measured]) -> None:
    mixed = [node | {"residency": {"client_cache": 0.5, "worker": 0.5}} for node in nodes]
    result = judged(mixed, gate={"name": "1 x V100", "files_per_s": 1000.0})
    assert small(result).findings == []
    assert "nodes are judged one by one for the planned mix" in table.render(result)
    assert small(result, "page-cache").why == ""


def test_a_node_without_gpus_wants_nothing_of_the_sum(nodes: list[Measured]) -> None:
    result = judged([nodes[0], nodes[1] | {"gate": {"name": "none (no GPU)"}}])
    assert small(result).wanted_files_per_s == 3000.0
    assert [finding.outcome for finding in small(result).findings] == ["PASS"]


def test_without_a_gate_it_is_told_and_not_judged(nodes: list[Measured]) -> None:
    result = judged(nodes, gate={})
    assert small(result).findings == []
    assert "2 nodes at once: 7921 files/s" in small(result).said()


def test_every_node_has_the_same_number_of_passes_to_begin_together() -> None:
    dataset = {
        "mount_point": MOUNT,
        "source": "s3://b/s",
        "folder": "",
        "client_cache_bytes": 1 << 40,
        "disk_copy": "/copy",
    }
    settings = passes.CheckSettings.model_validate(SETTINGS)
    both = passes.together(HEADER, dataset, settings)
    assert [(one["path"], one["state"], one["kind"]) for one in both] == [
        ("mount", "client-cache", kind) for _ in range(5) for kind in ("small", "large")
    ]
    none = HEADER | {"large": {"files": 0, "bytes": 0}}
    assert [bool(one) for one in passes.together(none, dataset, settings)] == [True, False] * 5

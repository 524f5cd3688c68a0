"""What a run says before it starts something again, and whom it waits for."""

from __future__ import annotations

from alluxio_fuse import restarts

READERS = {"fuse-b": ["python3 (7)", "python3 (8)"]}


def test_who_is_read_is_held_back() -> None:
    results = [{"item": {"name": "a"}, "readers": ["python3 (7)"]}, {"item": {"name": "b"}, "readers": []}, {}]
    assert restarts.held_back(results) == {"a": ["python3 (7)"]}


def test_check_mode_counts_readers() -> None:
    said = restarts.foretold(["worker", "fuse-b", "worker"], READERS, "n1", forced=False)
    assert said.splitlines() == [
        "would be started again  worker on n1",
        "waits for its readers   fuse-b on n1: read by 2: python3 (7), python3 (8)",
    ]


def test_who_is_not_waited_for_is_told_what_it_costs() -> None:
    said = restarts.foretold(["fuse-b"], READERS, "n1", forced=True)
    assert said.startswith("would be started again  fuse-b on n1: read by 2, who lose their open files: python3 (7)")


def test_services_of_many_nodes() -> None:
    pods = [
        {"name": "fuse-b", "node": "n2", "pod": "b-2", "readers": []},
        {"name": "fuse-b", "node": "n1", "pod": "b-1", "readers": ["pod train/one"]},
    ]
    assert [one["pod"] for one in restarts.idle(pods, forced=False)] == ["b-2"]
    assert len(restarts.idle(pods, forced=True)) == 2
    foretold = restarts.told_by_node(pods, forced=False, foretell=True).splitlines()
    assert [line.split("  ")[0] for line in foretold] == ["waits for its readers", "would be started again"]
    assert restarts.told_by_node(pods, forced=False, foretell=False).startswith("n1: fuse-b stays as it was planned")
    assert restarts.told_by_node(pods, forced=True, foretell=False) == ""

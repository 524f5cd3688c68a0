"""What is tried by processes of its own is what a user could write, and they differ in that alone."""

from typing import Any

import pytest
from fleets import local

from alluxio_fuse.check.passes import CheckSettings
from alluxio_fuse.tune import choice, processes
from alluxio_fuse.views.tune import Results, tune_process_passes

SET = "imagenet-sample"
PLACE = ("localhost", SET)
READ = 500_000_000
SETTINGS = CheckSettings(passes=3, readers=4, bytes=1 << 28, disruptive=True)
HEADER = {
    "bytes": 1_226_640_000,
    "small": {"files": 4000, "bytes": 458_640_000},
    "large": {"files": 6, "bytes": 768_000_000},
}
DATASET = {"name": SET, "folder": "/data/set", "mount_point": "/mnt/set", "client_cache_bytes": 1 << 40}
BESIDE = [
    {"name": name, "mount_point": f"/mnt/tune-{number}", "metrics": {"fuse": [f"127.0.0.1:{number}"]}}
    for number, name in enumerate(("as planned", "alluxio_libfuse: 2"))
]


def made(said: list[dict[str, Any]] | None, **variables: Any) -> dict[str, processes.Process]:
    return {one.name: one for one in processes.processes(local(**variables), PLACE, READ, said)}


def trials(names: list[str], first: Results | None = None) -> list[dict[str, Any]]:
    """Passes that read through processes which serve."""
    planned = [{"name": name, "number": number, "refused": None} for number, name in enumerate(names)]
    started = [{"number": number, "mount_point": f"/mnt/tune-{number}", "port": None} for number in range(len(names))]
    dataset = {**DATASET, "metrics": {"fuse": []}}
    twins = {"started": started, "failed_to_start": []}
    return tune_process_passes(planned, twins, HEADER, dataset, SETTINGS.model_dump(), first=first).trials


def test_the_one_as_planned_comes_first_and_differs_in_nothing() -> None:
    first, *others = made(None).values()
    assert (first.name, first.number, first.flags, first.properties) == ("as planned", 0, [], {})
    assert [one.number for one in others] == list(range(1, len(others) + 1))
    assert {one.cache_bytes for one in others} == {first.cache_bytes}
    assert first.cache_bytes > READ


def test_what_is_tried_is_planned_as_if_a_user_had_said_it() -> None:
    other = made([{"alluxio_libfuse": 2}])["alluxio_libfuse: 2"]
    assert other.properties == {"alluxio.fuse.jnifuse.libfuse.version": "2"}
    assert "max_read=131072" in other.mount_options
    assert other.environment == {"MAX_IDLE_THREADS": "64"}
    assert other.flags == []


def test_usual_are_libfuse_collector_heap_pages_and_threads() -> None:
    _, libfuse, collector, heap, pages, threads = made(None).values()
    assert libfuse.name == "alluxio_libfuse: 2"
    assert collector.flags == ["-XX:-UseG1GC", "-XX:+UseParallelGC"]
    assert [flag[:4] for flag in heap.flags] == ["-Xms", "-Xmx"]
    assert heap.memory > collector.memory
    assert pages.properties == {"alluxio.user.client.cache.page.size": "4MB"}
    assert "max_threads=16" in threads.mount_options


def test_what_is_said_already_stands_beside_what_is_tried() -> None:
    said = {"fuse.properties": {"alluxio.fuse.logging.threshold": "5s"}, "fuse.jvm_flags": ["-Xss1m"]}
    pages = {"alluxio_overrides": {"fuse.properties": {"alluxio.user.client.cache.page.size": "8MB"}}}
    _, tried = made([pages], alluxio_overrides=said).values()
    assert tried.properties == {"alluxio.user.client.cache.page.size": "8MB"}


def test_what_the_planner_refuses_is_told_with_its_reason() -> None:
    _, refused = made([{"alluxio_overrides": {"fuse.heap": "9000Gi"}}]).values()
    assert "alluxio_overrides[fuse.heap]" in str(refused.refused)


def test_nothing_is_started_where_nothing_is_to_be_tried() -> None:
    assert made([]) == {}


def test_processes_read_the_same_in_every_round_and_take_turns() -> None:
    tried = processes.trial_passes(HEADER, DATASET, SETTINGS, BESIDE)
    for number in range(1, 4):
        for kind in ("small", "large"):
            same = [one for one in tried if (one["round"], one["kind"]) == (number, kind)]
            assert {(one["process"], one["root"]) for one in same} == {
                (mount["name"], mount["mount_point"]) for mount in BESIDE
            }
            assert {one["metrics"]["fuse"][0] for one in same} == {"127.0.0.1:0", "127.0.0.1:1"}
            assert len({(one["first"], one["last"]) for one in same}) == 1
    assert {one["state"] for one in tried} == {"client-cache"}
    assert all(one["verify"] and one["before"] == "drop" for one in tried)
    assert {one["process"] for one in tried[::4]} == {"as planned", "alluxio_libfuse: 2"}


def test_every_process_has_its_cache_filled_and_its_jvm_warmed_first() -> None:
    fill = processes.fill_passes(HEADER, DATASET, SETTINGS, BESIDE)
    assert [(one["root"], one["state"]) for one in fill] == [
        (mount["mount_point"], state) for mount in BESIDE for state in ("worker", "worker", "warm-up")
    ]
    size = processes.bytes_to_read(HEADER, DATASET, SETTINGS)
    assert sum(one["bytes"] for one in fill if one["state"] == "worker") == 2 * size


def test_of_a_staged_dataset_processes_read_their_own_mounts() -> None:
    staged = DATASET | {
        "stage": {"path": "/mnt/readers", "medium": "memory"},
        "staged_files": {"small": 9, "large": 0},
        "cache_of_rest": True,
    }
    fill = processes.fill_passes(HEADER, staged, SETTINGS, BESIDE)
    assert {one["root"] for one in fill} == {mount["mount_point"] for mount in BESIDE}
    assert min(one["first"] for one in fill if one["kind"] == "small") == 9


def test_without_the_one_as_planned_nothing_is_compared() -> None:
    assert trials(["as planned", "second"])
    assert trials(["second"]) == []
    assert trials(["second", "third"]) == []


def test_second_passes_are_of_the_leader_and_the_one_as_planned(tried: Any) -> None:
    first = [one | {"process": one["settings"]["process"]} for one in tried({"as planned": 2000.0, "second": 2600.0})]
    again = trials(["as planned", "second", "third"], first)
    assert {one["process"] for one in again} == {"as planned", "second"}
    assert trials(["as planned", "second", "third"], [one | {"mb_per_s": 2000.0} for one in first]) == []


def test_those_that_serve_have_counters_where_those_of_the_mount_are() -> None:
    planned = [one.model_dump() for one in made([{"alluxio_libfuse": 2}]).values()]
    started = [{"number": 1, "mount_point": "/mnt/tune-1", "port": 50100}]
    metrics = {"fuse": ["10.1.2.3:49999"], "worker": ["10.1.2.4:30000"], "master": []}
    (beside,) = processes.serving(planned, started, metrics)
    assert beside == {
        "name": "alluxio_libfuse: 2",
        "mount_point": "/mnt/tune-1",
        "metrics": {**metrics, "fuse": ["10.1.2.3:50100"]},
    }


def test_what_did_not_start_is_told_beside_what_was_refused() -> None:
    planned = [one.model_dump() for one in made([{"alluxio_libfuse": 2}, {"alluxio_libfuse": 4}]).values()]
    lines = processes.not_tried(planned, [{"number": 1, "why": "it did not mount: x"}])
    assert lines[0] == "not tried: alluxio_libfuse: 2: it did not mount: x"
    assert lines[1].startswith("not tried: alluxio_libfuse: 4: ")
    assert len(lines) == 2


@pytest.mark.parametrize(("speed", "kept"), [(2600.0, "alluxio_libfuse: 2"), (2001.0, None)])
def test_the_table_says_what_to_write(tried: Any, speed: float, kept: str | None) -> None:
    results = tried({"as planned": 2000.0, "alluxio_libfuse: 2": speed})
    header = {"small": {"bytes": 1}, "large": {"bytes": 1}}
    decision = choice.decide(processes.KNOB, {"process": "as planned"}, (results, results), header, "now")
    assert decision.kept == kept
    text = choice.table("set", [decision.model_dump(mode="json")])
    assert (f"write {kept} and run site.yml" in text) == (kept is not None)


@pytest.fixture
def tried(result: dict[str, Any]) -> Any:
    """Trials of processes of certain speeds, with a little noise."""

    def make(speeds: dict[str, float]) -> list[dict[str, Any]]:
        results = [
            {**result, "round": number, "kind": kind, "process": name, "mb_per_s": speed + number}
            for name, speed in speeds.items()
            for number in (1, 2, 3)
            for kind in ("small", "large")
        ]
        return processes.as_trials(results)

    return make

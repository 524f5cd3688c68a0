"""Slices: every byte is read for the first time once, and what the check reads is resident."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alluxio_fuse.check import passes, warming
from alluxio_fuse.check.profiles import KINDS
from check.made import HEADER, MOUNT, SIZES

SETTINGS = passes.CheckSettings(passes=5, readers=4, bytes=1 << 32, disruptive=True)
DATASET = {
    "mount_point": MOUNT,
    "source": "file:///data",
    "folder": "/data",
    "client_cache_bytes": 2_000_000_000,
    "disk_copy": "/copy",
    "warm_up": ["load", "read-through"],
}
ALL = {"workers": True, "disruptive": True}
EMPTY: dict[str, Any] = {"client_cache_used": 0, "worker_used": 0}


def header(small: int, large: int) -> dict[str, Any]:
    kinds = {
        "small": {"files": small, "bytes": small * 100_000},
        "large": {"files": large, "bytes": large * 128_000_000},
    }
    return {"files": small + large, "bytes": sum(kind["bytes"] for kind in kinds.values()), **kinds}


def files(of: list[passes.Pass], kind: str) -> list[int]:
    return [index for one in of if one["kind"] == kind for index in range(one["first"], one["last"])]


@given(small=st.integers(0, 5000), large=st.integers(0, 100), cache=st.integers(0, 2**40))
def test_first_reads_never_meet_a_file_twice(small: int, large: int, cache: int) -> None:
    head = header(small, large)
    once = passes.first_passes(head, MOUNT, True) + passes.fill_passes(head, MOUNT, cache, True)
    for kind in KINDS:
        read = files(once, kind)
        assert len(read) == len(set(read))
        if head["bytes"] <= cache:
            assert sorted(read) == list(range(head[kind]["files"]))
        assert all(one["first"] < one["last"] <= head[one["kind"]]["files"] for one in once)


def test_the_sample_has_three_cold_and_enough_worker_slices() -> None:
    first = passes.first_passes(HEADER, MOUNT, True)
    assert [one["name"] for one in first if one["kind"] == "large"] == [f"cold {n}, large files" for n in (1, 2, 3)]
    fill = passes.fill_passes(HEADER, MOUNT, 1 << 40, True)
    assert [sum(one["kind"] == kind for one in fill) for kind in KINDS] == [5, 3]


def test_no_node_reads_a_large_set_to_warm_its_jvm() -> None:
    """It is read up to eight times, each time from the store where nothing keeps it."""
    (warm_up,) = [one for one in passes.first_passes(header(10_000_000, 0), MOUNT, True) if one["state"] == "warm-up"]
    assert (warm_up["first"], warm_up["last"]) == (0, 1280)


@given(small=st.integers(0, 5000), large=st.integers(0, 100))
def test_as_many_first_reads_are_asked_for_as_there_are_files_for(small: int, large: int) -> None:
    head = header(small, large)
    once = passes.first_passes(head, MOUNT, True) + passes.fill_passes(head, MOUNT, 1 << 60, True)
    for kind, state in product(KINDS, ("cold", "worker")):
        made = [one for one in once if (one["kind"], one["state"]) == (kind, state)]
        assert passes.first_slices(head, kind, state) == len(made)


def test_without_a_cluster_nothing_is_filled_and_cold_is_read_again_and_again() -> None:
    dataset = DATASET | {"client_cache_bytes": 0, "direct": True}
    assert warming.steps(HEADER, dataset, {}, EMPTY, ALL) == {"first": [], "load": False, "fill": []}
    check = [one for one in passes.rounds(HEADER, dataset, SETTINGS) if one["path"] == "mount"]
    assert {one["state"] for one in check} == {"warm-up", "cold", "page-cache"}
    assert all(one["direct"] for one in check)


def test_through_a_cluster_elsewhere_no_first_read_is_kept() -> None:
    steps = warming.steps(HEADER, DATASET | {"own_cluster": False, "first_reads": False}, {}, EMPTY, ALL)
    assert {one["state"] for one in steps["first"]} == {"warm-up"}
    assert steps["fill"]
    assert not any(one["keep"] for one in steps["fill"])


@given(cache=st.integers(0, 2_000_000_000))
def test_the_check_reads_what_is_resident(cache: int) -> None:
    fill = passes.fill_passes(HEADER, MOUNT, cache, True, again=True)
    check = passes.rounds(HEADER, DATASET | {"client_cache_bytes": cache}, SETTINGS)
    for kind in KINDS if cache else ():
        assert set(files([one for one in check if one["state"] == "client-cache"], kind)) <= set(files(fill, kind))


def test_rounds_are_interleaved_and_digests_follow_what_is_timed() -> None:
    rounds = passes.rounds(HEADER, DATASET, SETTINGS)
    assert rounds[0]["state"] == "warm-up"
    order = [(one["path"], one["state"], one["before"], one["verify"]) for one in rounds if one["round"] == 3]
    assert order[:4] == [
        ("mount", "client-cache", "drop", True),
        ("mount", "page-cache", None, False),
        ("disk", "disk", "drop", False),
        ("disk", "page-cache", None, False),
    ]
    assert [one["round"] for one in rounds] == sorted(one["round"] for one in rounds)


def test_nothing_is_dropped_where_nothing_may_be_disturbed() -> None:
    harmless = SETTINGS.model_copy(update={"disruptive": False})
    every = [
        *passes.first_passes(HEADER, MOUNT, False),
        *passes.fill_passes(HEADER, MOUNT, 1 << 40, False),
        *passes.rounds(HEADER, DATASET, harmless),
    ]
    assert {one["before"] for one in every} == {"forget", None}
    small = next(one for one in passes.rounds(HEADER, DATASET, harmless) if one["round"] == 1)
    assert small["last"] * 114_660 <= passes.PROBE_BYTES


def test_a_source_elsewhere_is_compared_with_a_copy_of_small_files() -> None:
    head, remote = (
        header(10_000, 6),
        DATASET | {"source": "s3://bucket/set", "folder": "", "client_cache_bytes": 1 << 40},
    )
    rounds = passes.rounds(head, remote, SETTINGS)
    disk = [one for one in rounds if one["path"] == "disk"]
    assert {(one["root"], one.get("select", one["kind"])) for one in disk} == {("/copy", "small")}
    assert {one["last"] for one in rounds if one["kind"] == "small"} == {passes.COPY_BYTES // 100_000}


def test_mounts_to_compare_with_are_read_in_the_same_rounds() -> None:
    other = {"name": "defaults", "mount_point": "/mnt/defaults", "metrics": {"fuse": ["127.0.0.1:50000"]}}
    rounds = passes.rounds(HEADER, DATASET | {"compare": [other]}, SETTINGS)
    assert [one["path"] for one in rounds if one["round"] == 0] == ["mount", "defaults"]
    second = [(one["path"], one["state"]) for one in rounds if (one["round"], one["kind"]) == (2, "small")]
    assert second[1:4] == [("mount", "page-cache"), ("defaults", "worker"), ("disk", "disk")]
    assert {one["metrics"]["fuse"][0] for one in rounds if one["path"] == "defaults"} == {"127.0.0.1:50000"}


@pytest.mark.parametrize(
    ("profile", "rows"),
    [
        ("fio", {"fio", "imagenet mix"}),
        ("tfrecord", {"records"}),
        ("tokens", {"tokens", "mapped"}),
        ("readers", {"readers"}),
        ("open-files", {"open files"}),
    ],
)
def test_a_profile_adds_its_rows_where_caches_may_be_dropped(profile: str, rows: set[str]) -> None:
    def kinds(**changed: Any) -> set[str]:
        settings = passes.CheckSettings.model_validate(SETTINGS.model_dump() | changed)
        return {one["kind"] for one in passes.rounds(HEADER | {"records": True}, DATASET, settings)}

    assert kinds() == {"small", "large", "list", "stat"}
    assert kinds(profiles=[profile]) == kinds() | rows
    assert kinds(profiles=[profile], disruptive=False) == {"small", "large"}


def test_what_a_dataset_has_no_files_for_is_not_read() -> None:
    chosen = SETTINGS.model_copy(update={"profiles": ["fio", "tfrecord", "tokens", "open-files"]})
    kinds = {one["kind"] for one in passes.rounds(header(200, 0), DATASET, chosen)}
    assert not kinds & {"fio", "imagenet mix", "records", "tokens", "mapped", "open files"}


def test_numbers_of_readers_and_of_open_files_are_read_in_every_round() -> None:
    def numbered(profile: str, key: str) -> list[tuple[int, str, int]]:
        made = passes.rounds(HEADER, DATASET, SETTINGS.model_copy(update={"profiles": [profile]}))
        return sorted((one["round"], one["path"], one[key]) for one in made if "way" in one and one.get(key, 4) != 4)

    rounds, paths = range(1, SETTINGS.passes + 1), ("mount", "disk")
    assert numbered("readers", "readers") == sorted(product(rounds, paths, (1, 2, 8, 16, 32)))
    assert numbered("open-files", "held") == sorted(product(rounds, paths, (256, 1024)))  # 4000 files, no 4096


def test_training_is_emulated_where_there_are_enough_files_for_it() -> None:
    def emulated(accelerators: int) -> list[passes.Pass]:
        training = passes.Training(accelerators=accelerators, batch=400, compute_s=0.4, utilisation=0.9)
        settings = SETTINGS.model_copy(update={"training": training})
        return [one for one in passes.rounds(HEADER, DATASET, settings) if one["kind"] == "training"]

    assert {(one["path"], one["emulated"]["accelerators"]) for one in emulated(2)} == {("mount", 2), ("disk", 2)}
    assert emulated(8) == []


def test_without_a_client_cache_the_worker_is_what_is_resident() -> None:
    rounds = passes.rounds(HEADER, DATASET | {"client_cache_bytes": 0}, SETTINGS)
    assert {one["state"] for one in rounds} == {"warm-up", "worker", "page-cache", "disk"}
    assert passes.fill_passes(HEADER, MOUNT, 0, True) == []


@pytest.mark.parametrize("staged", [{"small": 3000, "large": 0}, {"small": 4000, "large": 4}], ids=["some", "all"])
def test_of_a_part_its_client_cache_is_read_for_the_rest(staged: dict[str, int]) -> None:
    """Through FUSE a staged file would push out what readers need from the cache."""
    part = {
        "stage": {"path": "/mnt/set", "medium": "memory", "share": 0.6},
        "staged_files": staged,
        "cache_of_rest": True,
    }
    rounds = passes.rounds(HEADER, DATASET | part, SETTINGS)
    through_fuse = [one for one in rounds if one["root"] == MOUNT]
    assert {one["state"] for one in through_fuse} == {"warm-up", "client-cache"}
    for kind in KINDS:
        rest = set(range(staged[kind], SIZES[kind][0]))
        for state in ("warm-up", "client-cache"):
            assert set(files([one for one in through_fuse if one["state"] == state], kind)) == rest, "filled, then read"
        copied = files([one for one in rounds if one["state"] == "staged"], kind)
        assert set(copied) == set(range(staged[kind]))
    assert set(files([one for one in rounds if one["path"] == "disk"], "small")) == set(range(4000))


def test_of_a_rest_no_more_is_read_than_its_client_cache_holds() -> None:
    part = {
        "stage": {"path": "/mnt/set", "medium": "memory", "share": 0.6},
        "staged_files": {"small": 3000, "large": 0},
        "cache_of_rest": True,
    }
    cache = 200_000_000
    rounds = passes.rounds(HEADER, DATASET | part | {"client_cache_bytes": cache}, SETTINGS)
    first = [one for one in rounds if one["state"] == "client-cache" and one["round"] == 1]
    assert 0 < sum(one["bytes"] for one in first) <= cache * passes.CACHE_FILL
    assert set(files([one for one in rounds if one["state"] == "staged"], "small")) == set(range(3000)), "all of these"


def test_one_large_file_that_is_left_out_is_read() -> None:
    part = {"stage": {"path": "/mnt/set", "medium": "memory", "share": 0.9}, "cache_of_rest": True}
    staged = {"staged_files": {"small": 4000, "large": 5}, "client_cache_bytes": 140_000_000}
    rounds = passes.rounds(HEADER, DATASET | part | staged, SETTINGS)
    assert set(files([one for one in rounds if one["state"] == "client-cache"], "large")) == {5}


def test_of_a_part_that_is_not_copied_yet_what_its_client_cache_holds_is_filled_and_read() -> None:
    part = {"stage": {"path": "/mnt/set", "medium": "memory", "share": 0.6}, "cache_of_rest": True, "staged_files": {}}
    cache = 600_000_000
    rounds = passes.rounds(HEADER, DATASET | part | {"client_cache_bytes": cache}, SETTINGS)
    for kind in KINDS:
        read = [
            set(files([one for one in rounds if one["state"] == state], kind)) for state in ("warm-up", "client-cache")
        ]
        held = int(SIZES[kind][0] * cache * passes.CACHE_FILL / sum(size for _, size in SIZES.values()))
        assert read == [set(range(held))] * 2


def test_a_client_cache_for_a_rest_is_left_to_readers() -> None:
    """Copies go through it, and would push out what was filled before."""
    part = DATASET | {
        "name": "set",
        "stage": {"path": "/mnt/set", "medium": "memory", "share": 0.6},
        "cache_of_rest": True,
    }
    steps = warming.steps(HEADER, part, {}, EMPTY, ALL)
    assert (len(steps["first"]), steps["load"], steps["fill"]) == (7, True, [])
    assert warming.summary(HEADER, part, {"client_cache_used": 1_000_000, "worker_used": 0}).endswith(
        "the client cache 1 MB, for what is not staged"
    )


def test_a_first_run_does_everything() -> None:
    steps = warming.steps(HEADER, DATASET, {}, EMPTY, ALL)
    assert (len(steps["first"]), steps["load"], len(steps["fill"])) == (7, True, 8)


def test_nothing_is_loaded_that_the_plan_does_not_load() -> None:
    assert not warming.steps(HEADER, DATASET | {"warm_up": []}, {}, EMPTY, ALL)["load"]


def test_a_second_run_does_nothing() -> None:
    kept = {"passes": [], "load": {"worker_used": 1_226_640_000}}
    levels = {"client_cache_used": 1_226_640_000, "worker_used": 1_226_640_000}
    assert warming.steps(HEADER, DATASET, kept, levels, ALL) == {"first": [], "load": False, "fill": []}


def test_a_killed_run_goes_on_where_it_stopped() -> None:
    whole = warming.steps(HEADER, DATASET, {}, EMPTY, ALL)
    steps = warming.steps(HEADER, DATASET, {"passes": whole["first"][:3]}, EMPTY, ALL)
    assert steps["first"] == whole["first"][3:]
    kept = {"passes": whole["first"] + whole["fill"][:2], "load": {"worker_used": 10}}
    steps = warming.steps(HEADER, DATASET, kept, {"client_cache_used": 5, "worker_used": 10}, ALL)
    assert (steps["first"], steps["load"], steps["fill"]) == ([], False, whole["fill"][2:])


def test_a_lost_client_cache_is_filled_again_without_measuring() -> None:
    whole = warming.steps(HEADER, DATASET, {}, EMPTY, ALL)
    kept = {"passes": whole["first"] + whole["fill"], "load": {"worker_used": 10}}
    steps = warming.steps(HEADER, DATASET, kept, {"client_cache_used": 0, "worker_used": 10}, ALL)
    assert sorted(files(steps["fill"], "small")) == list(range(4000))
    assert {one["keep"] for one in steps["fill"]} == {False}


@pytest.mark.parametrize("held", [0, None])
def test_lost_workers_are_loaded_again(held: int | None) -> None:
    kept = {"load": {"worker_used": 1000}}
    assert warming.steps(HEADER, DATASET, kept, {"client_cache_used": 0, "worker_used": held}, ALL)["load"]


@pytest.mark.parametrize(("held", "again"), [(970, False), (790, False), (500, True)])
def test_workers_that_hold_less_than_the_set_are_loaded_while_they_are_not_full(held: int, again: bool) -> None:
    """They evict down to a watermark, and so hold less now than when the load ended."""
    kept = {"load": {"worker_used": 990}}
    levels = {"client_cache_used": 0, "worker_used": held, "worker_capacity": 1000}
    assert warming.steps(HEADER, DATASET, kept, levels, ALL)["load"] is again


def test_the_summary_says_where_the_bytes_are() -> None:
    dataset = DATASET | {"name": "imagenet"}
    assert warming.summary(HEADER, dataset, {"client_cache_used": 1_000_000, "worker_used": None}) == (
        "  imagenet: 4006 files, 1227 MB; workers hold ? MB of all datasets, the client cache 1 of 1227 MB"
    )

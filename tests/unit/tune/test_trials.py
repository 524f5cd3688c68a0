"""What is tried: one thing at a time, in turn, in the state that the check proves."""

from typing import Any

from fleets import local

from alluxio_fuse.check.passes import CheckSettings
from alluxio_fuse.plan import plan
from alluxio_fuse.tune import trials

CURRENT = {"read_ahead_kb": 2048, "max_background": 64, "congestion_threshold": 48}
SETTINGS = CheckSettings(passes=3, readers=4, bytes=1 << 28, disruptive=True)
HEADER = {
    "bytes": 1_226_640_000,
    "small": {"files": 4000, "bytes": 458_640_000},
    "large": {"files": 6, "bytes": 768_000_000},
}
DATASET = {
    "name": "set",
    "folder": "/data/set",
    "mount_point": "/mnt/set",
    "client_cache_bytes": 1 << 40,
    "compare": [{"name": "other", "mount_point": "/mnt/other", "metrics": {}}],
}
TRIED = [CURRENT, CURRENT | {"read_ahead_kb": 128}, CURRENT | {"read_ahead_kb": 512}]


def passes() -> list[dict[str, Any]]:
    return trials.trial_passes(HEADER, DATASET, SETTINGS, TRIED)


def test_a_candidate_differs_in_one_knob_and_in_what_follows_from_it() -> None:
    tried = trials.candidates("read_ahead_kb", CURRENT, {})
    assert [one["read_ahead_kb"] for one in tried] == [128, 256, 512]
    assert {(one["max_background"], one["congestion_threshold"]) for one in tried} == {(64, 48)}
    assert trials.candidates("max_background", CURRENT, {})[0] == CURRENT | {
        "max_background": 12,
        "congestion_threshold": 9,
    }
    assert [one["congestion_threshold"] for one in trials.candidates("congestion_threshold", CURRENT, {})] == [32, 64]


def test_of_a_part_only_what_fuse_serves_is_read() -> None:
    """Settings are the FUSE mount's, and the copy has none of them."""
    part = {
        "stage": {"path": "/mnt/readers", "medium": "memory"},
        "staged_files": {"small": 3000, "large": 0},
        "cache_of_rest": True,
    }
    read = trials.trial_passes(HEADER, DATASET | part, SETTINGS, TRIED)
    assert {one["root"] for one in read} == {"/mnt/set"}
    assert min(one["first"] for one in read if one["kind"] == "small") == 3000


def test_a_user_says_what_is_tried() -> None:
    said = {"read_ahead_kb": [4, 2048], "max_background": []}
    assert trials.candidates("read_ahead_kb", CURRENT, said) == [CURRENT | {"read_ahead_kb": 4}]
    assert trials.candidates("max_background", CURRENT, said) == []


def test_every_candidate_reads_the_same_in_every_round_with_every_digest_compared() -> None:
    tried = [one for one in passes() if one["state"] != "warm-up"]
    for number in range(1, 4):
        for kind in ("small", "large"):
            together = [one for one in tried if (one["round"], one["kind"]) == (number, kind)]
            assert sorted(one["settings"]["read_ahead_kb"] for one in together) == [128, 512, 2048]
            assert len({(one["first"], one["last"]) for one in together}) == 1
    assert all(one["verify"] and one["before"] == "drop" and one["path"] == "mount" for one in tried)
    assert {one["state"] for one in tried} == {"client-cache"}
    assert len({one["name"] for one in tried}) == len(tried)


def test_no_candidate_is_always_the_first() -> None:
    first: dict[int, int] = {}
    for one in passes():
        if one["state"] != "warm-up":
            first.setdefault(one["round"], one["settings"]["read_ahead_kb"])
    assert len(set(first.values())) == 3


def test_the_jvm_is_warmed_with_the_settings_that_are_there() -> None:
    warm_up = passes()[0]
    assert warm_up["state"] == "warm-up"
    assert "settings" not in warm_up


def test_what_a_user_has_said_is_not_tried() -> None:
    made = plan(local(alluxio_overrides={"fuse.read_ahead_kb": 256}))
    planned = trials.planned(made.mounts("localhost")["imagenet-sample"])
    assert planned["settings"] == {"read_ahead_kb": 256, "max_background": 64, "congestion_threshold": 48}
    assert planned["knobs"] == ["max_background", "congestion_threshold"]
    assert planned["behind"].startswith("client cache")

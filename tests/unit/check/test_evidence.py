"""A pass counts only in the state that its evidence proves."""

from typing import Any

import pytest

from alluxio_fuse.check.evidence import Result, doubt, mistakes, origins
from check.made import Made

STATES = ["cold", "worker", "client-cache", "page-cache"]


@pytest.mark.parametrize("state", STATES)
def test_the_right_evidence_proves_the_state(passed: Made, state: str) -> None:
    assert doubt(Result.model_validate(passed("mount", state))) is None


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("other", STATES)
def test_the_evidence_of_another_state_does_not(passed: Made, state: str, other: str) -> None:
    result = Result.model_validate(passed("mount", other) | {"state": state})
    assert (doubt(result) is None) == (state == other)


@pytest.mark.parametrize(
    ("counter", "share", "reason"),
    [
        ("client_local", 1.0, None),
        ("client_local", 0.94, "only 94% came from workers"),
        ("worker", 1.0, None),
        ("worker", 0.93, None),  # workers miss the last pieces of some small files
        ("worker", 0.89, "only 89% came from workers"),
    ],
)
def test_without_a_client_cache_workers_or_their_files_are_counted(
    passed: Made, counter: str, share: float, reason: str | None
) -> None:
    read = passed("mount", "worker", counters={"client_external": 0.0, "worker": 0.0} | {counter: share})
    assert doubt(Result.model_validate(read | {"counters": read["counters"] | {"fuse_calls": 9000}})) == reason


def test_where_workers_count_fuse_has_to_have_been_asked(passed: Made) -> None:
    read = passed("mount", "worker", counters={"client_external": 0.0, "worker": 1.0})
    read["counters"] |= {"unreachable": ["fuse: timed out"]}
    assert doubt(Result.model_validate(read)) == "the counter fuse_calls could not be read (fuse: timed out)"
    read["counters"]["fuse_calls"] = 100
    assert doubt(Result.model_validate(read)) == "FUSE was asked 100 times for 4000 files"


@pytest.mark.parametrize(("share", "reason"), [(0.93, None), (0.89, "only 89% came from workers")])
def test_with_defaults_fuse_shows_no_counters_and_workers_count_alone(
    passed: Made, share: float, reason: str | None
) -> None:
    read = passed("mount", "worker", counters={"worker": share})
    read["counters"] |= {"client_external": None, "client_local": None, "fuse_calls": None, "unreachable": []}
    assert doubt(Result.model_validate(read)) == reason


@pytest.mark.parametrize("state", ["disk", "page-cache"])
def test_the_disk_is_proven_by_its_device(passed: Made, state: str) -> None:
    assert doubt(Result.model_validate(passed("disk", state))) is None


@pytest.mark.parametrize(
    ("state", "fields", "reason"),
    [
        ("client-cache", {"resident_before": 0.4}, "40% was in the page cache before"),
        ("client-cache", {"resident_before": None}, "the page cache could not be looked at"),
        ("client-cache", {"counters": {"client_cache": 0.6}}, "only 60% came from the client cache"),
        ("client-cache", {"counters": {"client_external": 0.1}}, "10% came from workers or the under store"),
        ("client-cache", {"counters": {"client_cache": -0.5}}, "a process of Alluxio was started again"),
        ("worker", {"counters": {"under_store": 0.5}}, "50% came from the under store"),
        ("cold", {"counters": {"under_store": 0.5}}, "only 50% came from the under store"),
        ("page-cache", {"resident_before": 0.7}, "only 70% was in the page cache"),
        ("page-cache", {"counters": {"client_cache": 0.2}}, "20% came from the client cache"),
    ],
)
def test_what_disproves_a_state(passed: Made, state: str, fields: dict[str, Any], reason: str) -> None:
    assert reason in str(doubt(Result.model_validate(passed("mount", state, **fields))))


@pytest.mark.parametrize(
    ("fields", "calls", "reason"),
    [
        ({}, 9000, None),
        ({"resident_before": 0.4}, 9000, "40% was in the page cache before"),
        ({}, 0, "FUSE was asked 0 times for 4000 files"),
        ({}, None, "the counter fuse_calls could not be read"),
        ({"counters": {"under_store": 0.0, "client_cache": 0.5}}, 9000, "50% came from a client cache"),
    ],
)
def test_without_a_cluster_cold_is_what_came_from_nowhere_else(
    passed: Made, fields: dict[str, Any], calls: int | None, reason: str | None
) -> None:
    none = {"counters": {"under_store": 0.0, "client_external": 0.0, "worker": 0.0}}
    read = passed("mount", "cold", **{**none, **fields}, direct=True)
    read["counters"] |= {"worker": None, "under_store": None, "fuse_calls": calls}
    result = Result.model_validate(read)
    assert doubt(result) == reason
    assert origins(result)["under_store"] == 1.0


def test_a_disk_that_answers_from_memory_is_no_disk(passed: Made) -> None:
    result = Result.model_validate(passed("disk", "disk", storage_bytes=10_000_000))
    assert doubt(result) == "only 10 MB came from the device"


def test_a_counter_that_cannot_be_read_proves_nothing(passed: Made) -> None:
    result = passed()
    result["counters"] |= {"client_cache": None, "unreachable": ["fuse: connection refused"]}
    assert doubt(Result.model_validate(result)) == (
        "the counter client_cache could not be read (fuse: connection refused)"
    )


def test_an_empty_folder_below_the_mount_is_no_mount(passed: Made) -> None:
    result = passed(mount={"point": "/", "type": "ext4", "source": "/dev/vda"})
    assert "is on ext4 (/), not on a FUSE mount" in str(doubt(Result.model_validate(result)))


def test_a_mount_above_the_mount_point_is_not_it(passed: Made) -> None:
    result = passed(mount={"point": "/mnt", "type": "fuse.s3fs", "source": "s3fs"})
    assert "nothing is mounted at" in str(doubt(Result.model_validate(result)))


def test_another_filesystem_at_the_mount_point_moves_no_counter(passed: Made) -> None:
    result = passed(counters={"client_cache": 0.0}, mount=passed()["mount"] | {"type": "fuse.bindfs"})
    assert doubt(Result.model_validate(result)) == "only 0% came from the client cache"


def test_a_reader_that_skips_files_is_found(passed: Made) -> None:
    result = Result.model_validate(passed(files=3999, bytes=458_600_000))
    assert mistakes(result) == ["3999 of 4000 files and 458600000 of 458640000 bytes were read"]


def test_origins_add_up(passed: Made) -> None:
    for state, level in [("cold", "under_store"), ("worker", "worker"), ("client-cache", "client_cache")]:
        shares = origins(Result.model_validate(passed("mount", state)))
        assert shares[level] == 1.0
        assert sum(shares.values()) == pytest.approx(1)
    assert origins(Result.model_validate(passed("mount", "page-cache")))["page_cache"] == 1.0


@pytest.mark.parametrize(("resident", "why"), [(0.0, None), (1.0, "100% was in the page cache before")])
def test_of_a_folder_beside_only_the_page_cache_is_known(passed: Made, resident: float, why: str | None) -> None:
    nfs = {"point": "/mnt/nfs", "type": "nfs4", "source": "filer:/x"}
    one = passed("mount", "client-cache") | {"path": "/mnt/nfs/set", "state": "uncached", "mount": nfs, "counters": {}}
    assert doubt(Result.model_validate(one | {"resident_before": resident})) == why

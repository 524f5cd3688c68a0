"""A staged dataset has its whole copy on one medium, its FUSE mount out of the way, and no client cache."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import Hosts, local

from alluxio_fuse import stages
from alluxio_fuse.plan import Plan, Refused, plan
from alluxio_fuse.plan.rules.stage import stage_footprint
from alluxio_fuse.plan.sizes import Sizes
from alluxio_fuse.targets import targets

SET = {"name": "set", "source": "file:///data/set", "files": 1000, "bytes": "1Gi", "stage": "require"}


def named(name: str, **said: Any) -> dict[str, Any]:
    return {**SET, "name": name, "source": f"file:///data/{name}", **said}


def planned(*datasets: dict[str, Any], **said: Any) -> Plan:
    return plan(local(alluxio_datasets=[*datasets] or [SET], **said))


def finding(hosts: Hosts) -> str:
    with pytest.raises(Refused) as refused:
        plan(hosts)
    return str(refused.value)


def test_the_copy_takes_the_mounts_place() -> None:
    fuse = planned().nodes["localhost"]["fuse/set"]
    copy = fuse["stage"].amount
    assert (copy.path, copy.parent["mode"]) == ("/mnt/alluxio-fuse/set/data", "0755")
    assert fuse["mount_point"].amount == "/var/lib/alluxio-fuse/fuse/set/data"
    assert fuse["mount_parent"].amount["mode"] == "0700"
    assert not fuse["client_cache"].amount.enabled
    media = {one["name"]: one for one in planned().nodes["localhost"]["node"]["cache_media"].amount}
    assert media["stage-memory"]["size"] == copy.footprint
    assert copy.folder == f"{media['stage-memory']['path']}/set"


def test_what_is_not_staged_is_as_before() -> None:
    plain = planned({**SET, "stage": False})  # as YAML reads a bare off
    fuse = plain.nodes["localhost"]["fuse/set"]
    assert "stage" not in fuse
    assert fuse["mount_point"].amount == "/mnt/alluxio-fuse/set/data"
    assert stages.staged(plain, "localhost") == []


def test_memory_is_counted_once() -> None:
    one, two = planned(), planned(SET, named("other", bytes="2Gi"))
    for made in (one, two):
        node = made.nodes["localhost"]["node"]
        memory = [each["size"] for each in node["cache_media"].amount if each["medium"] == "memory"]
        assert sum(memory) < node["memory_services"].amount
    copies = [each["stage"].amount.footprint for each in two.mounts("localhost").values()]
    media = {each["name"]: each["size"] for each in two.nodes["localhost"]["node"]["cache_media"].amount}
    assert media["stage-memory"] == sum(copies)


def test_small_files_are_staged_first() -> None:
    """Where memory holds one of two sets, the small files get it and the large ones the disk."""
    large = named("large", files=10, bytes="8Gi")
    small = named("small", files=100000, bytes="8Gi")
    found = {one["name"]: one["folder"] for one in stages.staged(planned(large, small), "localhost")}
    assert found["small"].startswith("/var/lib/alluxio-fuse/stage/")
    assert found["large"].startswith("/var/lib/alluxio-fuse/disk/stage/")


def test_blocks_and_inodes_of_small_files_count() -> None:
    small, large = Sizes.unlisted(1_000_000, 1 << 30), Sizes.unlisted(10, 1 << 30)
    assert stage_footprint(small, "memory") > 5 * stage_footprint(large, "memory")
    assert stage_footprint(large, "ssd") < 1.05 * (1 << 30)


def test_a_set_that_fits_nowhere_is_refused() -> None:
    said = finding(local(alluxio_datasets=[{**SET, "bytes": "1Ti"}]))
    assert "alluxio_datasets[0].stage: require" in said
    assert "the whole set takes 1.02Ti on one medium" in said


@pytest.mark.parametrize("change", [{"writable": True}, {"freshness": "within: 10m"}])
def test_a_set_that_changes_is_refused(change: dict[str, Any]) -> None:
    assert "a staged dataset is a copy" in finding(local(alluxio_datasets=[SET | change]))


def test_pods_stage_nothing_yet() -> None:
    said = finding(local(alluxio_platform="kubernetes", alluxio_datasets=[SET]))
    assert "alluxio_datasets[0].stage: require\n    why: pods stage nothing yet" in said


def test_the_check_reads_the_copy() -> None:
    (target,) = targets(planned(), "localhost")
    assert target["residency"] == {"stage": 1.0}
    assert target["stage"]["path"] == target["path"] == "/mnt/alluxio-fuse/set/data"
    assert target["mount_point"] == "/var/lib/alluxio-fuse/fuse/set/data"


def test_what_is_not_planned_any_more_is_left() -> None:
    before, now = (stages.staged(made, "localhost") for made in (planned(SET, named("gone")), planned()))
    left = stages.stage_record(now, stages.stage_record(before).owned).left
    assert {item["id"] for item in left} == {
        "/mnt/alluxio-fuse/gone",
        "/mnt/alluxio-fuse/gone/data",
        "/var/lib/alluxio-fuse/stage/gone",
    }
    assert [item["id"] for item in stages.recorded_mounts(left).copies] == ["/mnt/alluxio-fuse/gone/data"]
    assert [item["id"] for item in stages.recorded_mounts(left).shared] == ["/mnt/alluxio-fuse/gone"]

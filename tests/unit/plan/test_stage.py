"""A staged dataset has its whole copy on one medium, its FUSE mount out of the way, and no client cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import staging
from fleets import Hosts, local

from alluxio_fuse import keeper, stages
from alluxio_fuse.plan import Plan, Refused, plan
from alluxio_fuse.plan.rules import stage as stage_rules
from alluxio_fuse.plan.rules.stage import stage_footprint, staged_share
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
    assert stages.staged(plain, "localhost").owned == []


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
    found = {one["name"]: one["folder"] for one in stages.staged(planned(large, small), "localhost").datasets}
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
    before, now = (stages.staged(made, "localhost").owned for made in (planned(SET, named("gone")), planned()))
    left = stages.stage_left(now, before)
    assert {item["id"] for item in left} == {
        "/mnt/alluxio-fuse/gone",
        "/mnt/alluxio-fuse/gone/data",
        "/var/lib/alluxio-fuse/stage/gone",
    }
    assert [item["id"] for item in stages.recorded_mounts(left).copies] == ["/mnt/alluxio-fuse/gone/data"]
    assert [item["id"] for item in stages.recorded_mounts(left).shared] == ["/mnt/alluxio-fuse/gone"]


def auto(**said: Any) -> dict[str, Any]:
    return {**SET, "stage": "auto", **said}


def at(made: Plan) -> Any:
    return made.nodes["localhost"]["fuse/set"]["stage"]


def of_node(hosts: Hosts, **facts: Any) -> Hosts:
    for host in hosts.values():
        host["facts"] |= facts
    return hosts


LARGER: dict[str, Any] = {"files": 100000, "bytes": "200Gi"}


def test_what_fits_is_staged_whole() -> None:
    assert at(planned(auto())).amount == at(planned()).amount
    assert at(planned(auto())).amount.share == 1


def test_what_does_not_fit_is_staged_in_part() -> None:
    made = plan(of_node(local(alluxio_datasets=[auto(**LARGER)]), layers=True))
    copy = at(made).amount
    assert 0.05 < copy.share < 1
    assert copy.medium == "ssd"
    assert at(made).why.startswith(f"{copy.share:.0%} of the set")
    (one,) = stages.staged(made, "localhost").datasets
    assert (one["budget"], one["per_file"]) == (copy.footprint, 512)
    (target,) = targets(made, "localhost")
    assert target["residency"]["stage"] == round(copy.share, 3)
    assert sum(target["residency"].values()) == pytest.approx(1, abs=0.01)
    assert not made.nodes["localhost"]["fuse/set"]["client_cache"].amount.enabled
    worker = made.nodes["localhost"]["worker"]["tiers"].amount
    assert worker, "the rest comes from workers"


@pytest.mark.parametrize(
    ("hosts", "why"),
    [
        (of_node(local(alluxio_datasets=[auto(**LARGER)]), layers=False), "the node stages no parts of sets"),
        (of_node(local(alluxio_datasets=[auto(bytes="90Ti")]), layers=True), "nor for a part of it"),
    ],
    ids=["an older kernel", "too little of it"],
)
def test_what_cannot_be_staged_comes_through_fuse(hosts: Hosts, why: str) -> None:
    made = plan(hosts)
    assert at(made).amount.share == 0
    assert why in at(made).why
    assert made.nodes["localhost"]["fuse/set"]["mount_point"].amount == "/var/lib/alluxio-fuse/fuse/set/data"
    (one,) = stages.staged(made, "localhost").datasets
    assert one["folder"] == ""
    (target,) = targets(made, "localhost")
    assert target["stage"] is None
    assert "stage" not in target["residency"]


def test_small_files_of_a_part_come_first() -> None:
    sizes = Sizes.of_rows([[1 << 17, 1000, 100 << 20], [1 << 27, 10, 1000 << 20]])
    small = staged_share(sizes, "ssd", 110 << 20)
    assert small == pytest.approx(100 / 1100, abs=0.01)
    assert staged_share(sizes, "ssd", 620 << 20) == pytest.approx(600 / 1100, abs=0.02)
    assert staged_share(sizes, "ssd", 0) == 0
    assert staged_share(sizes, "ssd", stage_footprint(sizes, "ssd")) == pytest.approx(1, abs=0.03)


def test_a_copy_that_moves_takes_its_mount_along() -> None:
    """The folder of before is removed, so nobody may read it: the path is let go, which refuses readers."""
    before = stages.staged(planned(), "localhost").owned
    now = stages.staged(planned(auto(bytes="90Ti")), "localhost").owned
    left = {(item["kind"], item["id"]) for item in stages.stage_left(now, before)}
    assert ("directory", "/var/lib/alluxio-fuse/stage/set") in left
    assert ("mount", "/mnt/alluxio-fuse/set/data") in left
    assert ("mount", "/mnt/alluxio-fuse/set") not in left


def test_planner_and_node_count_a_copy_alike() -> None:
    assert (stage_rules.BLOCK, stage_rules.ROOM) == (staging.BLOCK, staging.SPARE)


def test_the_keeper_has_what_it_imports() -> None:
    names = {Path(item["path"]).name for item in stages.staged(planned(), "localhost").files if "content" in item}
    assert {"keeper.py", "stages.py", "staging.py", "compositions.py", "mount_calls.py", "reader.py"} <= names
    assert "s3.py" not in names


def test_the_keeper_runs_where_nothing_else_is(tmp_path: Path) -> None:
    for item in keeper.files(str(tmp_path)):
        if "content" in item:
            Path(item["path"]).write_text(item["content"])
        else:
            Path(item["path"]).mkdir(exist_ok=True)
    module = keeper.container("name", str(tmp_path), [], "image")["command"][1]
    check = f"import {module} as keeper; print(keeper.Keeper('/nowhere').go_round())"
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path.insert(0, {str(tmp_path / 'keeper')!r}); {check}",
    ]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "[]\n"


def test_what_need_not_be_staged_leaves_room_for_the_worker() -> None:
    hosts = local(
        alluxio_datasets=[auto(files=214, bytes="77Mi")], alluxio_cache_tiers=[{"medium": "memory", "budget": "300Mi"}]
    )
    made = plan(of_node(hosts, layers=True))
    assert 0.4 < at(made).amount.share < 0.6
    assert sum(tier.quota for tier in made.nodes["localhost"]["worker"]["tiers"].amount) >= 256 << 20


def test_fuse_of_a_copy_needs_no_index_of_the_whole() -> None:
    many = {"files": 1_000_000, "bytes": "1Gi"}
    heaps = [
        planned({**SET, **many, "stage": wish}).nodes["localhost"]["fuse/set"]["heap"].amount
        for wish in ("off", "require")
    ]
    assert heaps[1] < heaps[0] / 2

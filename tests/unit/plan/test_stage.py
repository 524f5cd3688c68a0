"""A staged dataset has its copy on one medium and its FUSE mount out of the way; a client cache is for what is left."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import staging
from fleets import TIERS, Hosts, filesystem, fleet, local

from alluxio_fuse import keeper, stages
from alluxio_fuse.plan import Plan, Refused, layout, plan
from alluxio_fuse.plan.layout import Shape, Space, allocate
from alluxio_fuse.plan.rules import caches
from alluxio_fuse.plan.rules import stage as stage_rules
from alluxio_fuse.plan.rules.stage import stage_footprint, staged_share
from alluxio_fuse.plan.sizes import Sizes
from alluxio_fuse.plan.views.table import plan_table
from alluxio_fuse.targets import targets

SET: dict[str, Any] = {"name": "set", "source": "file:///data/set", "files": 1000, "bytes": "1Gi", "stage": "require"}
SIZES = Sizes.unlisted(1000, 1 << 30)
SHAPE = Shape("set", 0, SIZES, False, None, False, None, through_cluster=True, stage="auto")


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


def test_the_keepers_memory_is_counted_on_the_node_itself() -> None:
    node = planned().nodes["localhost"]
    limits = [one["container_memory"].amount for one in node.values() if "container_memory" in one]
    held = node["fuse/set"]["stage"].amount.footprint + stage_rules.keeper_memory(SET["files"])
    assert sum([held, *limits]) == pytest.approx(node["node"]["memory_services"].amount, abs=len(limits) << 20)


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


def in_pods(*datasets: dict[str, Any], **said: Any) -> Hosts:
    return fleet(2, {"alluxio_platform": "kubernetes", "alluxio_datasets": [*datasets] or [SET], **said}, memory=64)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            {"alluxio_platform": "fluid", "alluxio_fluid": {}},
            "the mounts of this platform are not ours, and no copy can take their place",
        ),
        (
            {"alluxio_kubernetes": {"node_access": False}},
            "copies are made on the nodes, which alluxio_kubernetes.node_access: false does not reach",
        ),
        (
            {"alluxio_kubernetes": {"node_selector": {"gpu": "true"}}},
            "alluxio_kubernetes.node_selector may select nodes that are not in the inventory",
        ),
    ],
    ids=["fluid", "nodes that are not reached", "nodes of others"],
)
def test_pods_stage_where_a_run_reaches_their_nodes(said: dict[str, Any], why: str) -> None:
    assert f"alluxio_datasets[0].stage: require\n    why: {why}" in finding(in_pods(**said))


def test_in_pods_a_copy_is_of_the_node() -> None:
    """Other memory is a volume of a pod, which goes with it."""
    made = plan(in_pods(SET, named("other", stage="off")))
    node = made.nodes["node-1"]["node"]
    media = {one["name"]: one for one in node["cache_media"].amount if one["medium"] == "memory"}
    copy = made.nodes["node-1"]["fuse/set"]["stage"].amount
    assert media.keys() == {"stage-memory"}
    assert media["stage-memory"]["size"] == copy.footprint == node["keeper"].amount.tmpfs
    assert (copy.path, copy.folder) == ("/mnt/alluxio-fuse/set/data", "/var/lib/alluxio-fuse/stage/set")
    assert made.nodes["node-1"]["fuse/other"]["mount_point"].amount == "/mnt/alluxio-fuse/other/data"


def test_in_pods_the_keeper_is_counted_once() -> None:
    """It is charged for copies in memory, which are the node's, and for what it needs itself."""
    made = plan(in_pods())
    node, keeper = made.nodes["node-1"]["node"], made.nodes["node-1"]["node"]["keeper"].amount
    assert keeper.memory - keeper.tmpfs == stage_rules.keeper_memory(SET["files"]) >= 192 << 20
    parts = [node[f"memory_{part}"].amount for part in ("reserve", "workload", "services", "page_cache")]
    assert sum(parts) == node["memory_total"].amount
    limits = [one["container_memory"].amount for one in made.nodes["node-1"].values() if "container_memory" in one]
    assert sum([keeper.memory, *limits]) == pytest.approx(node["memory_services"].amount, abs=len(limits) << 20)
    assert Plan.load(json.loads(json.dumps(made.dump()))).nodes["node-1"]["node"]["keeper"] == node["keeper"]


def test_in_pods_nothing_is_kept_where_nothing_is_staged() -> None:
    assert "keeper" not in plan(in_pods({**SET, "stage": "off"})).nodes["node-1"]["node"]


@pytest.mark.parametrize("layers", [True, False])
def test_in_pods_a_part_is_staged_where_the_node_layers_mounts(layers: bool) -> None:
    node = plan(of_node(in_pods(auto(**LARGER)), layers=layers)).nodes["node-1"]
    copy = node["fuse/set"]["stage"].amount
    assert (0.05 < copy.share < 1) == layers
    assert (copy.share == 0) != layers
    assert node["node"]["labels"].amount["alluxio-fuse.alluxio-fuse/set"] == ("part" if layers else "fuse")


def test_in_pods_each_kind_of_node_stages_what_it_holds() -> None:
    """Nodes of one group get the plan of the smaller one; of two groups, each its own."""
    hosts = in_pods(auto(bytes="20Gi"))
    hosts["node-1"]["facts"]["memory"]["total"] = 512 << 30
    copies = [one["fuse/set"]["stage"].amount for one in plan(hosts).nodes.values()]
    assert copies[0] == copies[1]
    hosts["node-1"]["groups"] = ("gpu_nodes", "gpu_large")
    copies = [one["fuse/set"]["stage"].amount for one in plan(hosts).nodes.values()]
    assert [copy.medium for copy in copies] == ["ssd", "memory"]


def test_in_pods_root_mounts_in_no_folder_of_another() -> None:
    """A copy is mounted by the node; FUSE alone by a pod, which sees nothing else."""
    mine = {"readers": {"uid": 2000, "gid": 2000, "mode": "0750"}}
    assert "alluxio_datasets[0].readers.uid: 2000" in finding(in_pods({**SET, **mine}))
    plan(in_pods({**SET, **mine, "stage": "off"}))


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
    worker = made.nodes["localhost"]["worker"]["tiers"].amount
    assert worker, "the rest comes from workers"


def in_fleet(memory: str = "100Gi", *, nvme: float | None = 170, network: int = 100_000, **said: Any) -> Hosts:
    """Four nodes, each with less than a set of 130 GiB takes."""
    rest = {"name": "set", "source": "s3://bucket/set", "files": 1_000_000, "bytes": "130Gi", "stage": "auto"}
    tiers = [{"medium": "memory", "budget": memory}, *([TIERS[1]] if nvme else [])]
    disks = [filesystem("/", 200), *([filesystem("/mnt/nvme", nvme)] if nvme else [])]
    said = {"alluxio_datasets": [rest], "alluxio_cache_tiers": tiers, "alluxio_workload_memory": "64Gi", **said}
    links: list[Any] = [{"name": name, "addresses": [], "speed_mbps": network} for name in ("lo", "eth0")]
    return fleet(4, said, memory=480, cpus=64, filesystems=disks, layers=True, network=links)


def test_the_rest_of_a_part_has_a_client_cache_where_a_medium_holds_all_of_it() -> None:
    """Another medium's, since its own is full."""
    made = plan(in_fleet())
    fuse = made.nodes["node-1"]["fuse/set"]
    copy, cache = fuse["stage"].amount, fuse["client_cache"]
    assert (copy.medium, cache.amount.medium) == ("ssd", "memory")
    assert "the whole rest" in cache.why
    (target,) = targets(made, "node-1")
    rest = round(1 - copy.share, 3)
    assert target["residency"] == {"stage": round(copy.share, 3), "client_cache": rest}
    assert (target["client_cache_bytes"], target["cache_of_rest"]) == (cache.amount.size, True)
    assert cache.amount.size == pytest.approx(caches.client_cache_need(round(rest * (130 << 30))), rel=0.01)
    assert fuse["expected"].amount["path"] == "client cache on memory"
    held = next(line for line in plan_table(made) if "a copy on ssd" in line)
    assert re.search(r"a copy on ssd and \S+i memory → ", held)
    assert made.fleet["warm_strategy"].amount["set"] == ["load"], "copies go through the client cache before"
    assert made.fleet["copies"].amount["set"] == plan(in_fleet("8Gi")).fleet["copies"].amount["set"]


def test_where_no_medium_holds_all_of_the_rest_it_comes_from_workers() -> None:
    """Of a cache that holds some of it, nothing could say how fast the others are: to read them would empty it."""
    made = plan(in_fleet("8Gi"))
    node = made.nodes["node-1"]
    assert not targets(made, "node-1")[0]["cache_of_rest"]
    assert not node["fuse/set"]["client_cache"].amount.enabled
    assert node["fuse/set"]["expected"].amount["path"] == "local worker"


@pytest.mark.parametrize(("memory", "nvme"), [("120Gi", None), ("100Gi", 170)], ids=["one medium", "two"])
def test_the_rest_takes_nothing_of_the_workers_of_a_fleet(memory: str, nvme: float | None) -> None:
    node = plan(in_fleet(memory, nvme=nvme)).nodes["node-1"]
    assert 0 < node["fuse/set"]["stage"].amount.share < 1
    assert sum(tier.quota for tier in node["worker"]["tiers"].amount) * 4 > 130 << 30


def test_inodes_of_a_client_cache_are_counted_for_the_rest() -> None:
    """A million files, of which a copy holds about 750,000 and the names of all; a page of the others has two."""
    hosts = in_fleet("60Gi")

    def is_cached(inodes: int) -> bool:
        for host in hosts.values():
            host["facts"]["filesystems"][1]["inodes_free"] = inodes
        return bool(plan(hosts).nodes["node-1"]["fuse/set"]["client_cache"].amount.enabled)

    assert [is_cached(inodes) for inodes in (2_200_000, 3_000_000)] == [False, True]


def on_its_own(*others: dict[str, Any], disk: str = "nvme", inodes: int = 10_000_000) -> Hosts:
    """A node whose memory holds most of a set, and whose disk holds less."""
    one = {"name": "set", "source": "s3://bucket/set", "files": 1_000_000, "bytes": "130Gi", "stage": "auto"}
    medium = "ssd" if disk == "nvme" else disk
    tiers = [{"medium": "memory", "budget": "100Gi"}, {"medium": medium, "path": f"/mnt/{disk}"}]
    disks = [filesystem("/", 200), filesystem(f"/mnt/{disk}", 95, inodes_free=inodes, rotational=medium == "hdd")]
    variables = {"alluxio_datasets": [one, *others], "alluxio_cache_tiers": tiers, "alluxio_workload_memory": "64Gi"}
    return fleet(1, variables, memory=480, cpus=64, filesystems=disks, layers=True)


def beside_a_small_one() -> Hosts:
    """That node, and one without room for a worker or a copy."""
    hosts = on_its_own()
    variables = hosts["node-0"]["variables"] | {"alluxio_cache_tiers": [], "alluxio_workload_memory": "1Gi"}
    return hosts | {"node-1": fleet(2, variables, memory=4, cpus=4, filesystems=[filesystem("/", 20)])["node-1"]}


def test_one_set_of_one_node_has_its_rest_before_the_worker() -> None:
    node = plan(on_its_own()).nodes["node-0"]
    assert 0 < node["fuse/set"]["stage"].amount.share < 1
    assert node["fuse/set"]["client_cache"].amount.medium == "ssd"
    (tier,) = node["worker"]["tiers"].amount
    assert tier.quota + node["fuse/set"]["client_cache"].amount.size < 95 << 30


OTHER = {"name": "other", "source": "s3://bucket/other", "files": 1000, "bytes": "2Gi", "stage": "require"}


@pytest.mark.parametrize(
    "hosts",
    [
        on_its_own(OTHER),
        on_its_own(disk="hdd"),
        on_its_own(inodes=1_200_000),
        beside_a_small_one(),
    ],
    ids=[
        "another set",
        "a disk that rotates",
        "no inodes",
        "another node reads from the worker",
    ],
)
def test_the_rest_takes_nothing_of_others(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan(hosts).nodes["node-0"]
    monkeypatch.setattr(layout, "_rest_caches", lambda *_: None)
    without = plan(hosts).nodes["node-0"]
    assert 0 < made["fuse/set"]["stage"].amount.share < 1
    assert not made["fuse/set"]["client_cache"].amount.enabled
    assert made["worker"]["tiers"].amount == without["worker"]["tiers"].amount


def test_no_plan_is_refused_for_the_rest() -> None:
    """Pods of a group are the same on each of its nodes, and of these two neither holds what the other one could."""
    one = {"name": "set", "source": "s3://bucket/set", "files": 100_000, "bytes": "200Gi", "stage": "auto"}
    said: dict[str, Any] = {"alluxio_platform": "kubernetes", "alluxio_datasets": [one], "alluxio_cache_tiers": TIERS}
    hosts: Hosts = {}
    for name, memory, disk in (("node-0", 96, 400), ("node-1", 160, 300)):
        disks = [filesystem("/", 200), filesystem("/mnt/nvme", disk)]
        variables = {**said, "alluxio_workload_memory": "16Gi"}
        hosts[name] = fleet(2, variables, memory=memory, cpus=64, filesystems=disks, layers=True)[name]
    made = plan(hosts)
    for node in made.nodes.values():
        assert 0 < node["fuse/set"]["stage"].amount.share < 1
        assert not node["fuse/set"]["client_cache"].amount.enabled


def test_nodes_that_differ_say_each_what_serves_them() -> None:
    hosts = in_fleet("100Gi")
    hosts["node-0"]["variables"]["alluxio_cache_tiers"] = [{"medium": "memory", "budget": "8Gi"}, TIERS[1]]
    made = plan(hosts)
    lacks, has = (targets(made, node)[0]["residency"] for node in ("node-0", "node-1"))
    assert (lacks["client_cache"], has.keys()) == (0, {"stage", "client_cache"})
    assert lacks["worker"] > 0


def test_the_client_cache_of_a_set_that_is_not_staged_is_of_no_rest() -> None:
    (target,) = targets(planned({**SET, "source": "s3://bucket/set", "stage": "off"}), "localhost")
    assert target["client_cache_bytes"] > 0
    assert not target["cache_of_rest"]


def test_a_client_cache_that_is_said_smaller_than_the_rest_is_not_of_the_rest() -> None:
    said: dict[str, Any] = {"alluxio_overrides": {"fuse.client_cache_size": "10Gi"}}
    (target,) = targets(plan(in_fleet(**said)), "node-1")
    assert not target["cache_of_rest"]
    assert target["residency"]["worker"] > 0


def test_an_index_for_half_of_a_set_is_enough_for_a_rest_of_a_third() -> None:
    spaces = (Space("ssd", "ssd", "/ssd", 720 << 20), Space("memory", "memory", "/memory", 520 << 20))
    there: dict[str, Any] = {"hosts_worker": False, "alone": False, "layers": True, "client_spaces": spaces}
    made = allocate(spaces, (SHAPE,), 0, {"set": 0.5}, **there, rests="last")
    assert 0.6 < made.staged("set") < 0.7
    assert made.client_caches["set"].share == 1


def test_the_rest_in_a_client_cache_takes_no_network() -> None:
    gate: dict[str, Any] = {"alluxio_gate": {"mb_per_s": 3000}}
    plan(in_fleet(network=1000, **gate))
    assert re.search(r"\d+% of set comes from other nodes", finding(in_fleet("8Gi", network=1000, **gate)))


def test_a_client_cache_that_is_said_is_for_the_rest() -> None:
    said: dict[str, Any] = {"alluxio_overrides": {"fuse.client_cache_size": "10Gi"}}
    (target,) = targets(plan(in_fleet(**said)), "node-1")
    assert target["residency"]["client_cache"] == pytest.approx(10 / 1.05 / 130, abs=0.01)
    plan(in_fleet(network=4000, alluxio_gate={"mb_per_s": 3000}, **said))


def test_a_part_that_fills_its_node_leaves_no_client_cache() -> None:
    said = {"alluxio_datasets": [auto()], "alluxio_cache_tiers": [{"medium": "memory", "budget": "1Gi"}]}
    fuse = plan(of_node(local(**said), layers=True)).nodes["localhost"]["fuse/set"]
    assert 0 < fuse["stage"].amount.share < 1
    assert not fuse["client_cache"].amount.enabled


@pytest.mark.parametrize(("layers", "remedy"), [(True, "write stage: auto"), (False, "remove stage")])
def test_where_the_whole_does_not_fit_the_remedy_is_a_part_if_the_kernel_can(layers: bool, remedy: str) -> None:
    hosts = of_node(local(alluxio_datasets=[{**SET, **LARGER}]), layers=layers)
    assert f"to alluxio_cache_tiers, or {remedy}" in finding(hosts)
    if layers:
        hosts["localhost"]["variables"]["alluxio_datasets"][0]["stage"] = "auto"
        assert at(plan(hosts)).amount.share > 0


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


def on_disk(stage: str, *, budget: str = "2Gi") -> Hosts:
    """A set whose source is on the disk that caches may use, beside memory."""
    tiers = [{"medium": "memory", "budget": budget}, {"medium": "ssd", "path": "/data/copies"}]
    disk = filesystem("/data", 900, number="259:1")
    source = {"state": "ok", "detail": None, "files": 1000, "bytes": 1 << 30, "sizes": None, "number": "259:1"}
    hosts = local(alluxio_datasets=[{**SET, "stage": stage}], alluxio_cache_tiers=tiers)
    return of_node(hosts, filesystems=[filesystem("/", 200, number="259:0"), disk], sources={SET["source"]: source})


def test_nothing_is_copied_to_the_disk_that_the_source_is_on() -> None:
    assert at(plan(on_disk("require"))).amount.medium == "memory"
    small = "256Mi"
    copy = at(plan(of_node(on_disk("auto", budget=small), layers=True)))
    assert (copy.amount.medium, copy.amount.share < 1) == ("memory", True)
    copy = at(plan(on_disk("auto", budget=small)))
    assert copy.amount.share == 0
    assert "no medium but the source's own disk has room for" in copy.why
    assert "nothing on data-copies, where the source is" in finding(on_disk("require", budget=small))
    elsewhere = of_node(on_disk("require", budget=small), filesystems=[filesystem("/", 200), filesystem("/data", 900)])
    assert at(plan(elsewhere)).amount.medium == "ssd"


def fast(stage: str, *, network: int = 100_000, nvme: float = 7000) -> Hosts:
    """Nodes of 8 H100 on UNet3D, which need more than a FUSE mount or a network ever gave."""
    kits = {
        "name": "kits",
        "source": "s3://bucket/kits",
        "files": 16_000,
        "bytes": 16_000 * 146_600_628,
        "stage": stage,
    }
    said = {"alluxio_datasets": [kits], "alluxio_cache_tiers": TIERS, "alluxio_workload": "unet3d"}
    disks = [filesystem("/", 200), filesystem("/mnt/nvme", nvme, type="xfs", inodes_free=400_000_000)]
    h100 = ("NVIDIA H100 80GB HBM3",) * 8
    links: list[Any] = [{"name": name, "addresses": [], "speed_mbps": network} for name in ("lo", "eth0")]
    return fleet(4, said, memory=2048, cpus=192, gpus=h100, filesystems=disks, network=links, layers=True)


def test_what_a_mount_or_a_network_delivers_bounds_no_copy() -> None:
    through_fuse = finding(fast("off"))
    assert "the most that one FUSE mount was ever seen to deliver" in through_fuse
    assert "or `stage: require` of the dataset" in through_fuse
    made = plan(fast("require", network=1000))
    assert made.nodes["node-1"]["fuse/kits"]["stage"].amount.medium == "ssd"
    warned = " ".join(map(str, made.warnings))
    assert "kits is read from an ssd" in warned
    assert "asks the master" not in warned


def test_of_a_part_the_rest_has_the_bounds_of_mount_and_network() -> None:
    found = finding(fast("auto", nvme=1500))
    assert re.search(r"need 22,875 MB/s, \d\d% of them through FUSE; the most that one FUSE mount", found)
    assert "`stage: require`" not in found
    most = finding(fast("auto", nvme=2300, network=1000))
    assert "FUSE mount" not in most
    assert re.search(r"\d+% of kits comes from other nodes", most)
    assert "a larger medium in alluxio_cache_tiers: 2.13Ti per node hold a whole copy" in most


@pytest.mark.parametrize(("disk", "stage"), [(1500, "require"), (800, "auto")], ids=["whole", "a part"])
def test_a_copy_on_a_disk_that_rotates_is_no_faster_than_it(disk: float, stage: str) -> None:
    """Whatever workers have in memory."""
    kits = {"name": "kits", "source": "s3://bucket/kits", "files": 1000, "bytes": "900Gi", "stage": stage}
    said = {"alluxio_datasets": [kits], "alluxio_workload_memory": "64Gi", "alluxio_gate": {"mb_per_s": 700}}
    tiers = {"alluxio_cache_tiers": [{**TIERS[1], "medium": "hdd"}, TIERS[0]]}
    disks = [filesystem("/", 200), filesystem("/mnt/nvme", disk, rotational=True)]
    hosts = fleet(4, said | tiers, memory=480, cpus=64, filesystems=disks, layers=True)
    assert "kits is read from a disk that rotates" in finding(hosts)
    for host in hosts.values():
        host["variables"]["alluxio_force"] = ["gate_reachable"]
    node = plan(hosts).nodes["node-1"]
    assert node["fuse/kits"]["stage"].amount.medium == "hdd"
    assert {tier.medium for tier in node["worker"]["tiers"].amount} == {"memory"}


def test_what_every_node_stages_workers_need_not_hold() -> None:
    """They need room for the other sets, which a gate lets no epoch read from the store again."""
    large, small = ({"name": name, "source": f"s3://{name}/set", "files": 1024, "bytes": size << 30}
                    for name, size in (("large", 93), ("small", 37)))  # fmt: skip

    def made(stage: str, nvme: float) -> Plan:
        said = {"alluxio_datasets": [{**large, "stage": stage}, small], "alluxio_gate": {"mb_per_s": 100}}
        disks = [filesystem("/", 200), filesystem("/mnt/nvme", nvme)]
        return plan(fleet(2, {**said, "alluxio_cache_tiers": TIERS[1:]}, memory=64, cpus=32, filesystems=disks))

    with pytest.raises(Refused, match="would be read from the under store again in each epoch"):
        made("off", 60)
    node = made("require", 150).nodes["node-1"]
    assert node["fuse/large"]["stage"].amount.share == 1
    assert 2 * sum(tier.quota for tier in node["worker"]["tiers"].amount) < (93 + 37) << 30


def test_a_set_that_must_be_staged_takes_its_room_first() -> None:
    """Before one of an earlier name, and smaller files, which is then staged in part."""
    sets = [named("a", stage="auto", files=10000, bytes="2Gi"), named("b", files=100, bytes="2Gi")]
    said = {"alluxio_platform": "host", "alluxio_cache_tiers": [{"medium": "memory", "budget": "3Gi"}]}
    hosts = local(alluxio_datasets=[{**one, "through": "under_store"} for one in sets], **said)
    made = plan(of_node(hosts, layers=True)).nodes["localhost"]
    assert made["fuse/b"]["stage"].amount.share == 1
    assert 0 < made["fuse/a"]["stage"].amount.share < 1


def test_on_host_a_unit_keeps_whole_copies_and_parts() -> None:
    through = {"alluxio_platform": "host", "alluxio_datasets": [auto(**LARGER, through="under_store")]}
    made = plan(of_node(local(**through), layers=True))
    assert 0.05 < at(made).amount.share < 1
    staged = stages.staged(made, "localhost")
    assert staged.keeper is not None
    assert staged.keeper["name"] == "alluxio-fuse-stage.service"
    assert "CAP_SYS_ADMIN" in staged.keeper["capabilities"]
    assert {"kind": "unit", "id": "alluxio-fuse-stage.service"}.items() <= staged.owned[-1].items()


def bucket(**said: Any) -> Hosts:
    """A bucket that FUSE on the host reads itself."""
    one = {**SET, "source": "s3://bucket/set", "through": "under_store"}
    return local(**{"alluxio_platform": "host", "alluxio_libfuse": 2, "alluxio_datasets": [one], **said})


def test_without_a_cluster_a_bucket_is_copied_in_order() -> None:
    made = plan(bucket())
    assert at(made).amount.share == 1
    assert "sync_read" in made.nodes["localhost"]["fuse/set"]["mount_options"].amount


def test_a_bucket_that_must_be_copied_whole_is_no_part() -> None:
    hosts = bucket()
    hosts["localhost"]["variables"]["alluxio_datasets"][0] |= LARGER
    assert "to alluxio_cache_tiers, or remove stage" in finding(of_node(hosts, layers=True))


@pytest.mark.parametrize(
    "said",
    [
        {"alluxio_datasets": [auto(source="s3://bucket/set", through="under_store")]},
        {"alluxio_libfuse": 3},
        {"alluxio_overrides": {"fuse.mount_options": ["allow_other", "ro"]}},
    ],
    ids=["maybe a part", "libfuse 3", "other options"],
)
def test_without_a_cluster_a_bucket_is_refused_where_readers_skip_forward(said: dict[str, Any]) -> None:
    assert "through: cluster, or stage: require with alluxio_libfuse: 2" in finding(bucket(**said))


def test_a_saved_plan_runs_the_same_keeper() -> None:
    """A file has names in their order, whatever that of the inventory is."""
    made = planned(named("whole"), named("part"))
    saved = Plan.load(json.loads(json.dumps(made.dump(), sort_keys=True)))
    assert stages.staged(saved, "localhost") == stages.staged(made, "localhost")


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
    module = keeper.program("name", str(tmp_path), []).command[1]
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


def windows(*datasets: dict[str, Any], nodes: int = 2, quota: str = "256Mi") -> Any:
    said = {"alluxio_datasets": [*datasets] or [SET], "alluxio_overrides": {"worker.tier_quota": quota}}
    return plan(fleet(nodes, {"alluxio_platform": "kubernetes", **said}, memory=64)).fleet


def test_what_workers_do_not_hold_is_copied_in_windows() -> None:
    """Two nodes with 256 MiB each, of which a window of 1 GiB takes half of what is used; three hold more."""
    two, three = windows()["stage_windows"], windows(nodes=3)["stage_windows"]
    assert (two.amount, three.amount) == ({"set": 5}, {"set": 3})
    assert "each window is loaded once, copied by 2 nodes, and given up" in two.why
    assert windows()["warm_strategy"].amount == {"set": []}


@pytest.mark.parametrize(
    ("made", "why", "steps"),
    [
        (lambda: windows(quota="2Gi"), "workers hold the whole set", ["load"]),
        (lambda: windows(nodes=1), "no two nodes", []),
        (lambda: windows({**SET, "stage": "off"}), "no two nodes", ["load", "read-through"]),
        (
            lambda: windows(SET, named("other", bytes="500Mi", cache={"pin": True}, stage="off")),
            "too little",
            [],
        ),
    ],
    ids=["held", "one node", "not staged", "pinned"],
)
def test_other_sets_are_copied_as_they_come(made: Any, why: str, steps: list[str]) -> None:
    found = made()
    assert found["stage_windows"].amount["set"] == 0
    assert why in found["stage_windows"].parts["set"].why
    assert found["warm_strategy"].amount["set"] == steps


def test_the_table_says_in_how_many_windows() -> None:
    said = {"alluxio_datasets": [SET], "alluxio_overrides": {"worker.tier_quota": "256Mi"}}
    lines = plan_table(plan(fleet(2, {"alluxio_platform": "kubernetes", **said}, memory=64)))
    assert [line for line in lines if line.startswith("set: 5 windows: workers hold 50%")], lines


@pytest.mark.parametrize(
    ("said", "memory", "line"),
    [
        ({}, 64, "staged of set: the whole set on memory, "),
        (
            {"stage": "auto", "bytes": "100Gi"},
            64,
            "staged of set: nothing: no medium has room for ",
        ),
        ({"stage": "off"}, 64, ""),
    ],
    ids=["whole", "nothing", "off"],
)
def test_the_table_says_what_is_staged(said: dict[str, Any], memory: int, line: str) -> None:
    variables = {"alluxio_platform": "kubernetes", "alluxio_datasets": [SET | said]}
    lines = plan_table(plan(fleet(2, variables, memory=memory)))
    found = [one for one in lines if one.startswith("staged of")]
    assert {one[: len(line)] for one in found} == ({line} if line else set())
    assert any(one.endswith("→ /mnt/alluxio-fuse/set/data") for one in lines)

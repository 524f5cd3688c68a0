"""Plans and refusals of whole fleets, arithmetic included."""

from typing import Any

import pytest
from fleets import filesystem, fleet, host

from alluxio_fuse.plan import Refused, plan
from alluxio_fuse.plan.rules.ports import FUSE_PORTS, FUSE_WEB, web_ports
from alluxio_fuse.plan.units import GIB

NVME = [filesystem("/", 200), filesystem("/mnt/nvme", 1500)]
TIERS = [{"medium": "memory"}, {"medium": "ssd", "path": "/mnt/nvme"}]
IMAGENET = {"name": "imagenet", "source": "s3://bucket/tfrecords", "files": 1024, "bytes": 144_000_000_000}
V100 = ("Tesla V100-SXM2-16GB",) * 8
H100 = ("NVIDIA H100 80GB HBM3",) * 8


def v100(**variables: Any) -> dict[str, Any]:
    """Four nodes of 8 V100, 512 GiB and NVMe."""
    said = {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": TIERS, "alluxio_workload": "resnet50"} | variables
    return fleet(4, said, memory=512, cpus=96, gpus=V100, filesystems=NVME)


def small_disk(size: float, **variables: Any) -> dict[str, Any]:
    """The same with little NVMe and little memory."""
    said = {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": TIERS, "alluxio_workload": "resnet50"} | variables
    disks = [filesystem("/", 200), filesystem("/mnt/nvme", size)]
    return fleet(4, said, memory=64, cpus=96, gpus=V100, filesystems=disks)


def test_one_copy_in_workers_and_one_in_each_client_cache() -> None:
    made = plan(v100())
    assert made.fleet["residency"].amount["imagenet"]["client_cache"] == 1
    assert made.fleet["residency"].amount["imagenet"]["worker"] == 1
    assert made.fleet["copies"].amount["imagenet"] == {"workers": 1.0, "client_caches": 4}
    tiers = [made.nodes[node]["worker"]["tiers"].amount for node in made.nodes]
    assert sum(tier.quota for (tier,) in tiers) > IMAGENET["bytes"]


def test_training_keeps_its_share() -> None:
    node = plan(v100()).nodes["node-3"]["node"]
    assert node["memory_workload"].amount == 384 * GIB
    assert plan(v100(alluxio_workload_memory="100Gi")).nodes["node-3"]["node"]["memory_workload"].amount == 100 * GIB


def test_cold_reads_are_not_multiplied() -> None:
    made = plan(v100())
    site = made.nodes["node-1"]["fuse/imagenet"]["properties"].amount
    policy = "alluxio.user.ufs.block.read.location.policy"
    assert site[policy].endswith("DeterministicHashPolicy")
    assert site[f"{policy}.deterministic.hash.shards"] == "1"
    assert site["alluxio.user.file.passive.cache.enabled"] == "false"
    cost = made.fleet["under_store"].amount["imagenet"]
    assert cost["first_epoch"]["bytes"] == IMAGENET["bytes"]
    assert cost["joining_node"] == {"gets": 0, "lists": 0, "bytes": 0}


def test_each_node_listens_on_its_own_address_and_asks_the_master() -> None:
    made = plan(v100())
    worker = made.nodes["node-2"]["worker"]["properties"].amount
    assert worker["alluxio.worker.bind.host"] == worker["alluxio.worker.hostname"] == "10.0.0.3"
    assert worker["alluxio.master.hostname"] == "10.0.0.1"
    assert made.nodes["node-2"]["fuse/imagenet"]["properties"].amount["alluxio.user.hostname"] == "10.0.0.3"


STANDBY = "alluxio.standby.master.grpc.enabled"


def test_a_single_master_answers_nothing_before_it_leads() -> None:
    """Its "no such service" would be a client's "no such file"."""
    assert plan(v100()).nodes["node-0"]["master"]["properties"].amount[STANDBY] == "false"
    upstream = plan(v100(alluxio_profile="upstream")).nodes["node-0"]["master"]["properties"].amount
    assert STANDBY not in upstream


def test_a_worker_that_is_gone_is_soon_forgotten_by_the_master_and_its_clients() -> None:
    node = plan(v100()).nodes["node-0"]
    assert node["master"]["properties"].amount["alluxio.master.worker.timeout"] == "30s"
    assert node["fuse/imagenet"]["properties"].amount["alluxio.user.worker.list.refresh.interval"] == "15s"


def test_three_masters_are_a_quorum() -> None:
    hosts = v100()
    for name in ("node-1", "node-2"):
        hosts[name]["groups"] = ["masters", "gpu_nodes"]
    site = plan(hosts).nodes["node-3"]["worker"]["properties"].amount
    assert site["alluxio.master.rpc.addresses"] == "10.0.0.1:19998,10.0.0.2:19998,10.0.0.3:19998"
    master = plan(hosts).nodes["node-1"]["master"]["properties"].amount
    assert master["alluxio.master.journal.type"] == "EMBEDDED"
    assert master["alluxio.master.hostname"] == "10.0.0.2"
    assert STANDBY not in master


def test_a_gate_above_what_a_mount_delivers_is_refused_not_relaxed(finding: Any) -> None:
    kits = {"name": "kits", "source": "s3://b/kits", "files": 1000, "bytes": "140Gi"}
    said = {"alluxio_datasets": [kits], "alluxio_cache_tiers": TIERS, "alluxio_workload": "unet3d"}
    hosts = fleet(16, said, memory=2048, cpus=192, gpus=H100, filesystems=NVME)
    found = finding(hosts)
    assert found.path == "node-0, node-1 and 14 alike: alluxio_gpus"
    assert found.invariant == "gate_reachable"
    assert "8 x H100 on unet3d need 22,875 MB/s" in found.reason
    assert "at most 3 such GPUs" in found.remedy
    for each in hosts.values():
        each["variables"]["alluxio_force"] = ["gate_reachable"]
    made = plan(hosts)
    assert made.fleet["gate"].amount.mb_per_s == pytest.approx(22_874, rel=0.001)
    assert any("forced (gate_reachable)" in warning["message"] for warning in made.warnings)


def test_a_gate_above_the_network_names_the_client_cache_that_would_do(findings: Any) -> None:
    hosts = small_disk(60, alluxio_workload_memory=0)
    for each in hosts.values():
        each["facts"]["network"][1]["speed_mbps"] = 1000
    found = [each for each in findings(hosts) if each.invariant == "gate_reachable"]
    assert found
    assert "125 MB/s (1000 Mb/s)" in found[0].reason


def test_a_set_larger_than_the_caches_under_a_gate(finding: Any) -> None:
    found = finding(small_disk(20))
    assert found.path == "alluxio_cache_tiers"
    assert found.invariant == "set_fits_caches"
    assert "134Gi of datasets, 4 workers hold" in found.reason
    assert "more of cache on each of 4 nodes" in found.remedy


def test_the_remedy_of_a_set_that_does_not_fit_holds(finding: Any) -> None:
    more = int(finding(small_disk(20)).remedy.partition("Mi")[0]) / 1024
    plan(small_disk(20 + (more + 1) / 0.85))


def test_workers_of_a_fleet_hold_the_set_before_client_caches_get_a_part() -> None:
    made = plan(small_disk(60, alluxio_workload="none"))
    held = made.fleet["residency"].amount["imagenet"]
    assert held["worker"] == 1
    assert held["client_cache"] < 1


def test_a_node_on_its_own_gets_a_whole_client_cache_first() -> None:
    said = {"alluxio_datasets": [IMAGENET | {"bytes": "40Gi"}], "alluxio_cache_tiers": TIERS[1:]}
    disks = [filesystem("/", 200), filesystem("/mnt/nvme", 60)]
    made = plan({"node": host(said, memory=64, filesystems=disks)})
    held = made.fleet["residency"].amount["imagenet"]
    assert held["client_cache"] == 1
    assert 0 < held["worker"] < 1


def test_the_same_without_a_gate_is_a_warning() -> None:
    made = plan(small_disk(20, alluxio_workload="none"))
    assert any("134Gi of datasets" in warning["message"] for warning in made.warnings)
    cost = made.fleet["under_store"].amount["imagenet"]
    assert 0 < cost["joining_node"]["bytes"] < cost["first_epoch"]["bytes"]
    assert sum(made.fleet["served_from"].amount["imagenet"].values()) == pytest.approx(1, abs=0.01)


def test_a_pin_that_does_not_fit(findings: Any) -> None:
    pinned = IMAGENET | {"cache": {"pin": True}}
    found = findings(small_disk(20, alluxio_workload="none", alluxio_datasets=[pinned]))
    assert [each.invariant for each in found] == ["pin_fits"]


def test_a_pinned_set_is_laid_out_first() -> None:
    sets = [{"name": name, "source": f"s3://b/{name}", "files": 1000, "bytes": "90Gi"} for name in ("first", "second")]
    tiers = [{"medium": "memory", "budget": "120Gi"}, TIERS[1]]
    for pinned, other in ((0, 1), (1, 0)):
        chosen = [each | {"cache": {"pin": number == pinned}} for number, each in enumerate(sets)]
        services = plan(v100(alluxio_datasets=chosen, alluxio_cache_tiers=tiers, alluxio_workload_memory=0)).nodes[
            "node-1"
        ]
        media = [services[f"fuse/{sets[number]['name']}"]["client_cache"].amount.medium for number in (pinned, other)]
        assert media == ["memory", "ssd"]


TEAMS = [
    {"name": "vision", "source": "s3://b/vision", "files": 1000, "bytes": "100Gi", "cache": {"share": 0.5}},
    {"name": "speech", "source": "s3://b/speech", "files": 1000, "bytes": "100Gi", "cache": {"share": 0.5}},
]


def test_two_teams_share_a_fleet() -> None:
    made = plan(v100(alluxio_datasets=TEAMS))
    assert set(made.fleet["residency"].amount) == {"vision", "speech"}


def test_a_port_stays_when_other_datasets_come_and_go() -> None:
    both, one = plan(v100(alluxio_datasets=TEAMS)), plan(v100(alluxio_datasets=TEAMS[1:]))
    vision, speech = (both.nodes["node-1"][f"fuse/{name}"]["ports"].amount["web"] for name in ("vision", "speech"))
    assert vision != speech
    assert one.nodes["node-1"]["fuse/speech"]["ports"].amount == {"web": speech}


def test_no_two_ports_are_alike() -> None:
    made = web_ports([f"set-{number}" for number in range(FUSE_PORTS)], 7)
    assert sorted(made.values()) == [FUSE_WEB + 7 + place for place in range(FUSE_PORTS)]


@pytest.mark.parametrize("offset", [0, 2700])
def test_no_port_is_one_of_outgoing_connections(offset: int) -> None:
    made = plan(v100(alluxio_datasets=TEAMS, alluxio_port_offset=offset))
    services = [keys["ports"].amount for keys in made.nodes["node-0"].values() if "ports" in keys]
    ports = {port for own in services for port in own.values()}
    assert len(ports) >= 11
    assert max(ports) < 32768


def test_shares_above_one(finding: Any) -> None:
    teams = [team | {"cache": {"share": 0.7}} for team in TEAMS]
    found = finding(v100(alluxio_datasets=teams))
    assert "0.7 vision + 0.7 speech = 1.4" in found.reason


def test_datasets_that_would_evict_each_other(findings: Any) -> None:
    crowd = [IMAGENET | {"bytes": "250Gi"}, TEAMS[0] | {"bytes": "20Gi"}]
    found = findings(small_disk(40, alluxio_workload="none", alluxio_datasets=crowd))
    assert [each.invariant for each in found] == ["shares_hold"]
    assert "pin it in place of a share" in found[0].remedy


def test_a_budget_over_what_is_free(finding: Any) -> None:
    tiers = [{"medium": "ssd", "path": "/mnt/nvme", "budget": "2Ti"}]
    found = finding(v100(alluxio_cache_tiers=tiers))
    assert found.invariant == "budget_fits"
    assert "free or ours on /mnt/nvme - 75Gi kept free (5 % of the filesystem)" in found.reason


def test_a_memory_budget_over_memory(findings: Any) -> None:
    found = findings(v100(alluxio_cache_tiers=[{"medium": "memory", "budget": "1Ti"}, TIERS[1]]))
    assert {each.path.partition(": ")[0] for each in found} == {"node-0", "node-1 and 2 alike"}
    assert "after the reserve, training, services and page cache" in found[0].reason


def test_the_kubelets_threshold_stays_free(findings: Any) -> None:
    tiers = [{"medium": "ssd", "path": "/var/cache/alluxio", "budget": "1Ti"}]
    said = {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": tiers}
    disks = [filesystem("/", 1500, 1200)]
    plan(fleet(4, said | {"alluxio_platform": "containers"}, memory=512, filesystems=disks))
    (found,) = findings(fleet(4, said | {"alluxio_platform": "kubernetes"}, memory=512, filesystems=disks))
    assert "225Gi kept free (15 %, the kubelet's eviction threshold)" in found.reason


def requests(cpus: float) -> list[int]:
    said = {"alluxio_datasets": [IMAGENET, TEAMS[0]], "alluxio_platform": "kubernetes"}
    nodes = plan(fleet(3, said, memory=512, cpus=cpus, filesystems=NVME)).nodes
    of_each = [[one["cpu_request"].amount for one in node.values() if "cpu_request" in one] for node in nodes.values()]
    assert of_each[1] == of_each[2]
    assert sum(of_each[0]) <= 1000 * cpus
    return of_each[1]


def test_pods_ask_for_processors_that_every_node_has(findings: Any) -> None:
    assert requests(cpus=96) == [1000, 100, 500, 500]
    assert requests(cpus=2) == [200, 50, 100, 100]
    said = {"alluxio_datasets": [IMAGENET], "alluxio_overrides": {"fuse.cpu_request": 50}}
    (found,) = findings(fleet(3, said, memory=512, filesystems=NVME))
    assert (found.path, found.reason) == (
        "alluxio_overrides[fuse.cpu_request]",
        "services of platform containers request no processors",
    )


def test_two_paths_on_one_disk(finding: Any) -> None:
    tiers = [{"medium": "ssd", "path": "/mnt/nvme/a"}, {"medium": "ssd", "path": "/mnt/nvme/b"}]
    assert "counted twice" in finding(v100(alluxio_cache_tiers=tiers)).reason


def test_nested_paths(findings: Any) -> None:
    tiers = [{"medium": "ssd", "path": "/mnt/nvme"}]
    sets = [IMAGENET | {"source": "file:///mnt/nvme/data"}, TEAMS[0], TEAMS[1] | {"source": "s3://b/vision/part"}]
    found = findings(v100(alluxio_cache_tiers=tiers, alluxio_datasets=sets))
    assert [each.path for each in found] == ["alluxio_datasets[0].source", "alluxio_datasets[2].source"]


def test_a_tier_on_a_mount_that_is_not_there(finding: Any) -> None:
    found = finding(v100(alluxio_cache_tiers=[{"medium": "ssd", "path": "/mnt/forgotten"}]))
    assert found.invariant == "tier_is_mounted"


def test_too_few_inodes(finding: Any) -> None:
    disks = [filesystem("/", 200), filesystem("/mnt/nvme", 1500, inodes_free=10_000)]
    said = {"alluxio_datasets": [IMAGENET | {"files": 100_000}], "alluxio_cache_tiers": TIERS[1:]}
    found = finding(fleet(4, said, memory=512, cpus=96, filesystems=disks))
    assert "10,000 inodes free" in found.value
    assert "two for each page" in found.reason


def test_a_copy_takes_inodes() -> None:
    """On a filesystem that has a bound of them."""

    def refused(inodes: int | None, **said: Any) -> bool:
        disks = [filesystem("/", 200), filesystem("/mnt/nvme", 1500, inodes_free=inodes)]
        dataset = {**IMAGENET, "files": 100_000, "stage": "auto", **said}
        try:
            plan(fleet(4, {"alluxio_datasets": [dataset], "alluxio_cache_tiers": TIERS[1:]}, filesystems=disks))
        except Refused as found:
            (one,) = found.findings
            assert "100,000 staged" in one.reason
            assert one.remedy.endswith("or stage: off")
            return True
        return False

    assert refused(99_999)
    assert not refused(None)


def disk(**changes: Any) -> dict[str, Any]:
    return {
        "name": "nvme1n1", "path": "/dev/nvme1n1", "by_id": None, "size": 1000 * GIB, "rotational": False,
        "signature": None, "partitions": [], "holders": [], "mounted": False,
    } | changes  # fmt: skip


def test_an_empty_disk_becomes_a_medium() -> None:
    tiers = [{"medium": "ssd", "devices": ["/dev/nvme1n1"]}]
    hosts = fleet(2, {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": tiers}, memory=64, block_devices=[disk()])
    media = plan(hosts).nodes["node-1"]["node"]["cache_media"].amount
    assert media[0]["kind"] == "device"
    assert media[0]["path"] == "/var/lib/alluxio-fuse/media/nvme1n1"
    assert {medium["path"] for medium in media[1:]} == {
        "/var/lib/alluxio-fuse/media/nvme1n1/tier",
        "/var/lib/alluxio-fuse/media/nvme1n1/client-cache",
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"signature": "xfs"}, "it holds xfs"),
        ({"mounted": True}, "it is mounted"),
        ({"partitions": ["nvme1n1p1"]}, "it has partitions"),
        ({"holders": ["md0"]}, "in use by md0"),
        ({"path": "/dev/other"}, "no such disk"),
    ],
)
def test_a_disk_that_is_not_empty_is_never_taken(finding: Any, changes: dict[str, Any], reason: str) -> None:
    tiers = [{"medium": "memory"}, {"medium": "ssd", "devices": ["/dev/nvme1n1"]}]
    said = {"alluxio_datasets": [IMAGENET | {"bytes": "1Gi"}], "alluxio_cache_tiers": tiers}
    assert reason in finding(fleet(2, said, memory=64, block_devices=[disk(**changes)])).reason


def test_what_wipe_names_is_taken_and_said() -> None:
    tiers = [{"medium": "ssd", "devices": ["/dev/nvme1n1", "/dev/nvme2n1"], "wipe": ["/dev/nvme1n1"]}]
    disks = [disk(signature="ext4"), disk(path="/dev/nvme2n1")]
    made = plan(fleet(2, {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": tiers}, block_devices=disks))
    media = made.nodes["node-1"]["node"]["cache_media"].amount
    assert {medium["device"]: medium.get("wipe") for medium in media if medium["kind"] == "device"} == {
        "/dev/nvme1n1": True,
        "/dev/nvme2n1": None,
    }
    warned = {each["message"] for each in made.warnings if each["path"].endswith("alluxio_cache_tiers[0].wipe")}
    assert warned == {"what is on /dev/nvme1n1 will be destroyed"}


@pytest.mark.parametrize("changes", [{"mounted": True}, {"partitions": ["nvme1n1p1"]}, {"holders": ["md0"]}])
def test_wiping_waives_nothing_but_a_signature(finding: Any, changes: dict[str, Any]) -> None:
    tiers = [{"medium": "memory"}, {"medium": "ssd", "devices": ["/dev/nvme1n1"], "wipe": ["/dev/nvme1n1"]}]
    said = {"alluxio_datasets": [IMAGENET | {"bytes": "1Gi"}], "alluxio_cache_tiers": tiers}
    found = finding(fleet(2, said, memory=64, block_devices=[disk(signature="xfs", **changes)]))
    assert found.path.endswith("alluxio_cache_tiers[1].devices")


def test_distributions_that_were_not_run_are_said() -> None:
    hosts = fleet(4, {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": TIERS[:1]})
    for name in ("node-1", "node-3"):
        hosts[name]["facts"]["distribution"] = {"id": "ubuntu", "version": "22.04"}
    (warning,) = [each for each in plan(hosts).warnings if each["path"] == "distribution"]
    assert warning["message"].startswith("the roles were never run on ubuntu 22.04: node-1, node-3;")


def test_our_own_disk_is_taken_again() -> None:
    tiers = [{"medium": "ssd", "devices": ["/dev/nvme1n1"]}]
    owned = {"version": 1, "name": "alluxio-fuse", "items": [{"kind": "mount", "id": "/dev/nvme1n1", "data": {}}]}
    hosts = fleet(2, {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": tiers}, memory=64,
                  block_devices=[disk(signature="xfs", mounted=True)], owned=owned)  # fmt: skip
    assert plan(hosts).nodes["node-1"]["node"]["cache_media"].amount[0]["device"] == "/dev/nvme1n1"


def test_a_node_too_small_for_a_worker_reads_from_the_others() -> None:
    hosts = v100(alluxio_workload="none")
    said = {**hosts["node-1"]["variables"], "alluxio_workload_memory": "12Gi"}
    said.pop("alluxio_cache_tiers")
    hosts["small"] = host(said, ("gpu_nodes",), memory=14.5, gpus=("Tesla T4",))
    hosts["small"]["facts"]["network"][1]["addresses"] = ["10.0.1.1"]
    made = plan(hosts)
    assert list(made.nodes["small"]) == ["node", "fuse/imagenet"]
    assert made.nodes["small"]["fuse/imagenet"]["expected"].amount["path"].endswith(("worker", "ssd"))
    (warning,) = [each for each in made.warnings if each["path"] == "small: memory"]
    assert "files/s" in warning["message"]


def test_a_gpu_outside_the_table_is_a_named_gap() -> None:
    said = {"alluxio_datasets": [IMAGENET | {"bytes": "1Gi"}]}
    made = plan({"t4": host(said, memory=64, cpus=8, gpus=("Tesla T4",))})
    assert made.fleet["gate"].amount.status == "unknown"
    assert "no public figure for Tesla T4 on resnet50" in made.nodes["t4"]["node"]["gate"].why
    assert "gpu_gap" in {each["name"] for each in made.assumptions}
    declared = plan({"t4": host(said | {"alluxio_gate": {"mb_per_s": 90}}, memory=64, cpus=8, gpus=("Tesla T4",))})
    assert declared.fleet["gate"].amount.status == "declared"
    assert declared.fleet["gate"].amount.mb_per_s == 90


def test_a_gate_declared_below_the_gpus_need_carries_that_need() -> None:
    said = {"alluxio_workload": "resnet50", "alluxio_datasets": [IMAGENET]}
    a100 = ("NVIDIA A100-SXM4-80GB",)
    derived = plan({"a": host(said, memory=64, cpus=8, gpus=a100)}).fleet["gate"].amount
    assert derived.training == {
        "accelerators": 1,
        "batch": 400,
        "compute_s": pytest.approx(0.435, rel=0.001),
        "utilisation": 0.90,
    }
    lowered = plan({"a": host(said | {"alluxio_gate": {"mb_per_s": 10}}, memory=64, cpus=8, gpus=a100)})
    assert lowered.fleet["gate"].amount.planned["mb_per_s"] == derived.mb_per_s
    raised = plan(
        {"a": host(said | {"alluxio_gate": {"mb_per_s": 500, "files_per_s": 5000}}, memory=64, cpus=8, gpus=a100)}
    )
    assert raised.fleet["gate"].amount.planned is None


def test_many_nodes_on_one_master_are_unwise() -> None:
    said = {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": TIERS, "alluxio_workload": "none"}
    made = plan(fleet(64, said, memory=512, cpus=96, filesystems=NVME))
    assert any(warning["path"] == "masters" for warning in made.warnings)


@pytest.mark.parametrize(
    ("medium", "told"), [({"medium": "memory"}, True), ({"medium": "ssd", "path": "/mnt/nvme"}, False)]
)
def test_caches_in_memory_may_go_to_swap(medium: dict[str, str], told: bool) -> None:
    hosts = fleet(2, {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": [medium]}, memory=512, filesystems=NVME)
    for node in hosts.values():
        node["facts"]["swap"] = 8 << 30
    hosts["node-0"]["groups"] = ["masters"]  # alone, so it has no caches
    found = [warning["message"] for warning in plan(hosts).warnings if warning["path"] == "swap"]
    assert [message.partition(":")[0] for message in found] == ["node-1"] * told


def test_a_gate_above_a_disk_that_rotates(findings: Any) -> None:
    tiers = [{"medium": "hdd", "path": "/mnt/nvme"}]
    found = findings(v100(alluxio_cache_tiers=tiers))
    assert {each.invariant for each in found} == {"gate_reachable"}
    assert "at most about 300 MB/s" in found[0].reason


def test_a_gate_above_an_ordinary_ssd_is_unwise() -> None:
    made = plan(v100(alluxio_gate={"mb_per_s": 5000}))
    assert any("PCIe 3" in warning["message"] for warning in made.warnings)


def test_the_smallest_files_decide_whether_files_count() -> None:
    jpeg = {"name": "jpeg", "source": "s3://b/jpeg", "files": 100_000, "bytes": "10Gi"}
    assert plan(v100(alluxio_datasets=[IMAGENET, jpeg])).fleet["gate"].amount.files_per_s > 8000


def test_the_plan_says_where_containerd_will_be_restarted() -> None:
    said = {"alluxio_datasets": [IMAGENET], "alluxio_platform": "kubernetes"}
    hosts = fleet(4, said, memory=512, disk=2000)
    for name, files in (("node-1", 1024), ("node-2", 65536), ("node-3", 4096)):
        hosts[name]["facts"]["containerd_files"] = files
    warned = {one["path"]: one["message"] for one in plan(hosts).warnings}
    assert "restarts it on node-1, node-3, one node after the other" in warned["containerd"]
    assert "1024 files there, and 65536 are wanted" in warned["containerd"]
    elsewhere = {"alluxio_kubernetes": {"node_access": False}}
    unseen = {name: host | {"variables": host["variables"] | elsewhere} for name, host in hosts.items()}
    in_podman = {
        name: host | {"variables": host["variables"] | {"alluxio_platform": "containers"}}
        for name, host in hosts.items()
    }
    for others in (unseen, in_podman):
        assert "containerd" not in {one["path"] for one in plan(others).warnings}

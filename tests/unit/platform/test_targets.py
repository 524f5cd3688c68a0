"""What warm-up and check are told comes from the plan."""

from pathlib import Path

from fleets import facts, local

from alluxio_fuse import targets
from alluxio_fuse.plan import plan


def test_a_target_names_mount_cache_and_counters() -> None:
    (target,) = targets.targets(plan(local()), "localhost")
    assert target["mount_point"] == "/mnt/alluxio-fuse/imagenet-sample/data"
    assert target["client_cache_bytes"] > 0
    assert target["identity_file"] == "/var/lib/alluxio-fuse/client-cache/imagenet-sample/.identity"
    assert target["metrics"] == {
        "fuse": ["127.0.0.1:28389"],
        "worker": ["127.0.0.1:30000"],
        "master": ["127.0.0.1:19999"],
    }
    assert sum(target["residency"].values()) == 1


def test_endpoints_of_a_scheduler_take_the_place_of_planned_ones() -> None:
    found = {
        "fuse": {"localhost": {"imagenet-sample": "10.0.0.7:49999"}},
        "worker": ["10.0.0.8:30000"],
        "master": ["10.0.0.9:19999"],
        "identity": {"localhost": {"imagenet-sample": "m/f"}},
        "users": {"localhost": ["pod team/trainer"]},
    }
    (target,) = targets.targets(plan(local()), "localhost", [], found)
    assert target["identity"] == "m/f"
    assert target["users"] == ["pod team/trainer"]
    assert "identity_file" not in target
    assert target["metrics"] == {"fuse": ["10.0.0.7:49999"], "worker": ["10.0.0.8:30000"], "master": ["10.0.0.9:19999"]}


def test_upstream_defaults_have_neither_client_cache_nor_fuse_counters() -> None:
    (target,) = targets.targets(plan(local(alluxio_profile="upstream")), "localhost")
    assert target["client_cache_bytes"] == 0
    assert target["metrics"]["fuse"] == []
    assert target["identity_file"].endswith("/tier/memory/.identity")


def test_the_gate_is_the_plans() -> None:
    assert targets.gate(plan(local(alluxio_gate_min_disk_ratio=0.7)), "localhost")["min_disk_ratio"] == 0.7


def test_about_names_machine_and_plan() -> None:
    sources = [f"{Path.cwd()}/inventories/our lab", "gpu1,"]
    about = targets.about(plan(local()), "localhost", facts(), sources)
    assert about["again"] == "ansible-playbook -i 'inventories/our lab' -i gpu1, playbooks/check.yml"
    assert about["machine"]["memory"] == "24.0 GiB"
    assert "fuse/imagenet-sample: client cache" in about["plan"]


def test_what_may_change_is_refreshed() -> None:
    size = {"files": 10, "bytes": 10**6}
    sets = [
        {"name": "still", "source": "s3://b/a", **size},
        {"name": "live", "source": "s3://b/b", "freshness": "within: 40s", **size},
    ]
    (one,) = targets.refreshable(plan(local(alluxio_datasets=sets)), "localhost")
    assert one == {
        "name": "live",
        "alluxio_path": "/live",
        "mount_point": "/mnt/alluxio-fuse/live/data",
        "kernel_s": 10,
    }


def test_folders_are_compared_with_the_dataset_that_they_hold() -> None:
    made = plan(local())
    folders = {"imagenet-sample": ["/mnt/nfs/sample"], "other": ["/mnt/nfs/other"]}
    (target,) = targets.targets(made, "localhost", [made], None, folders)
    assert target["compare"][1:] == [
        {"name": "/mnt/nfs/sample", "mount_point": "/mnt/nfs/sample", "state": "uncached", "metrics": {}}
    ]
    assert "compare" not in targets.targets(made, "localhost")[0]

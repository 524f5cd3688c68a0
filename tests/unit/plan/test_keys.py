"""Every property that the planner can emit is one that Alluxio knows."""

from typing import Any

import pytest
from fleets import filesystem, fleet, local

from alluxio_fuse.plan import plan
from alluxio_fuse.plan.keys import is_known, versions

DATASETS = [
    {"name": "fixed", "source": "s3://b/fixed", "files": 100, "bytes": "1Gi",
     "s3": {"endpoint": "http://s3:8333", "region": "eu", "path_style": True}},
    {"name": "live", "source": "s3://b/live", "files": 100, "bytes": "1Gi", "freshness": "within: 10m"},
    {"name": "out", "source": "s3://b/out", "files": 100, "bytes": "1Gi", "writable": True},
]  # fmt: skip
SSD = [{"medium": "memory", "budget": "1Gi"}, {"medium": "ssd", "path": "/mnt/a"}, {"medium": "hdd", "path": "/mnt/b"}]
DISKS = [filesystem("/", 100), filesystem("/mnt/a", 3), filesystem("/mnt/b", 900, rotational=True)]


def quorum() -> dict[str, Any]:
    hosts = fleet(3, {"alluxio_datasets": DATASETS, "alluxio_cache_tiers": SSD}, memory=64, filesystems=DISKS)
    for each in hosts.values():
        each["groups"] = ["masters", "gpu_nodes"]
    return hosts


FLEETS = [
    local(),
    local(alluxio_datasets=DATASETS, alluxio_libfuse=3),
    local(alluxio_profile="upstream"),
    local(alluxio_platform="host", alluxio_cache_tiers=[{"medium": "hdd", "path": "/var/cache", "budget": "1Gi"}]),
    quorum(),
]


@pytest.mark.parametrize("hosts", FLEETS)
def test_every_property_is_known(hosts: dict[str, Any]) -> None:
    made = plan(hosts)
    keys = {key for host in made.nodes.values() for service in host.values() if "properties" in service
            for key in service["properties"].amount}  # fmt: skip
    keys |= {key for dataset in made.fleet["datasets"].amount for key in dataset.options}
    assert not [key for key in keys if not is_known(key, "2.9.6")]


def test_every_property_has_a_reason_of_its_own() -> None:
    for service in plan(local()).nodes["localhost"].values():
        if "properties" in service:
            assert service["properties"].parts.keys() == service["properties"].amount.keys()
            assert all(part.why and part.source for part in service["properties"].parts.values())


def test_templates_are_matched_as_alluxio_does() -> None:
    assert is_known("alluxio.worker.tieredstore.level7.alias", "2.9.6")
    assert is_known("alluxio.master.mount.table.root.option.alluxio.underfs.s3.endpoint", "2.9.6")
    assert not is_known("alluxio.worker.tieredstore.levelx.alias", "2.9.6")


def test_dead_keys_of_older_write_ups_are_not_known() -> None:
    for key in ("alluxio.worker.file.buffer.size", "alluxio.fuse.maxwrite.bytes", "alluxio.underfs.oss.endpoint"):
        assert not is_known(key, "2.9.6")


def test_a_version_without_a_list_knows_nothing() -> None:
    assert "2.9.6" in versions()
    assert not is_known("alluxio.master.hostname", "0.0.1")

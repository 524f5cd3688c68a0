"""Preflight looks into every place that is removed with its contents, or that is ours alone, before it is made."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from fleets import filesystem, local

from alluxio_fuse import containers, host, names, preflight, stages, targets, warm
from alluxio_fuse.plan import Plan, plan

FOLDER = {"name": "set", "source": "file:///data/set", "files": 10, "bytes": "1Mi"}
DISK = {"filesystems": [filesystem("/", 200), filesystem("/nvme", 2000)]}


def claimed(**variables: Any) -> tuple[set[str], Plan]:
    """What preflight looks into, and the plan."""
    hosts = local(**variables)
    hosts["localhost"]["facts"] |= DISK
    return set(preflight.questions(hosts["localhost"]["variables"])["claims"]), plan(hosts)


def alone(items: list[dict[str, Any]]) -> set[str]:
    return {item["id"] for item in items if item["data"]["contents"] or item["data"].get("new")}


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"alluxio_name": "other"},
        {"alluxio_datasets": [FOLDER]},
        {"alluxio_cache_tiers": [{"medium": "ssd", "path": "/nvme", "budget": "100Gi"}]},
    ],
    ids=["sample", "name", "folder", "disk"],
)
def test_containers(said: dict[str, Any]) -> None:
    looked, planned = claimed(**said)
    name = planned.name
    state, points = names.state_dir(name), set(preflight.questions({**said})["mount_points"])
    items = containers.owned_items(containers.containers(planned, "localhost"), state)
    media = {medium["path"] for medium in planned.nodes["localhost"]["node"]["cache_media"].amount}
    caches = {path for path in alone(items) if any(path.startswith(f"{medium}/") for medium in media)}
    assert alone(items) - caches - points <= looked
    assert media <= looked
    assert (f"{state}/sample" in looked) is ("alluxio_datasets" not in said)


def test_host() -> None:
    looked, planned = claimed(alluxio_platform="host", alluxio_datasets=[FOLDER | {"through": "under_store"}])
    units = host.units(planned, "localhost")
    home = names.home("alluxio-fuse")
    items = host.unit_items(units, names.state_dir("alluxio-fuse"), home, f"{home}/0a1b", f"{home}/fuse")
    assert alone(items) - {f"{home}/0a1b", units[0]["mount_point"]} <= looked
    assert home in looked


def test_programs_on_host() -> None:
    said = {"through": "under_store", "stage": "require"}
    looked, planned = claimed(alluxio_platform="host", alluxio_datasets=[FOLDER | said])
    programs = [stages.staged(planned, "localhost").owned, warm.warm_up(planned, "localhost", ["localhost"]).owned]
    made = {item["id"] for item in itertools.chain(*programs) if item["kind"] == "unit"}
    assert made == {"alluxio-fuse-stage.service", "alluxio-fuse-warm.service"}
    assert {f"/etc/systemd/system/{name}" for name in made} <= looked


def test_nothing_is_made_on_nodes_that_cannot_be_reached() -> None:
    said = {"alluxio_platform": "kubernetes", "alluxio_datasets": [FOLDER]}
    assert preflight.questions(said | {"alluxio_kubernetes": {"node_access": False}})["claims"] == []
    assert "/mnt/alluxio-fuse/set" in preflight.questions(said)["claims"]
    assert names.home("alluxio-fuse") not in preflight.questions(said)["claims"]


def test_pods_fill_what_is_removed_one_by_one() -> None:
    said = {"alluxio_platform": "kubernetes", "alluxio_datasets": [FOLDER | {"source": "s3://bucket/set"}]}
    items = targets.mount_folders(plan(local(**said)), "localhost", "platform_kubernetes")
    assert [item["id"] for item in items if item["data"]["contents"]] == []
    assert [(item["kind"], item["id"]) for item in items] == [
        ("directory", "/mnt/alluxio-fuse"),
        ("directory", "/mnt/alluxio-fuse/set"),
        ("file", "/mnt/alluxio-fuse/set/.owner"),
        ("directory", "/mnt/alluxio-fuse/set/data"),
    ]

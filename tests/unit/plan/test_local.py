"""The plan of one machine that is everything: the local inventory."""

from typing import Any

import pytest
from fleets import filesystem, local

from alluxio_fuse.plan import plan
from alluxio_fuse.plan.rules.caches import client_cache_share
from alluxio_fuse.plan.units import GIB, MIB

SET = "fuse/imagenet-sample"


def amounts(hosts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        name: {key: value.amount for key, value in service.items()}
        for name, service in plan(hosts).nodes["localhost"].items()
    }


def with_memory(gib: float, **variables: Any) -> dict[str, Any]:
    hosts = local(**variables)
    hosts["localhost"]["facts"]["memory"]["total"] = int(gib * GIB)
    return hosts


def test_all_services_are_there() -> None:
    assert list(amounts(local())) == ["node", "master", "job_master", "worker", "job_worker", SET]


def test_the_whole_set_is_in_a_client_cache_and_a_tier_in_memory() -> None:
    made = amounts(local())
    cache = made[SET]["client_cache"]
    assert cache.medium == "memory"
    assert cache.path == "/var/lib/alluxio-fuse/client-cache/imagenet-sample"
    assert client_cache_share(cache.size, 4000 * 114_660 + 6 * 128_000_000) == 1
    (tier,) = made["worker"]["tiers"]
    assert tier.medium == "memory"
    assert tier.quota * tier.high > 4000 * 114_660 + 6 * 128_000_000


def test_memory_is_counted_once() -> None:
    made = amounts(local())
    node = made.pop("node")
    # each limit is rounded up to a MiB
    limits = sum(service["container_memory"] for service in made.values())
    assert node["memory_services"] <= limits <= node["memory_services"] + len(made) * MIB
    parts = ("memory_reserve", "memory_workload", "memory_services", "memory_page_cache")
    assert sum(node[part] for part in parts) == node["memory_total"]


def test_tmpfs_pages_are_in_the_limit_of_their_writer() -> None:
    made = amounts(local())
    tmpfs = {medium["name"]: medium["size"] for medium in made["node"]["cache_media"]}
    assert made["worker"]["tmpfs_memory"] == tmpfs["tier-memory"]
    assert made[SET]["tmpfs_memory"] == tmpfs["client-cache-memory"]
    for service in ("worker", SET):
        parts = ("heap", "direct_memory", "native_memory", "tmpfs_memory")
        assert made[service]["container_memory"] >= sum(made[service][part] for part in parts)


def test_a_tier_on_tmpfs_is_not_larger_than_its_tmpfs() -> None:
    made = amounts(local())
    (tmpfs,) = [medium for medium in made["node"]["cache_media"] if medium["name"] == "tier-memory"]
    assert made["worker"]["tiers"][0].quota < tmpfs["size"]


@pytest.mark.parametrize(("gib", "cache"), [(3.6, "ssd"), (4, "ssd"), (6, "memory")])
def test_small_machines_get_a_lesser_plan(gib: float, cache: str) -> None:
    made = amounts(with_memory(gib))
    assert made["node"]["level"] == "lean"
    assert made["worker"]["tiers"][0].path == "/var/lib/alluxio-fuse/disk/tier"
    assert made[SET]["client_cache"].medium == cache
    assert made[SET]["metadata_cache_entries"] >= 4006


@pytest.mark.parametrize("gib", [1, 2, 3])
def test_smaller_ones_are_refused_with_the_arithmetic(finding: Any, gib: float) -> None:
    found = finding(with_memory(gib))
    assert found.path == "localhost: memory"
    for term in ("384Mi reserve", "master", "fuse/imagenet-sample", "too little"):
        assert term in found.reason
    assert "at least 3" in found.remedy


def test_everything_listens_on_the_bind_address_only() -> None:
    made = amounts(local(alluxio_bind_address="127.0.0.2"))
    for name in ("master", "job_master", "worker", "job_worker"):
        binds = {value for key, value in made[name]["properties"].items() if key.endswith("bind.host")}
        assert binds == {"127.0.0.2"}
    assert made[SET]["properties"]["alluxio.fuse.web.bind.host"] == "127.0.0.1"


def test_web_ports_tell_no_names_contents_or_logs() -> None:
    made = amounts(local())
    for name in ("master", "job_master", "worker", "job_worker"):
        said = made[name]["properties"]
        assert (said["alluxio.web.ui.enabled"], said["alluxio.web.file.info.enabled"]) == ("false", "false")


def test_the_profile_upstream_says_nothing_beyond_addresses_places_password_and_libfuse() -> None:
    made = amounts(local(alluxio_profile="upstream"))
    allowed = (".hostname", ".port", ".bind.host", "journal.type", "journal.folder", "metastore.dir", "root.ufs")
    tier = ("tieredstore.levels", ".alias", ".dirs.path", ".dirs.mediumtype", ".dirs.quota")
    password = ("alluxio.security.authentication.type", "alluxio.security.authentication.custom.provider.class")
    ours = ("alluxio.fuse.jnifuse.libfuse.version", "alluxio.security.login.username", *password)
    for name, service in made.items():
        for key in service.get("properties", {}):
            assert key.endswith(allowed + tier) or key in ours, (name, key)
    assert made[SET]["mount_options"] == []
    assert made[SET]["libfuse"] == 2
    assert not made[SET]["client_cache"].enabled


def test_a_second_deployment_has_other_ports_and_paths() -> None:
    first, second = amounts(local()), amounts(local(alluxio_name="other", alluxio_port_offset=100))

    def ports(made: dict[str, Any]) -> set[int]:
        return {port for service in made.values() for port in service.get("ports", {}).values()}

    assert not ports(first) & ports(second)
    assert second["node"]["state_dir"] == "/var/lib/other"
    assert second[SET]["mount_point"] == "/mnt/other/imagenet-sample/data"


def test_full_caches_do_not_change_the_plan() -> None:
    before, after = with_memory(4), with_memory(4)
    before["localhost"]["facts"]["filesystems"] = [filesystem("/", 4, 3)]
    after["localhost"]["facts"]["filesystems"] = [filesystem("/", 4, 1, owned=2 * GIB)]
    after["localhost"]["facts"]["memory"]["available"] = GIB
    assert plan(before).dump() == plan(after).dump()
    after["localhost"]["facts"]["filesystems"] = [filesystem("/", 4, 1)]
    assert plan(before).dump() != plan(after).dump()


def test_credentials_never_enter_a_plan() -> None:
    keys = {"imagenet-sample": {"access_key": "CANARY", "secret_key": "CANARY"}}
    assert "CANARY" not in str(plan(local(alluxio_credentials=keys)).dump())

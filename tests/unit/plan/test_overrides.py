"""Overrides are shown as overrides, carried through, and still checked; an invariant is broken by name only."""

from typing import Any

import pytest
from fleets import host, local

from alluxio_fuse.plan import plan
from alluxio_fuse.plan.problems import INVARIANTS
from alluxio_fuse.plan.units import GIB, MIB

SET = "fuse/imagenet-sample"
FRESH = [{"name": "live", "source": "s3://b/live", "files": 100, "bytes": "1Gi", "freshness": "within: 40s"}]
WITHOUT_CLUSTER = {"name": "set", "source": "file:///data/set", "files": 100, "bytes": "1Gi", "through": "under_store"}
WRITABLE = [{"name": "out", "source": "s3://b/out", "files": 100, "bytes": "1Gi", "writable": True}]


def overridden(**overrides: Any) -> dict[str, Any]:
    return local(alluxio_overrides={name.replace("__", "."): value for name, value in overrides.items()})


def test_an_override_is_shown_with_what_the_rule_gives() -> None:
    value = plan(overridden(worker__heap="2Gi")).nodes["localhost"]["worker"]["heap"]
    assert value.amount == 2 * GIB
    assert value.overridden == 1056 * MIB
    assert value.why == "overridden by alluxio_overrides[worker.heap]"


def test_what_follows_from_an_override_follows() -> None:
    worker = plan(overridden(worker__heap="2Gi")).nodes["localhost"]["worker"]
    assert "-Xmx2048m" in worker["jvm_flags"].amount
    parts = ("heap", "direct_memory", "native_memory", "tmpfs_memory")
    assert worker["container_memory"].amount >= sum(worker[part].amount for part in parts)


def test_the_more_specific_one_wins() -> None:
    made = plan(local(alluxio_overrides={"fuse.heap": "2Gi", f"{SET}.heap": "3Gi"}))
    assert made.nodes["localhost"][SET]["heap"].amount == 3 * GIB


def test_properties_and_flags_are_added() -> None:
    said = {
        "fuse.properties": {"alluxio.fuse.debug.enabled": True},
        "master.jvm_flags": ["-XX:+UseStringDeduplication"],
    }
    services = plan(local(alluxio_overrides=said)).nodes["localhost"]
    assert services[SET]["properties"].amount["alluxio.fuse.debug.enabled"] == "true"
    assert services[SET]["properties"].parts["alluxio.fuse.debug.enabled"].overridden == "(unset)"
    assert services["master"]["jvm_flags"].amount[-1] == "-XX:+UseStringDeduplication"


PROPERTY = "fuse.properties"
EXPIRATION = "alluxio.user.metadata.cache.expiration.time"
BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("memory_counted_once", {"alluxio_overrides": {"worker.heap": "40Gi"}}),
    ("memory_counted_once", {"alluxio_overrides": {"fuse.client_cache_size": "30Gi"}}),
    ("memory_counted_once", {"alluxio_overrides": {"worker.tier_quota": "40Gi"}}),
    ("container_holds_jvm", {"alluxio_overrides": {"worker.container_memory": "1Gi"}}),
    ("requests_fit", {"alluxio_platform": "kubernetes", "alluxio_datasets": FRESH,
                      "alluxio_overrides": {"worker.cpu_request": 4000}}),
    ("known_properties", {"alluxio_overrides": {"master.properties": {"alluxio.master.bind.hots": "x"}}}),
    ("listens_where_planned", {"alluxio_overrides": {"master.properties": {"alluxio.master.bind.host": "::"}}}),
    ("page_store_outside_heap", {"alluxio_overrides": {PROPERTY: {"alluxio.user.client.cache.store.type": "MEM"}}}),
    ("direct_local_reads_safe",
     {"alluxio_overrides": {PROPERTY: {"alluxio.user.unsafe.direct.local.io.enabled": True}}}),
    ("options_known_to_libfuse", {"alluxio_libfuse": 2, "alluxio_overrides": {"fuse.mount_options": ["clone_fd"]}}),
    ("options_known_to_libfuse", {"alluxio_libfuse": 3, "alluxio_overrides": {"fuse.mount_options": ["big_writes"]}}),
    ("kernel_cache_immutable",
     {"alluxio_datasets": FRESH, "alluxio_overrides": {"fuse.mount_options": ["kernel_cache"]}}),
    ("freshness_bounded",
     {"alluxio_datasets": FRESH, "alluxio_overrides": {"fuse.mount_options": ["attr_timeout=60"]}}),
    ("freshness_bounded", {"alluxio_datasets": FRESH,
                           "alluxio_overrides": {PROPERTY: {EXPIRATION: "10min"}}}),
    ("freshness_bounded", {"alluxio_datasets": FRESH,
                           "alluxio_overrides": {PROPERTY: {"alluxio.user.file.metadata.sync.interval": "-1"}}}),
    ("durable_writes", {"alluxio_datasets": WRITABLE,
                        "alluxio_overrides": {PROPERTY: {"alluxio.user.file.writetype.default": "MUST_CACHE"}}}),
    ("cache_fits_medium", {"alluxio_cache_tiers": [{"medium": "ssd", "path": "/var/cache", "budget": "4Gi"}],
                           "alluxio_overrides": {"worker.tier_quota": "8Gi"}}),
    ("budget_fits", {"alluxio_cache_tiers": [{"medium": "ssd", "path": "/var/cache", "budget": "4Ti"}]}),
    ("tier_is_mounted", {"alluxio_cache_tiers": [{"medium": "ssd", "path": "/mnt/gone"}]}),
    ("page_store_needs_cluster", {"alluxio_platform": "host", "alluxio_overrides": {"fuse.client_cache_size": "1Gi"},
                                  "alluxio_datasets": [WITHOUT_CLUSTER]}),
    ("store_read_in_order", {"alluxio_platform": "host",
                             "alluxio_datasets": [WITHOUT_CLUSTER | {"source": "s3://b/set"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("invariant", "variables"), BROKEN)
def test_what_breaks_an_invariant_is_refused_unless_forced_by_name(
    findings: Any, invariant: str, variables: dict[str, Any]
) -> None:
    found = findings(local(**variables))
    assert {each.invariant for each in found} == {invariant}
    assert f"alluxio_force: [{invariant}]" in str(found[0])
    forced = plan(local(**variables, alluxio_force=[invariant]))
    assert any(f"forced ({invariant})" in warning["message"] for warning in forced.warnings)


def test_every_invariant_that_a_finding_can_name_is_documented() -> None:
    assert {invariant for invariant, _ in BROKEN} <= set(INVARIANTS)


def test_a_libfuse_that_is_not_there(finding: Any) -> None:
    hosts = local(alluxio_platform="host", alluxio_libfuse=3)
    hosts["localhost"]["facts"]["distribution"] = {"id": "debian", "version": "13"}
    hosts["localhost"]["facts"]["fuse"]["sonames"] = ["libfuse3.so.4"]
    found = finding(hosts)
    assert (found.invariant, found.remedy.partition(" (")[0]) == ("libfuse_there", "alluxio_libfuse: 2")


@pytest.mark.parametrize("running", [("debian", "12"), ("ubuntu", "22.04"), ("rocky", "9.5")])
def test_a_libfuse_that_the_role_brings(planned: Any, running: tuple[str, str]) -> None:
    hosts = local(alluxio_platform="host")
    hosts["localhost"]["facts"]["distribution"] = dict(zip(("id", "version"), running, strict=True))
    hosts["localhost"]["facts"]["fuse"]["sonames"] = []
    assert planned(hosts).nodes["localhost"]["node"]["libfuse"].amount == [2]


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("alluxio.worker.tieredstore.level0.dirs.quota", "worker.tier_quota"),
        ("alluxio.user.client.cache.size", "fuse.client_cache_size"),
        ("alluxio.worker.rpc.port", "alluxio_port_offset"),
        ("alluxio.fuse.jnifuse.libfuse.version", "alluxio_libfuse"),
    ],
)
def test_what_the_plan_has_elsewhere_is_no_property(finding: Any, key: str, remedy: str) -> None:
    assert remedy in finding(overridden(worker__properties={key: "1"})).remedy


def test_an_override_that_takes_the_memory_is_named(finding: Any) -> None:
    found = finding(overridden(worker__heap="40Gi"))
    assert found.path == "localhost: alluxio_overrides[worker.heap]"
    assert found.value == "40Gi"


def test_remedies_of_memory_hold(finding: Any) -> None:
    said = {"alluxio_datasets": [FRESH[0] | {"files": 500_000}]}
    found = finding({"node": host(said, memory=12)})
    assert found.path == "node: alluxio_workload_memory"
    plan({"node": host(said | {"alluxio_workload_memory": found.remedy.split()[1]}, memory=12)})
    found = finding({"node": host(said | {"alluxio_workload_memory": 0}, memory=3)})
    enough = int(found.remedy.removeprefix("a node with at least ").partition("Mi")[0])
    plan({"node": host(said | {"alluxio_workload_memory": 0}, memory=enough / 1024)})


def test_the_remedy_of_a_budget_holds(finding: Any) -> None:
    tiers = [{"medium": "ssd", "path": "/var/cache", "budget": "4Ti"}]
    fits = finding(local(alluxio_cache_tiers=tiers)).remedy.removeprefix("a budget of ").partition(" ")[0]
    plan(local(alluxio_cache_tiers=[tiers[0] | {"budget": fits}]))


def read_type(**variables: Any) -> str | None:
    services = plan(local(**variables)).dump()["nodes"]["localhost"]
    (fuse,) = (service for name, service in services.items() if name.startswith("fuse/"))
    found: str | None = fuse["properties"]["amount"].get("alluxio.user.file.readtype.default")
    return found


def test_what_workers_cannot_hold_is_read_past_them() -> None:
    """A block that finds no room costs Alluxio 2.9.6 a connection to the store for good."""
    small = {"worker.tier_quota": "64Mi"}
    assert read_type() is None
    assert read_type(alluxio_overrides=small) == "NO_CACHE"
    mine = {"fuse/imagenet-sample.properties": {"alluxio.user.file.readtype.default": "CACHE"}}
    assert read_type(alluxio_overrides=small | mine) == "CACHE"
    assert read_type(alluxio_profile="upstream") is None

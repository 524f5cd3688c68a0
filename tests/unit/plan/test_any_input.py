"""Invariants that hold for any accepted input; any refused input names its variable."""

from typing import Any

from fleets import filesystem, host
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from alluxio_fuse.plan import Finding, Plan, Refused, plan
from alluxio_fuse.plan.intent.fleet import KNOWN_VARIABLES
from alluxio_fuse.plan.keys import is_known
from alluxio_fuse.plan.rules.caches import HIGH
from alluxio_fuse.plan.units import GIB, MIB

GPUS = ("Tesla T4", "Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200")


@st.composite
def datasets(draw: st.DrawFn) -> list[dict[str, Any]]:
    made = []
    for number in range(draw(st.integers(1, 5))):
        dataset: dict[str, Any] = {
            "name": f"set-{number}",
            "source": f"s3://bucket/set-{number}",
            "files": draw(st.integers(1, 3_000_000)),
            "bytes": draw(st.integers(1, 2000 * GIB)),
        }
        if draw(st.booleans()):
            dataset["writable"] = True
        elif draw(st.booleans()):
            dataset["freshness"] = f"within: {draw(st.integers(4, 9000))}s"
        cache = draw(st.sampled_from([{}, {}, {"pin": True}, {"share": 0.25}]))
        made.append(dataset | {"cache": cache})
    return made


@st.composite
def fleets_of_any_kind(draw: st.DrawFn) -> dict[str, Any]:
    said: dict[str, Any] = {
        "alluxio_datasets": draw(datasets()),
        "alluxio_platform": draw(st.sampled_from(["containers", "kubernetes", "host"])),
        "alluxio_profile": draw(st.sampled_from(["tuned", "tuned", "upstream"])),
        "alluxio_workload": draw(st.sampled_from(["resnet50", "unet3d", "cosmoflow", "none"])),
        "alluxio_java": draw(st.sampled_from([8, 11, 17, 21, 25])),
    }
    if said["alluxio_platform"] != "host" and draw(st.booleans()):
        said["alluxio_room"] = {"datasets": 4, "files": 10**6, "bytes": 10**12}
    hosts = {}
    for number in range(draw(st.integers(1, 4))):
        memory = draw(st.floats(2, 3000))
        own = dict(said)
        if draw(st.booleans()):
            own["alluxio_workload_memory"] = int(draw(st.floats(0, 1)) * memory * GIB)
        disks = [filesystem("/", draw(st.floats(5, 500))), filesystem("/mnt/nvme", draw(st.floats(1, 9000)))]
        if draw(st.booleans()):
            medium = draw(st.sampled_from(["ssd", "hdd"]))
            own["alluxio_cache_tiers"] = [{"medium": "memory"}, {"medium": medium, "path": "/mnt/nvme"}]
        gpus = (draw(st.sampled_from(GPUS)),) * draw(st.sampled_from([0, 0, 1, 8]))
        made = host(own, ("masters", "gpu_nodes") if number == 0 else ("gpu_nodes",), memory=memory,
                    cpus=draw(st.integers(1, 256)), gpus=gpus, filesystems=disks)  # fmt: skip
        made["facts"]["network"][1]["addresses"] = [f"10.0.0.{number + 1}"]
        hosts[f"node-{number}"] = made
    return hosts


def names_a_variable(path: str) -> bool:
    bare = path.rpartition(": ")[2]
    known = (*KNOWN_VARIABLES, "memory", "masters", "gpu_nodes", "inventory", "fuse", "/mnt/nvme", "/var/lib")
    return bare.startswith(known)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fleets_of_any_kind())
def test_any_fleet_is_planned_within_its_means_or_refused_by_name(hosts: dict[str, Any]) -> None:
    try:
        made = plan(hosts)
    except Refused as refused:
        event("refused")
        for found in refused.findings:
            assert names_a_variable(found.path), found
            assert found.reason
            assert found.remedy
        return
    event("planned")
    for name, each in hosts.items():
        check_memory(made, name, each)
        check_media(made, name)
        check_mounts(made, name, each)


def check_memory(made: Plan, name: str, each: dict[str, Any]) -> None:
    services = made.nodes[name]
    node = services["node"]
    total = node["memory_total"].amount
    assert total <= each["facts"]["memory"]["total"]
    limits = sum(s["container_memory"].amount for key, s in services.items() if key != "node")
    assert limits - len(services) * MIB + node["memory_reserve"].amount + node["memory_workload"].amount <= total
    assert node["memory_page_cache"].amount >= 0
    for key, service in services.items():
        if key != "node":
            parts = ("heap", "direct_memory", "native_memory", "tmpfs_memory")
            assert service["container_memory"].amount >= sum(service[part].amount for part in parts)
            assert f"-Xmx{service['heap'].amount // MIB}m" in service["jvm_flags"].amount
            assert {"-XX:+UseG1GC", "-XX:+UseSerialGC"} & set(service["jvm_flags"].amount)


def check_media(made: Plan, name: str) -> None:
    services = made.nodes[name]
    media = services["node"]["cache_media"].amount
    assert all(medium["kind"] != "ramfs" for medium in media)
    sizes = {medium["path"]: medium["size"] for medium in media}
    assert len(sizes) == len(media)
    in_pods = made.fleet["platform"].amount == "kubernetes"
    for tier in services["worker"]["tiers"].amount if "worker" in services else ():
        volume = in_pods and tier.medium == "memory"
        assert tier.quota <= (services["worker"]["tmpfs_memory"].amount if volume else sizes[tier.path])
    for key, service in services.items():
        if key.startswith("fuse/") and (cache := service["client_cache"].amount).enabled:
            volume = in_pods and cache.medium == "memory"
            room = service["tmpfs_memory"].amount if volume else sizes[cache.path.rpartition("/")[0]]
            assert cache.size <= room
    held = made.fleet["residency"].amount
    total = sum(dataset.bytes for dataset in made.fleet["datasets"].amount)
    quotas = sum(t.quota for s in made.nodes.values() if "worker" in s for t in s["worker"]["tiers"].amount)
    for shares in held.values():
        assert all(0 <= share <= 1 for share in shares.values())
        assert shares["worker"] <= quotas * HIGH / total + 0.001


def check_mounts(made: Plan, name: str, each: dict[str, Any]) -> None:
    for dataset in each["variables"]["alluxio_datasets"]:
        service = made.nodes[name][f"fuse/{dataset['name']}"]
        options, site = service["mount_options"].amount, service["properties"].amount
        assert all(is_known(key, "2.9.6") for key in site)
        assert site["alluxio.fuse.jnifuse.libfuse.version"] in ("2", "3")
        if made.profile == "upstream":
            continue
        changing = dataset.get("writable") or "freshness" in dataset
        assert ("kernel_cache" in options) == (not changing)
        assert ("ro" in options) == (not dataset.get("writable"))
        assert site["alluxio.user.client.cache.enabled"] == str(service["client_cache"].amount.enabled).lower()
        if dataset.get("writable"):
            assert site["alluxio.user.file.writetype.default"] == "CACHE_THROUGH"
        bound = made.fleet["staleness"].amount[dataset["name"]]
        if "freshness" in dataset:
            assert bound <= int(dataset["freshness"].removeprefix("within: ").removesuffix("s"))
        assert (bound is None) == (not changing)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fleets_of_any_kind())
def test_a_plan_is_a_function_of_its_input(hosts: dict[str, Any]) -> None:
    def once() -> object:
        try:
            return plan(hosts).dump()
        except Refused as refused:
            return refused.findings

    assert once() == once()


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["64G", "10m", "x", "/a", "s3://b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(KNOWN_VARIABLES - {"alluxio_force"})), values)
def test_any_value_of_any_variable_is_accepted_or_refused_by_its_name(variable: str, value: object) -> None:
    for found in findings_of({"node": host({variable: value})}):
        assert variable in found.path or found.path.endswith("memory"), found


def findings_of(hosts: dict[str, Any]) -> tuple[Finding, ...]:
    try:
        plan(hosts)
    except Refused as refused:
        return refused.findings
    return ()

"""The chart alone says what the planner says of the same datasets."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from charting.planned import OF_THE_FLEET
from fleets import fleet
from helm import Helm, Object, containers

from alluxio_fuse.chart.reserved import is_reserved
from alluxio_fuse.chart.values import chart_values
from alluxio_fuse.plan import plan
from alluxio_fuse.plan.rules import fuse
from alluxio_fuse.plan.rules.jvm import CPU_REQUEST
from alluxio_fuse.plan.values import Service

#: What follows from the size of datasets and nodes, which the chart does not know.
SIZED = (
    "alluxio.fuse.cached.paths.max",
    "alluxio.user.metadata.cache.max.size",
    "alluxio.user.client.cache.size",
    "alluxio.user.client.cache.dirs",
    "alluxio.worker.tieredstore.",
)
FRESHNESS = {"immutable": {}, "5": {"freshness": "within: 5s"}, "600": {"freshness": "within: 10m"}}
WRITABLE = {"readonly": {}, "writable": {"writable": True}}
#: Each freshness, read and written.
DATASETS = {f"d-{fresh}-{kind}": {**FRESHNESS[fresh], **WRITABLE[kind]} for fresh, kind in product(FRESHNESS, WRITABLE)}


def by_planner(
    libfuse: int, java: int, *, cached: bool, fits: bool = True, profile: str = "tuned"
) -> tuple[Object, dict[str, Service]]:
    """Values of a planned release, and the services of its first node. fits: workers hold every byte."""
    datasets = [
        {"name": name, "source": f"s3://bucket/{name}", "files": 1000, "bytes": 10**9 if fits else 10**12, **said}
        for name, said in DATASETS.items()
    ]
    variables: dict[str, Any] = {
        "alluxio_platform": "kubernetes",
        "alluxio_profile": profile,
        "alluxio_force": [] if fits else ["set_fits_caches"],
        "alluxio_datasets": datasets,
        "alluxio_libfuse": libfuse,
        "alluxio_java": java,
        "alluxio_overrides": {} if cached else {"fuse.client_cache_size": 0},
    }
    made = plan(fleet(2, variables, memory=512, cpus=64, disk=2000, gpus=("V100",) * 8))
    return chart_values(made, dict.fromkeys(DATASETS, "keys")), made.nodes["node-0"]


def by_chart(libfuse: int, java: int, *, cached: bool, fits: bool) -> Object:
    """The same, said to the chart; that workers hold every byte, it cannot know."""
    keys = {"secret": "keys", "accessKey": "access_key", "secretKey": "secret_key"}
    return {
        "fullnameOverride": "alluxio-fuse",
        "image": {"java": java},
        "rpcPassword": {"secret": "alluxio-fuse-password"},
        "fuse": {"libfuse": libfuse, "clientCache": {"enabled": cached}} | ({"readType": "CACHE"} if fits else {}),
        "datasets": [
            {"name": name, "source": f"s3://bucket/{name}", "credentials": keys, **said}
            for name, said in DATASETS.items()
        ],
    }


def sites(objects: dict[tuple[str, str], Object]) -> dict[str, dict[str, str]]:
    """Properties by component, without those of sizes."""
    data = objects["ConfigMap", "alluxio-fuse"]["data"]
    lines = {name: [line.split("=", 1) for line in text.splitlines()] for name, text in data.items()}
    return {name: {key: to for key, to in site if not key.startswith(SIZED)} for name, site in lines.items()}


def of_the_fleet(services: dict[str, Service]) -> set[str]:
    """Properties that the planner sizes by the fleet."""
    return {
        key
        for service in services.values()
        if "properties" in service
        for key, value in service["properties"].parts.items()
        if value.rule in OF_THE_FLEET
    }


@pytest.mark.parametrize(
    ("libfuse", "java", "cached", "fits"),
    [(2, 17, True, True), (2, 8, False, False), (3, 11, True, True), (3, 17, False, False)],
)
def test_the_chart_alone_says_what_the_planner_says(
    helm: Helm, libfuse: int, java: int, cached: bool, fits: bool
) -> None:
    values, services = by_planner(libfuse, java, cached=cached, fits=fits)
    planned, alone = helm.objects(values=values), helm.objects(values=by_chart(libfuse, java, cached=cached, fits=fits))
    sized = of_the_fleet(services)
    assert sized
    wanted, found = sites(planned), sites(alone)
    assert wanted.keys() == found.keys()
    for component, site in wanted.items():
        assert found[component] == {key: to for key, to in site.items() if key not in sized}, component
    for name in DATASETS:
        assert fuse_of(alone, name) == fuse_of(planned, name)


def test_of_alluxios_own_defaults_the_chart_changes_none(helm: Helm) -> None:
    """The planner leaves mount options and properties out, and the chart puts none in their place."""
    values, services = by_planner(2, 17, cached=False, profile="upstream")
    planned = helm.objects(values=values)
    found = sites(planned)
    for name in DATASETS:
        options, env, _ = fuse_of(planned, name)
        assert options == set()
        assert not env.keys() & fuse.environment(2, upstream=False).amount.keys()
        said = services[f"fuse/{name}"]["properties"].amount
        assert theirs(found[f"fuse-{name}.properties"]) == theirs(said)


def theirs(properties: Iterable[str]) -> set[str]:
    """Without those that the chart derives itself."""
    return {key for key in properties if not is_reserved(key)}


def fuse_of(objects: dict[tuple[str, str], Object], dataset: str) -> tuple[set[str], dict[str, str], list[str]]:
    """Mount options, environment and JVM flags of a dataset's FUSE, without what memory and processors it has."""
    template = objects["DaemonSet", f"alluxio-fuse-fuse-{dataset}"]["spec"]["template"]
    container = next(one for one in containers(template) if one["name"] == "fuse")
    env = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    flags = env.pop("ALLUXIO_FUSE_JAVA_OPTS").split()
    env.pop("ALLUXIO_FUSE_SETTINGS", None)  # a folder that a role fills
    sized = ("-Xms", "-Xmx", "-XX:MaxDirectMemorySize=", "-XX:ActiveProcessorCount=")
    said = [one.removeprefix("--fuse-opts=") for one in container["args"] if one.startswith("--fuse-opts=")]
    options = {option for one in said for option in one.split(",")}
    return options, env, [flag for flag in flags if not flag.startswith(sized)]


def test_requests_are_those_that_the_planner_calls_the_charts_own(helm: Helm) -> None:
    objects = helm.objects(values={"datasets": [{"name": "d", "source": "s3://bucket/d"}]})
    found = {
        one["name"].replace("-", "_"): one["resources"]["requests"]["cpu"]
        for made in objects.values()
        if made["kind"] in ("DaemonSet", "StatefulSet")
        for one in made["spec"]["template"]["spec"]["containers"]
    }
    assert {name: cpu if cpu.endswith("m") else f"{cpu}000m" for name, cpu in found.items()} == {
        role: f"{cpu}m" for role, cpu in CPU_REQUEST.items()
    }

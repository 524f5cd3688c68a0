"""The chart's values from a plan. Nothing is decided here: amounts are put where the chart wants them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from alluxio_fuse.chart.generated import CHART

MIB = 2**20
Amounts = dict[str, Any]

#: Flags that the chart makes of typed values.
_TYPED_FLAGS = re.compile(
    r"-Xm[sx]|-XX:MaxDirectMemorySize=|-XX:\+Use\w+GC$|-XX:\+ExitOnOutOfMemoryError|-Xlog:gc|-verbose:gc"
)
_COLLECTOR = re.compile(r"-XX:\+Use(\w+)GC$")


class UnlikeNodesError(ValueError):
    """Nodes whose services differ: one DaemonSet has one shape."""


def chart_values(plan: Mapping[str, Any], secrets: Mapping[str, str] | None = None) -> Amounts:
    """Values of the chart for a plan of platform `kubernetes`.

    plan: as plan.json holds it. secrets: {dataset: name of the Secret with its `access_key` and `secret_key`}.
    """
    fleet = _amounts(plan["fleet"])
    nodes = {host: {name: _amounts(one) for name, one in services.items()} for host, services in plan["nodes"].items()}
    master, worker = _shared(nodes, "master"), _shared(nodes, "worker")
    datasets = [_dataset(one, _shared(nodes, f"fuse/{one['name']}"), secrets or {}) for one in fleet["datasets"]]
    return {
        "chartDigest": chart_digest(),
        "fullnameOverride": plan["name"],
        "profile": "plain",
        "image": {**_image(fleet["image"]), "java": fleet["java_major"]},
        "datasets": datasets,
        "master": {"replicas": len(fleet["masters"]), **_java(master)},
        "jobMaster": _java(_shared(nodes, "job_master")),
        "worker": {**_java(worker, _memory_tiers(worker)), "pageCache": "0Mi", "tiers": _tiers(worker, nodes)},
        "jobWorker": _java(_shared(nodes, "job_worker")),
        "fuse": {"mountRoot": _shared(nodes, "node", "mount_root")["mount_root"]},
    }


def chart_digest(chart: Path = CHART) -> str:
    """A digest of all that helm deploys from, so that an edited template changes the values, too."""
    parts = [
        chart / "Chart.yaml",
        chart / "values.yaml",
        *(chart / "templates").rglob("*"),
        *(chart / "files").rglob("*"),
    ]
    digest = hashlib.sha256()
    for path in sorted(path for path in parts if path.is_file()):
        digest.update(f"{path.relative_to(chart)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _amounts(service: Mapping[str, Mapping[str, Any]]) -> Amounts:
    return {key: value["amount"] for key, value in service.items()}


def _shared(nodes: Mapping[str, Mapping[str, Amounts]], service: str, *keys: str) -> Amounts:
    """The amounts that all nodes with a service agree on; the given keys, or all that the chart passes on."""
    first: tuple[str, Amounts] | None = None
    for host, services in nodes.items():
        if service not in services:
            continue
        whole = services[service]
        mine = {key: whole[key] for key in keys} if keys else {**whole, "properties": _properties(whole["properties"])}
        if first is None:
            first = host, mine
        elif mine != first[1]:
            other = ", ".join(key for key in mine if mine[key] != first[1].get(key))
            raise UnlikeNodesError(
                f"{service}: {first[0]} and {host} differ in {other}, and a DaemonSet is the same on every node: "
                "install a release per kind of node, or set alluxio_overrides to one amount"
            )
    if first is None:
        raise ValueError(f"the plan has no {service} on any node")
    return first[1]


def _properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Without those that the chart derives itself: where pods, ports and folders are."""
    owned = [re.compile(rule["match"]) for rule in yaml.safe_load((CHART / "files" / "owned.yaml").read_text())]
    return {key: value for key, value in properties.items() if not any(one.search(key) for one in owned)}


def _java(service: Amounts, beside: int = 0) -> Amounts:
    """Java memory, limits and properties of a service. beside: bytes of memory volumes inside its limit."""
    heap, direct, limit = service["heap"], service["direct_memory"], service["container_memory"]
    flags: list[str] = service["jvm_flags"]
    collector = next((match[1] for flag in flags if (match := _COLLECTOR.match(flag))), "G1")
    memory = _size(limit)
    return {
        "jvm": {
            "heap": _size(heap),
            "direct": _size(direct),
            "overhead": _size(limit - heap - direct - beside),
            "collector": collector,
            "extra": [flag for flag in flags if not _TYPED_FLAGS.match(flag)],
        },
        "resources": {"requests": {"memory": memory}, "limits": {"memory": memory}},
        "properties": service["properties"],
    }


def _size(size: int) -> str:
    """Bytes as whole mebibytes, rounded down: parts never exceed their sum."""
    return f"{size // MIB}Mi"


def _image(image: str) -> Amounts:
    name, _, digest = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, ""
    return {"repository": repository, "tag": tag, "digest": digest}


def _memory_tiers(worker: Amounts) -> int:
    return sum(tier["quota"] for tier in worker["tiers"] if tier["medium"] == "memory")


def _tiers(worker: Amounts, nodes: Mapping[str, Mapping[str, Amounts]]) -> list[Amounts]:
    points = [
        PurePosixPath(medium["path"])
        for services in nodes.values()
        for medium in services["node"]["cache_media"]
        if medium["kind"] in ("filesystem", "device")
    ]
    return [
        {
            "medium": tier["medium"],
            "quota": _size(tier["quota"]),
            "high": tier["high"],
            "low": tier["low"],
            **_tier_place(tier, points),
        }
        for tier in worker["tiers"]
    ]


def _tier_place(tier: Amounts, points: list[PurePosixPath]) -> Amounts:
    if tier["medium"] == "memory":
        return {"emptyDir": {}}
    point = next((str(one) for one in points if PurePosixPath(tier["path"]).is_relative_to(one)), None)
    return {"hostPath": {"path": tier["path"], **({"mountPoint": point} if point else {})}}


def _dataset(dataset: Amounts, fuse: Amounts, secrets: Mapping[str, str]) -> Amounts:
    name, source = dataset["name"], dataset["source"].rstrip("/")
    local = source.removeprefix("file://")
    keys = {"secret": secrets[name], "accessKey": "access_key", "secretKey": "secret_key"} if name in secrets else None
    return {
        "name": name,
        **({"source": source} if local == source else {"volume": {"hostPath": local}}),
        "writable": dataset["writable"],
        "freshness": dataset["freshness"],
        "readers": dataset["readers"],
        "options": dataset["options"],
        **({"credentials": keys} if keys else {}),
        "fuse": _fuse(fuse),
    }


def _fuse(fuse: Amounts) -> Amounts:
    cache = fuse["client_cache"]
    in_memory = cache["size"] if cache["enabled"] and cache["medium"] == "memory" else 0
    return {
        **_java(fuse, in_memory),
        "mountOptions": fuse["mount_options"],
        "libfuse": fuse["libfuse_version"],
        "env": fuse.get("environment", {}),
        "pageCache": "0Mi",
        "clientCache": _client_cache(cache) if cache["enabled"] else {"enabled": False},
    }


def _client_cache(cache: Amounts) -> Amounts:
    on_disk = {"hostPath": {"path": str(PurePosixPath(cache["path"]).parent)}}
    return {
        "enabled": True,
        "medium": cache["medium"],
        "size": _size(cache["size"]),
        "pageSize": _size(cache["page_size"]),
        **({} if cache["medium"] == "memory" else on_disk),
    }

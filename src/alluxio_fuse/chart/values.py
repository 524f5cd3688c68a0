"""The chart's values from a plan. Nothing is decided here: amounts are put where the chart wants them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from alluxio_fuse import keeper, names
from alluxio_fuse.chart.further import joined
from alluxio_fuse.chart.reserved import CHART, is_reserved
from alluxio_fuse.kubernetes.objects import password_name
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.intent.clusters import Kubernetes
from alluxio_fuse.plan.mount_settings import MOUNT_SETTINGS
from alluxio_fuse.plan.nfs import export_of
from alluxio_fuse.plan.parts import PlannedCache, PlannedDataset, PlannedKeeper, PlannedTier
from alluxio_fuse.plan.pvc import claim_of
from alluxio_fuse.plan.rules.properties import READ_TYPE, UNSAID_READ_TYPE
from alluxio_fuse.plan.schemes import FOLDER
from alluxio_fuse.plan.sources import UNSIGNED
from alluxio_fuse.plan.values import Amounts, amounts
from alluxio_fuse.programs import Folder
from alluxio_fuse.stages import staged_datasets

MIB = 2**20
Nodes = Mapping[str, Mapping[str, Amounts]]
_FUSE = "fuse/"


class UnlikeNodesError(ValueError):
    """Nodes of a pool whose services differ: one DaemonSet has one shape."""


def chart_values(
    plan: Plan,
    secrets: Mapping[str, str] | None = None,
    nodes_addresses: Sequence[str] = (),
    trust_digest: str = "",
) -> Amounts:
    """Values of the chart for a plan of platform `kubernetes`, and those that the user says beside it.

    secrets: {dataset: name of the Secret with its `access_key`, `secret_key` and, for OSS, maybe `security_token`}.
    nodes_addresses: of the nodes that read counters. trust_digest: of the certificates of private CAs.
    """
    planned = planned_values(plan, secrets or {}, nodes_addresses, trust_digest)
    return joined(planned, plan.fleet["kubernetes"].amount.values)


def planned_values(
    plan: Plan, secrets: Mapping[str, str], nodes_addresses: Sequence[str] = (), trust_digest: str = ""
) -> Amounts:
    """Those of a plan alone; the arguments are those of `chart_values`."""
    fleet = amounts(plan.fleet)
    nodes = {host: {name: amounts(one) for name, one in services.items()} for host, services in plan.nodes.items()}
    cluster: Kubernetes = fleet["kubernetes"]
    name = plan.name
    pools: dict[str, dict[str, Mapping[str, Amounts]]] = {}
    for host, services in nodes.items():
        if any(service.startswith(_FUSE) for service in services):
            pools.setdefault(plan.pool(host), {})[host] = services
    first = pools.pop("")
    bearing = next(one for one in (first, *pools.values()) if _runs(one, "worker"))
    master, on_master = _shared(nodes, "master"), _placed(cluster, {names.node_label(name, "master"): "true"})
    on_worker = _placed(cluster, cluster.node_selector or {names.node_label(name, "worker"): "true"})
    on_fuse = _placed(cluster, cluster.node_selector or {names.node_label(name, "fuse"): "true"})
    points, stage = _mount_points(first), _keeper(plan, first)
    datasets = [_dataset(one, _shared(first, f"{_FUSE}{one.name}"), secrets, points) for one in plan.datasets]
    return {
        "chartDigest": chart_digest(),
        "fullnameOverride": name,
        "profile": "planned",
        "image": {
            **_image(fleet["image"]),
            "java": fleet["java_major"],
            "pullSecrets": cluster.pull_secrets,
            **({"pullPolicy": "Never"} if cluster.image.by == "import" else {}),
        },
        "datasets": datasets,
        "rpcPassword": {"secret": password_name(name)},
        "trust": {"configMap": f"{name}-trust" if _private_ca(plan) else "", "digest": trust_digest},
        "master": {
            "replicas": len(fleet["masters"]),
            "journal": {"storageClass": cluster.storage_class},
            **_java(master),
            **on_master,
        },
        "jobMaster": _java(_shared(nodes, "job_master")),
        "worker": {**_worker(bearing), "pageCache": "0Mi", **on_worker},
        "jobWorker": _java(_shared(bearing, "job_worker")),
        "pools": [_pool(plan, pool, theirs) for pool, theirs in pools.items()],
        "fuse": {
            "mountRoot": _shared(nodes, "node", "mount_root")["mount_root"],
            "settingsPath": _settings_path(nodes) if fleet["node_access"] else "",
            **on_fuse,
        },
        "csi": _on_nodes_of(cluster, names.node_label(name, "fuse")),
        "stage": {"enabled": bool(stage), **stage},
        "mounts": on_master,
        "networkPolicy": {"checks": _readers_of_counters(name, nodes_addresses)},
    }


def _pool(plan: Plan, pool: str, nodes: Nodes) -> Amounts:
    """What the nodes of a pool have otherwise than those of the first; one without workers has only where none are."""
    works = _runs(nodes, "worker")
    points = _mount_points(nodes)
    stage = _keeper(plan, nodes)
    label = {service: {"nodeSelector": {names.node_label(plan.name, service): pool}} for service in ("worker", "fuse")}
    return {
        "name": pool,
        "worker": {**(_worker(nodes) if works else {}), **label["worker"]},
        **({"jobWorker": _java(_shared(nodes, "job_worker"))} if works else {}),
        "fuse": label["fuse"],
        **({"stage": {key: stage[key] for key in ("folders", "resources")}} if stage else {}),
        "datasets": {one.name: _fuse(_shared(nodes, f"{_FUSE}{one.name}"), points) for one in plan.datasets},
    }


def _worker(nodes: Nodes) -> Amounts:
    worker = _shared(nodes, "worker")
    return {**_java(worker, _memory_tiers(worker)), "tiers": _tiers(worker, nodes)}


def _runs(nodes: Nodes, service: str) -> bool:
    return any(service in services for services in nodes.values())


def _settings_path(nodes: Nodes) -> str:
    """The folder on the nodes with the settings of each mount."""
    files = [one["settings_file"] for services in nodes.values() for one in services.values() if "settings_file" in one]
    return str(PurePosixPath(files[0]).parent)


def _placed(cluster: Kubernetes, selector: Mapping[str, str]) -> Amounts:
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, *cluster.tolerations]
    return {"nodeSelector": dict(selector), "tolerations": tolerations}


def _on_nodes_of(cluster: Kubernetes, label: str) -> Amounts:
    """On the nodes of every pool, which have the label with another value each."""
    if cluster.node_selector:
        return {"nodeSelector": dict(cluster.node_selector)}
    term = {"matchExpressions": [{"key": label, "operator": "Exists"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


def _private_ca(plan: Plan) -> bool:
    return any(dataset.s3 and dataset.s3["ca_file"] for dataset in plan.datasets)


def _readers_of_counters(name: str, addresses: Sequence[str]) -> list[Amounts]:
    """The check's own pods, and the nodes on which it runs without any."""
    own = {"app.kubernetes.io/instance": name, "app.kubernetes.io/component": "access"}
    blocks = [{"ipBlock": {"cidr": f"{one}/{128 if ':' in one else 32}"}} for one in sorted(addresses)]
    return [{"podSelector": {"matchLabels": own}}, *blocks]


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


def _shared(nodes: Nodes, service: str, *keys: str) -> Amounts:
    """The amounts that all nodes with a service agree on; the given keys, or all that the chart passes on."""
    first: tuple[str, Amounts] | None = None
    for host, services in nodes.items():
        if service not in services:
            continue
        whole = services[service]
        mine = {key: whole[key] for key in keys} if keys else _passed_on(whole)
        if first is None:
            first = host, mine
        elif mine != first[1]:
            other = ", ".join(key for key in mine if mine[key] != first[1].get(key))
            raise UnlikeNodesError(
                f"{service}: {first[0]} and {host} differ in {other}, and a DaemonSet is the same on every node: "
                "put them into groups of their own below gpu_nodes"
            )
    if first is None:
        raise ValueError(f"the plan has no {service} on any node")
    return first[1]


def _passed_on(service: Amounts) -> Amounts:
    """Without settings that were tuned on a node, which keeps them for itself; the read type is a value of its own."""
    shared = {key: amount for key, amount in service.items() if key not in MOUNT_SETTINGS}
    read_type = service["properties"].get(READ_TYPE, UNSAID_READ_TYPE)
    return {**shared, "read_type": read_type, "properties": _properties(service["properties"])}


def _properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Without those that the chart derives itself: where pods, ports and folders are."""
    return {key: value for key, value in properties.items() if not is_reserved(key)}


def _java(service: Amounts, beside: int = 0) -> Amounts:
    """Java memory, limits and properties of a service. beside: bytes of memory volumes inside its limit."""
    heap, direct, limit = service["heap"], service["direct_memory"], service["container_memory"]
    memory = _size(limit)
    return {
        "jvm": {
            "heap": _size(heap),
            "direct": _size(direct),
            "overhead": _size(limit - heap - direct - beside),
            "collector": service["collector"],
            "extra": service["jvm_extra"],
        },
        "resources": {
            "requests": {"cpu": f"{service['cpu_request']}m", "memory": memory},
            "limits": {"memory": memory},
        },
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
    tiers: list[PlannedTier] = worker["tiers"]
    return sum(tier.quota for tier in tiers if tier.medium == "memory")


def _tiers(worker: Amounts, nodes: Nodes) -> list[Amounts]:
    tiers: list[PlannedTier] = worker["tiers"]
    return [
        {
            "medium": tier.medium,
            "quota": _size(tier.quota),
            "high": tier.high,
            "low": tier.low,
            **_tier_place(tier, _mount_points(nodes)),
        }
        for tier in tiers
    ]


def _mount_points(nodes: Nodes) -> list[PurePosixPath]:
    return [
        PurePosixPath(medium["path"])
        for services in nodes.values()
        for medium in services["node"]["cache_media"]
        if medium["kind"] in ("filesystem", "device")
    ]


def _tier_place(tier: PlannedTier, points: list[PurePosixPath]) -> Amounts:
    return {"emptyDir": {}} if tier.medium == "memory" else _host_path(PurePosixPath(tier.path), points)


def _host_path(path: PurePosixPath, points: list[PurePosixPath]) -> Amounts:
    """A folder on the node, with the mount point that it must lie below."""
    point = next((str(one) for one in points if path.is_relative_to(one)), None)
    return {"hostPath": {"path": str(path), **({"mountPoint": point} if point else {})}}


def _dataset(
    dataset: PlannedDataset, fuse: Amounts, secrets: Mapping[str, str], points: list[PurePosixPath]
) -> Amounts:
    name, source = dataset.name, dataset.source.rstrip("/")
    keys = {"secret": secrets[name], "accessKey": "access_key", "secretKey": "secret_key"} if name in secrets else {}
    token = {"securityToken": "security_token"} if keys and dataset.oss else {}
    return {
        "name": name,
        **_origin(source, dataset.marker),
        "writable": dataset.writable,
        "freshness": dataset.caches_freshness,
        "readers": dataset.readers,
        **({"mountParent": fuse["mount_parent"]} if "stage" in fuse else {}),
        **_store(dataset),
        **({"credentials": keys | token} if keys else {}),
        "fuse": _fuse(fuse, points),
    }


def _store(dataset: PlannedDataset) -> Amounts:
    """Options of the mount; what is named like a key, the chart takes from Secrets only."""
    options = {key: value for key, value in dataset.options.items() if UNSIGNED.get(key) != value}
    return {"options": options, **({"s3": {"anonymous": True}} if options != dataset.options else {})}


def _origin(source: str, marker: Amounts | None) -> Amounts:
    if claim := claim_of(source):
        return {"volume": {"claim": claim.name} | ({"subPath": claim.folder} if claim.folder else {})}
    if export := export_of(source):
        return {"volume": {"nfs": {"server": export.server, "path": export.path}}}
    folder = source.removeprefix(FOLDER)
    if folder == source:
        return {"source": source}
    return {"volume": {"hostPath": folder} | ({"marker": marker} if marker else {})}


def _fuse(fuse: Amounts, points: list[PurePosixPath]) -> Amounts:
    cache: PlannedCache = fuse["client_cache"]
    in_memory = fuse["tmpfs_memory"] if cache.medium == "memory" else 0
    return {
        **_java(fuse, in_memory),
        "mountOptions": fuse["mount_options"],
        "libfuse": fuse["libfuse"],
        "readType": fuse["read_type"],
        "env": fuse.get("environment", {}),
        "pageCache": "0Mi",
        "clientCache": _client_cache(cache, cache.path, in_memory, points) if cache.path else {"enabled": False},
    }


def _keeper(plan: Plan, nodes: Nodes) -> Amounts:
    """The pod that keeps copies on the nodes of a pool; empty where nothing is staged."""
    host, services = next(iter(nodes.items()))
    if "keeper" not in services["node"]:
        return {}
    planned: PlannedKeeper = _shared(nodes, "node", "keeper")["keeper"]
    state_dir = services["node"]["state_dir"]
    memory = _size(planned.memory)
    tmpfs = [PurePosixPath(one["path"]) for one in services["node"]["cache_media"] if one["kind"] == "tmpfs"]
    points = [*tmpfs, *_mount_points(nodes)]
    return {
        "command": keeper.command(state_dir),
        "env": keeper.environment(state_dir),
        "digest": keeper.programs_digest(state_dir),
        "folders": [_keeper_folder(one, points) for one in keeper.folders(state_dir, staged_datasets(plan, host))],
        "resources": {
            "requests": {"cpu": f"{planned.cpu_request}m", "memory": memory},
            "limits": {"memory": memory},
        },
    }


def _keeper_folder(folder: Folder, points: list[PurePosixPath]) -> Amounts:
    """A folder of the node in the keeper's pod; of one on a medium, the mount point that it must lie below."""
    if folder.mounts != "own":
        passed = {"shared": "Bidirectional", "followed": "HostToContainer"}[folder.mounts]
        return {"path": folder.path, "mountPropagation": passed}
    if folder.read_only:
        return {"path": folder.path, "readOnly": True}
    return dict(_host_path(PurePosixPath(folder.path), points)["hostPath"])


def _client_cache(cache: PlannedCache, path: str, in_memory: int, points: list[PurePosixPath]) -> Amounts:
    """in_memory: bytes of memory that its pages take, with what each loses."""
    return {
        "enabled": True,
        "medium": cache.medium,
        "size": _size(cache.size),
        "pageSize": _size(cache.page_size),
        **({"volumeSize": _size(in_memory)} if in_memory else _host_path(PurePosixPath(path).parent, points)),
    }

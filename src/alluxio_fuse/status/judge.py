"""The first failing layer of each mount, counted from the source on: what fails first explains what fails after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.parts import PlannedCache, PlannedDataset
from alluxio_fuse.plan.pvc import is_claim
from alluxio_fuse.plan.units import format_size
from alluxio_fuse.plan.values import Amounts, amounts
from alluxio_fuse.status.services import BEHIND, DOWN, Service

#: Options that the kernel tells of a mount; the others are known to the FUSE process alone.
TOLD = frozenset({"ro", "rw", "allow_other", "default_permissions", "nodev", "nosuid", "noexec", "noatime"})


class Mounted(BaseModel):
    """A dataset on a node. state: as `mount_status` says it, or `unreachable` where the node does not answer.

    lacks: planned options that the mount does not have any more. staged_bytes: of a dataset that is staged, what the
    copy at its path holds; None of others. direct: false where files of the copy cannot be opened with O_DIRECT.
    kept: processes for which the copy before that one stays.
    """

    node: str
    name: str
    state: str
    readers: list[str] = []
    waiting: int | None = None
    cached: float | None = None
    cache_bytes: int = 0
    staged_bytes: int | None = None
    direct: bool | None = None
    kept: list[str] = []
    bytes: int = 0
    lacks: list[str] = []
    layer: str = ""
    why: str = ""


class Status(BaseModel):
    """A deployment as it is. failing: one line for each layer that fails, the first of them first."""

    name: str
    planned_version: str
    versions: list[str]
    masters: str
    workers: str
    under_store: str
    services: list[Service]
    mounts: list[Mounted]
    failing: list[str]


def judge(
    plan: Plan,
    hosts: Mapping[str, Mapping[str, Any] | None],
    services: Sequence[Service],
    cluster: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> Status:
    """The state of a deployment.

    hosts: what module `mount_status` found on each GPU node, {name: Seen}; None where the node was not reached.
    services: those of `alluxio_fuse.status.services`. cluster: what module `cluster_status` returned.
    """
    # masters of a cluster elsewhere are for others to watch
    masters = plan.fleet["masters"].amount if plan.capabilities.runs_cluster else []
    layers = _layers(cluster, _sources(plan), masters, len(plan.each("worker")))
    services = sorted(services, key=lambda one: (one["node"], one["name"]))
    datasets = {one.name: one for one in plan.datasets}
    mounts = [
        _mounted(host, datasets[name], amounts(fuse), seen, layers)
        for host, seen in sorted(hosts.items())
        for name, fuse in plan.mounts(host).items()
    ]
    failing = [f"source on {host}, {name}: {why}" for host, name, why in _away(hosts)]
    failing += [f"{layer}: {why}" for layer, why in layers.items() if why]
    failing += [_line(one) for one in services if one["state"] == DOWN]
    failing += [f"{one.layer} on {one.node}, {one.name}: {one.why}" for one in mounts if one.state != "serves"]
    asked = [*cluster["masters"].values(), *cluster["workers"].values()]
    return Status(
        name=plan.name,
        planned_version=str(plan.fleet["alluxio_version"].amount),
        versions=sorted({one["version"] for one in asked if not one["why"]}),
        masters=_counted(cluster["masters"]),
        workers=_filled(cluster),
        under_store=_refused(cluster["workers"]),
        services=list(services),
        mounts=mounts,
        failing=list(dict.fromkeys(failing)),
    )


def behind(services: Sequence[Service]) -> list[str]:
    """What runs as it was planned before."""
    return [_line(one) for one in services if one["state"] == BEHIND]


def kept_copies(mounts: Sequence[Mounted]) -> list[str]:
    """Former copies that still take room."""
    return [f"{one.name} on {one.node}: the former copy stays for {', '.join(one.kept)}" for one in mounts if one.kept]


def without_direct(mounts: Sequence[Mounted]) -> list[str]:
    """Copies that a program cannot read past the page cache."""
    why = "files of the copy do not open with O_DIRECT"
    return [f"{one.name} on {one.node}: {why}" for one in mounts if one.direct is False]


def _layers(cluster: Mapping[str, Any], sources: set[str], masters: Sequence[str], workers: int) -> dict[str, str]:
    """{layer: why it fails, "" where it does not}, from the source on.

    sources: paths in Alluxio at which they are mounted. workers: how many are planned.

    A worker that came back with another address, as pods do, stays lost by its former one for half an hour.
    """
    led = [one for one in cluster["masters"].values() if not one["why"]]
    silent = [one["why"] for one in cluster["masters"].values() if one["why"]]
    if masters and not led:
        return {"master": "; ".join(silent) or "none runs"}
    away = sorted(sources - {path for one in led for path in one["paths"]}) if led else []
    lost = min((min(one["lost"], workers - one["workers"]) for one in led), default=0)
    served = [one for one in cluster["workers"].values() if not one["why"]]
    refused = [one["why"] for one in cluster["workers"].values() if one["why"]]
    return {
        "namespace": f"{', '.join(away)} not mounted in Alluxio: playbooks/services.yml mounts it" if away else "",
        "worker": "; ".join(refused) if cluster["workers"] and not served else "",
        "lost worker": f"the master has lost {lost} of its workers" if lost > 0 else "",
    }


def _sources(plan: Plan) -> set[str]:
    """Paths in Alluxio at which sources are mounted. A claim is below Fluid's root, which is a folder of its pods."""
    by_fluid = plan.capabilities.by_fluid
    return {"/" if by_fluid and is_claim(one.source) else one.alluxio_path for one in plan.datasets}


def _away(hosts: Mapping[str, Mapping[str, Any] | None]) -> Iterator[tuple[str, str, str]]:
    """(node, dataset, why) of each export of NFS that a node does not reach."""
    for host, seen in sorted(hosts.items()):
        for name, one in (seen or {}).items():
            if why := one.get("export"):
                yield host, name, why


def _mounted(
    host: str, dataset: PlannedDataset, fuse: Amounts, seen: Mapping[str, Any] | None, layers: Mapping[str, str]
) -> Mounted:
    cache: PlannedCache = fuse["client_cache"]
    name, cached = dataset.name, cache.size if cache.enabled else 0
    about = {"node": host, "name": name, "cache_bytes": cached, "bytes": dataset.bytes}
    if seen is None:
        return Mounted(**about, state="unreachable", layer="node", why="Ansible does not reach it")
    one = seen[name]
    kept = {key: one.get(key) for key in ("waiting", "cached")}
    lacks = sorted(TOLD.intersection(fuse["mount_options"]).difference(one.get("options", TOLD)))
    found = Mounted(**about, **kept, state=one["state"], readers=one["readers"], lacks=lacks, why=one["why"])
    if staged := one.get("staged"):
        readers = [*dict.fromkeys([*found.readers, *staged["readers"]])]
        about_copy = {"staged_bytes": staged["bytes"], "direct": staged["direct"], "kept": staged["kept"]}
        found = found.model_copy(update={**about_copy, "readers": readers})
        if wrong := staged["scrub"]["wrong"]:
            why = f"{len(wrong)} files of the copy differ from what was copied, {wrong[0]} for one"
            return found.model_copy(update={"state": "wrong bytes", "layer": "stage", "why": why})
        if staged["shows"] == "nothing":
            why = f"nothing is mounted at {fuse['stage'].path}: playbooks/warm.yml mounts it"
            return found.model_copy(update={"state": "not mounted", "layer": "stage", "why": why})
        if staged["shows"] == "whole":  # whose readers do not need FUSE
            return found.model_copy(update={"state": "serves", "why": ""})
    if found.state == "serves":
        return found
    first = next((layer for layer, why in layers.items() if why), "")
    own = "mount" if found.state in ("not mounted", "foreign") else "FUSE process"
    return found.model_copy(update={"layer": own if found.state != "hung" or not first else first})


def _line(one: Service) -> str:
    return f"{one['name']}{' on ' + one['node'] if one['node'] else ''}: {one['why']}"


def _counted(group: Mapping[str, Mapping[str, Any]]) -> str:
    good = sum(not one["why"] for one in group.values())
    return f"{good} of {len(group)} answer" if group else "none of ours"


def _filled(cluster: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    led = next((one for one in cluster["masters"].values() if not one["why"]), None)
    text = _counted(cluster["workers"])
    if led is None:
        return text
    return f"{text}, {led['workers']} live, {format_size(led['used'])} of {format_size(led['capacity'])} used"


def _refused(workers: Mapping[str, Mapping[str, Any]]) -> str:
    total: dict[str, int] = {}
    for one in workers.values():
        for store, count in one.get("failures", {}).items():
            total[store] = total.get(store, 0) + count
    return (
        ", ".join(f"{count} failed calls to {store}" for store, count in sorted(total.items()))
        or "no failed call to list or open"
    )

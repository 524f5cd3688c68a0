"""What warm-up and check read on a host, taken from the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os.path import relpath
from shlex import quote
from typing import Any

from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.mount_settings import MOUNT_SETTINGS
from alluxio_fuse.plan.parts import PlannedCache, PlannedDataset, PlannedGate, plain
from alluxio_fuse.plan.values import Amounts, amounts


def targets(
    plan: Plan,
    host: str,
    others: Sequence[Plan] = (),
    endpoints: Mapping[str, Any] | None = None,
    folders: Mapping[str, Sequence[str]] | None = None,
) -> list[dict[str, Any]]:
    """The datasets mounted on `host`: source, manifest, mount point, client cache, residency, and where counters are.

    `others` are plans of deployments beside this one; their mounts of a dataset of the same name are compared with.
    `endpoints`: where a platform's scheduler put the services (`alluxio_fuse.kubernetes.pods.endpoints`); without it
    they are where the plan put them. `folders`: by dataset, where else its files are, a shared filesystem for example.
    """
    datasets = {dataset.name: dataset for dataset in plan.datasets}
    mounts = plan.mounts(host).items()
    found = [_target(datasets[name], amounts(fuse), plan, host, endpoints) for name, fuse in mounts]
    beside = [(other.environment, target) for other in others for target in targets(other, host)]
    for target in found if others else ():
        same = [(name, other) for name, other in beside if other["name"] == target["name"]]
        target["compare"] = [
            {"name": name} | {key: other[key] for key in ("mount_point", "metrics")} for name, other in same
        ]
    for target in found if folders else ():
        target["compare"] = target.get("compare", []) + [
            {"name": folder, "mount_point": folder, "state": "uncached", "metrics": {}}
            for folder in (folders or {}).get(target["name"], [])
        ]
    return found


def refreshable(plan: Plan, host: str) -> list[dict[str, Any]]:
    """Datasets of a host that may change: {name, alluxio_path, mount_point, kernel_s (names stay in it)}."""
    found, mounts = [], plan.mounts(host)
    for dataset in plan.datasets:
        service = mounts.get(dataset.name)
        if service is None or dataset.freshness == "immutable":
            continue
        options = dict(option.partition("=")[::2] for option in service["mount_options"].amount)
        found.append(
            {
                "name": dataset.name,
                "alluxio_path": dataset.alluxio_path,
                "mount_point": dataset.mount_point,
                "kernel_s": int(options.get("attr_timeout", 1)),
            }
        )
    return found


def mount_settings(plan: Plan, host: str) -> list[dict[str, Any]]:
    """The kernel's side of the mounts of `host`: {mount_point, file (that keeps them), settings}."""
    return [
        {
            "mount_point": fuse["mount_point"].amount,
            "file": fuse["settings_file"].amount,
            "settings": {key: fuse[key].amount for key in MOUNT_SETTINGS},
        }
        for fuse in plan.mounts(host).values()
    ]


def mount_parents(plan: Plan, host: str) -> list[dict[str, Any]]:
    """Folders above the mount points of `host`: {path, uid, gid, mode}."""
    return [fuse["mount_parent"].amount for fuse in plan.mounts(host).values()]


def mount_folders(plan: Plan, host: str, role: str) -> list[dict[str, Any]]:
    """Items of the ownership record: the folders above the mount points of `host`, and what pods make in them.

    A release may be older than the record, so what it made is never taken for something that was there before.
    """
    parents = [one["path"] for one in mount_parents(plan, host)]
    if not parents:
        return []
    about = {"role": role, "contents": False}
    root = plan.nodes[host]["node"]["mount_root"].amount
    highest = dict.fromkeys([root, *(path.rpartition("/")[0] for path in parents)])
    roots = [{"kind": "directory", "id": path, "data": about} for path in highest]
    above = [{"kind": "directory", "id": path, "data": {**about, "new": True, "before": None}} for path in parents]
    marks = [{"kind": "file", "id": f"{path}/.owner", "data": about} for path in parents]
    points = [{"kind": "directory", "id": f"{path}/data", "data": {**about, "before": None}} for path in parents]
    return [*roots, *above, *marks, *points]


def gate(plan: Plan, host: str) -> dict[str, Any]:
    """The gate of a host in the shape of the check's input."""
    value = plan.nodes[host]["node"]["gate"]
    planned: PlannedGate = value.amount
    named = planned.status in ("derived", "declared")
    return {
        "name": value.why.partition(", times")[0] if named else planned.status,
        "mb_per_s": planned.mb_per_s,
        "files_per_s": planned.files_per_s,
        "min_disk_ratio": plan.fleet["gate"].amount.min_disk_ratio,
        "planned": planned.planned,
        "training": planned.training,
    }


def _target(
    dataset: PlannedDataset,
    fuse: Amounts,
    plan: Plan,
    host: str,
    endpoints: Mapping[str, Any] | None,
) -> dict[str, Any]:
    cache: PlannedCache = fuse["client_cache"]
    staged = fuse["stage"].share if "stage" in fuse else 0.0
    found = _scheduled(endpoints, host, dataset.name) if endpoints else _planned(cache, fuse, plan)
    return {
        "name": dataset.name,
        "source": dataset.source,
        "manifest": dataset.manifest,
        "folder": "" if dataset.listed_by == "pod" else dataset.folder,
        "alluxio_path": dataset.alluxio_path,
        "mount_point": dataset.mount_point,
        "path": dataset.path,
        "stage": plain(fuse["stage"]) if staged else None,
        "client_cache_bytes": cache.size if cache.enabled else 0,
        "cache_of_rest": cache.of_rest,
        "workers_hold": plan.fleet["residency"].amount[dataset.name]["worker"],
        "residency": {"stage": round(staged, 3), "client_cache": round(1 - staged, 3)}
        if cache.of_rest
        else plan.fleet["served_from"].amount[dataset.name],
        "direct": dataset.through == "under_store",
        "warm_up": plan.fleet["warm_strategy"].amount[dataset.name],
        "own_cluster": plan.capabilities.runs_cluster or dataset.through == "under_store",
        # a byte leaves the under store once, so one node measures that; the others share the workers with it
        "first_reads": plan.capabilities.runs_cluster
        and host == next(name for name in plan.nodes if plan.mounts(name)),
        **found,
    }


def _planned(cache: PlannedCache, fuse: Amounts, plan: Plan) -> dict[str, Any]:
    """Where the plan put the counters, and what says whose the caches are: a file, where there is a cache of ours."""
    path = f"{cache.path}/.identity" if cache.enabled else _worker_identity(plan)
    return {
        **({"identity_file": path} if path else {"identity": "no cache"}),
        "metrics": {
            "fuse": _web(fuse),
            "worker": _web_of_all(plan, "worker"),
            "master": _web_of_all(plan, "master"),
        },
    }


def _scheduled(endpoints: Mapping[str, Any], host: str, dataset: str) -> dict[str, Any]:
    """Where a scheduler put them, and whose the caches are: a cache in a pod lives as long as that."""
    fuse = endpoints["fuse"].get(host, {}).get(dataset)
    return {
        "identity": endpoints["identity"].get(host, {}).get(dataset, "no FUSE here"),
        "users": endpoints["users"].get(host, []),
        "metrics": {
            "fuse": [fuse] if fuse else [],
            "worker": endpoints["worker"],
            "master": endpoints["master"],
        },
    }


def _web_of_all(plan: Plan, service: str) -> list[str]:
    return [address for each in plan.each(service) for address in _web(amounts(each))]


def _web(service: Amounts) -> list[str]:
    """Where a service shows its counters; nowhere with Alluxio's own defaults for FUSE."""
    port = service["ports"].get("web")
    return [f"{service['bind_address']}:{port}"] if port else []


def _worker_identity(plan: Plan) -> str | None:
    """Without a client cache the worker's tier tells which cluster this is; None where there is none of ours."""
    workers = plan.each("worker")
    return f"{workers[0]['tiers'].amount[0].path}/.identity" if workers else None


def about(plan: Plan, host: str, facts: Mapping[str, Any], inventories: Sequence[str] = ()) -> dict[str, Any]:
    """What a report says of the machine and of the plan's values that mattered, as it is shown.

    inventories: the run's own, as Ansible's `ansible_inventory_sources` names them.
    """
    gib = 1 << 30
    machine = {
        "host": facts["hostname"],
        "distribution": f"{facts['distribution']['id']} {facts['distribution']['version']}",
        "kernel": facts["kernel"],
        "processors": facts["cpus"],
        "memory": f"{facts['memory']['total'] / gib:.1f} GiB",
        "cache disks": ", ".join(f"{disk} {speed['read_mb_s']} MB/s" for disk, speed in facts["media_speed"].items())
        or "none",
        "GPUs": ", ".join(gpu["model"] for gpu in facts["gpus"]) or "none",
    }
    values: dict[str, Any] = {"profile": plan.profile, "Alluxio": plan.fleet["alluxio_version"].amount}
    for service, planned in plan.nodes[host].items():
        keys = amounts(planned)
        if "heap" in keys:
            values[f"{service}: heap"] = f"{keys['heap'] / gib:.2f} GiB"
        for tier in keys.get("tiers", ()):
            values[f"{service}: tier"] = f"{tier.quota / gib:.2f} GiB on {tier.medium}"
        if service.startswith("fuse/"):
            cache: PlannedCache = keys["client_cache"]
            values[f"{service}: client cache"] = (
                f"{cache.size / gib:.2f} GiB on {cache.medium}" if cache.enabled else "none"
            )
            values[f"{service}: libfuse"] = keys["libfuse"]
            values[f"{service}: mount options"] = ",".join(keys["mount_options"])
    return {
        "machine": machine,
        "plan": values,
        "again": " ".join(
            ["ansible-playbook", *(f"-i {quote(relpath(one))}" for one in inventories), "playbooks/check.yml"]
        ),
    }

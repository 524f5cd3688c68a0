"""What warm-up and check read on a host, taken from the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def targets(plan: Mapping[str, Any], host: str, others: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """The datasets mounted on `host`: source, mount point, client cache, residency, and where counters are read.

    `others` are plans of deployments beside this one; their mounts of a dataset of the same name are compared with.
    """
    services = plan["nodes"][host]
    datasets = {dataset["name"]: dataset for dataset in plan["fleet"]["datasets"]["amount"]}
    found = [
        _target(datasets[service.partition("/")[2]], keys, plan)
        for service, keys in services.items()
        if service.startswith("fuse/")
    ]
    beside = [(other["environment"], target) for other in others for target in targets(other, host)]
    for target in found if others else ():
        same = [(name, other) for name, other in beside if other["name"] == target["name"]]
        target["compare"] = [
            {"name": name} | {key: other[key] for key in ("mount_point", "metrics")} for name, other in same
        ]
    return found


def gate(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The gate in the shape of the check's input."""
    planned = plan["fleet"]["gate"]["amount"]
    return {
        "name": planned["status"],
        "mb_per_s": planned["mb_per_s"],
        "files_per_s": planned["files_per_s"],
        "min_disk_ratio": planned["min_disk_ratio"],
    }


def _target(dataset: Mapping[str, Any], fuse: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    cache = fuse["client_cache"]["amount"]
    return {
        "name": dataset["name"],
        "source": dataset["source"],
        "alluxio_path": dataset["alluxio_path"],
        "mount_point": dataset["mount_point"],
        "client_cache_bytes": cache["size"] if cache["enabled"] else 0,
        "identity_file": f"{cache['path']}/.identity" if cache["enabled"] else _worker_identity(plan),
        "residency": plan["fleet"]["served_from"]["amount"][dataset["name"]],
        "metrics": {
            "fuse": _web(fuse),
            "worker": _web_of_all(plan, "worker"),
            "master": _web_of_all(plan, "master"),
        },
    }


def _web_of_all(plan: Mapping[str, Any], service: str) -> list[str]:
    return [
        address for services in plan["nodes"].values() if service in services for address in _web(services[service])
    ]


def _web(service: Mapping[str, Any]) -> list[str]:
    """Where a service shows its counters; nowhere with Alluxio's own defaults for FUSE."""
    port = service["ports"]["amount"].get("web")
    return [f"{service['bind_address']['amount']}:{port}"] if port else []


def _worker_identity(plan: Mapping[str, Any]) -> str:
    """Without a client cache the worker's tier tells which cluster this is."""
    workers = [services["worker"] for services in plan["nodes"].values() if "worker" in services]
    return f"{workers[0]['tiers']['amount'][0]['path']}/.identity"


def about(plan: Mapping[str, Any], host: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of the machine and of the plan's values that mattered, as it is shown."""
    gib = 1 << 30
    machine = {
        "host": facts["hostname"],
        "distribution": f"{facts['distribution']['id']} {facts['distribution']['version']}",
        "kernel": facts["kernel"],
        "processors": facts["cpus"],
        "memory": f"{facts['memory']['total'] / gib:.1f} GiB",
        "GPUs": ", ".join(gpu["model"] for gpu in facts["gpus"]) or "none",
    }
    values: dict[str, Any] = {"profile": plan["profile"], "Alluxio": plan["fleet"]["alluxio_version"]["amount"]}
    for service, keys in plan["nodes"][host].items():
        if "heap" in keys:
            values[f"{service}: heap"] = f"{keys['heap']['amount'] / gib:.2f} GiB"
        for tier in keys.get("tiers", {"amount": []})["amount"]:
            values[f"{service}: tier"] = f"{tier['quota'] / gib:.2f} GiB on {tier['medium']}"
        if service.startswith("fuse/"):
            cache = keys["client_cache"]["amount"]
            values[f"{service}: client cache"] = (
                f"{cache['size'] / gib:.2f} GiB on {cache['medium']}" if cache["enabled"] else "none"
            )
            values[f"{service}: libfuse"] = keys["libfuse_version"]["amount"]
            values[f"{service}: mount options"] = ",".join(keys["mount_options"]["amount"])
    return {"machine": machine, "plan": values, "again": "ansible-playbook playbooks/check.yml"}

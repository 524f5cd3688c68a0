"""What a bundle holds, and what each node is asked for it."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from pydantic import BaseModel, ConfigDict

from alluxio_fuse.containers import containers
from alluxio_fuse.host import units
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.views.table import plan_table
from alluxio_fuse.status.judge import Status
from alluxio_fuse.status.table import render
from alluxio_fuse.targets import targets

LINES = 1000  # of each log, counted from its end
SITE_FILE = "alluxio-site.properties"
CONTROLLER = ("ansible-core", "ansible", "pydantic", "kubernetes")
PLANNED = ("alluxio_version", "image", "java_major")

Questions = dict[str, list[dict[str, Any]]]


class Part(BaseModel):
    """A file of the bundle. why: what kept it from being got, "" where it was; cut: whether it is only the end."""

    model_config = ConfigDict(extra="ignore")

    path: str
    text: str = ""
    why: str = ""
    cut: bool = False


def questions(plan: Plan, host: str) -> Questions:
    """What module `diagnosis_parts` is to run and read on a host: {commands: [{path, argv}], files: [{path, file}]}.

    On platform kubernetes the cluster tells of its pods, so only the node itself is looked at.
    """
    services = {"containers": _of_containers, "host": _of_units}.get(plan.platform)
    found: Questions = {
        "commands": [_command("dmesg.txt", "dmesg", "--ctime", "--level", "emerg,alert,crit,err,warn")],
        "files": [_file(name, f"/proc/{name}") for name in ("meminfo", "loadavg", "pressure/memory", "pressure/io")],
    }
    if services is None or host not in plan.nodes:
        return found
    more = services(plan, host)
    return {key: found[key] + more[key] for key in found}


def addresses(plan: Plan, host: str, endpoints: Mapping[str, Any], asks_for_all: bool) -> list[dict[str, str]]:
    """Pages of Alluxio's processes: [{path, address "host:port", page}].

    Each host asks for its own FUSE mounts, and one of them, which `asks_for_all`, for masters and workers.

    endpoints: as `alluxio_fuse.targets.targets` takes them.
    """
    if plan.capabilities.in_pods and not endpoints:
        return []  # a scheduler put them, and nobody says where
    mounted = targets(plan, host, (), endpoints) if host in plan.nodes else []
    found = [
        {"path": f"nodes/{host}/fuse-{one['name']}-metrics.json", "address": address, "page": "metrics/json/"}
        for one in mounted
        for address in one["metrics"]["fuse"]
    ]
    readers = [name for name in plan.nodes if plan.mounts(name)]
    if not asks_for_all or not readers:
        return found
    metrics = targets(plan, readers[0], (), endpoints)[0]["metrics"]
    pages = {"metrics": "metrics/json/", "report": "api/v1/{kind}/info?raw_configuration=false"}
    return found + [
        {"path": f"services/{kind}-{address}-{name}.json", "address": address, "page": page.format(kind=kind)}
        for kind in ("master", "worker")
        for address in metrics[kind]
        for name, page in pages.items()
    ]


def assemble(plan: Plan, hosts: Mapping[str, Mapping[str, Any]]) -> list[Part]:
    """Everything that was told, as parts of one bundle.

    hosts: {name: {reached, node, services, cluster: what those tasks returned (`parts`, or the `msg` of a node that is
    not reached), status: as filter `status` returns it, untold: why there is no status}}; all of them may be empty.
    """
    found = [
        Part(path="plan.json", text=json.dumps(plan.dump())),
        Part(path="plan.txt", text="\n".join(plan_table(plan))),
        Part(path="versions.json", text=json.dumps(versions(plan))),
        *_status(hosts),
    ]
    for host, told in hosts.items():
        node = told.get("node", {})
        if "parts" not in node:
            why = told.get("reached", {}).get("msg") or node.get("msg") or "it was not asked"
            found.append(Part(path=f"nodes/{host}", why=str(why)))
        found += [Part(**{**one, "path": f"nodes/{host}/{one['path']}"}) for one in node.get("parts", [])]
        found += [Part(**one) for key in ("services", "cluster") for one in told.get(key, {}).get("parts", [])]
    return list({one.path: one for one in found}.values())


def versions(plan: Plan) -> dict[str, Any]:
    """Of the controller, and what is planned; those of nodes and engines are in their own parts."""
    known = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    return {
        "controller": {
            "python": sys.version.split()[0],
            "system": platform.platform(),
            **{name: known[name] for name in CONTROLLER if name in known},
        },
        "planned": {key: plan.fleet[key].amount for key in PLANNED},
    }


def _status(hosts: Mapping[str, Mapping[str, Any]]) -> list[Part]:
    found = next((told["status"] for told in hosts.values() if told.get("status")), None)
    if found is None:
        reasons = dict.fromkeys(told["untold"] for told in hosts.values() if told.get("untold"))
        return [Part(path="status.txt", why="; ".join(reasons) or "no node was reached")]
    shown = render(Status.model_validate(found))
    return [Part(path="status.txt", text=shown), Part(path="status.json", text=json.dumps(found))]


def _of_containers(plan: Plan, host: str) -> Questions:
    ours = containers(plan, host)
    commands = [_command("engine.json", "podman", "version", "--format", "json")]
    for one in ours:
        log = ("podman", "logs", "--timestamps", "--tail", str(LINES), one["name"])
        commands.append(_command(f"{one['name']}/log.txt", *log))
        commands.append(_command(f"{one['name']}/container.json", "podman", "container", "inspect", one["name"]))
    return {"commands": commands, "files": _site_files(ours)}


def _of_units(plan: Plan, host: str) -> Questions:
    ours = units(plan, host)
    commands = [_command("engine.txt", "systemctl", "--version")]
    for one in ours:
        log = ("journalctl", "--no-pager", "--output", "short-iso", "--lines", str(LINES), "--unit", one["name"])
        commands.append(_command(f"{one['name']}/log.txt", *log))
        commands.append(_command(f"{one['name']}/unit.txt", "systemctl", "cat", "--no-pager", one["name"]))
        commands.append(_command(f"{one['name']}/state.txt", "systemctl", "show", one["name"]))
    return {"commands": commands, "files": _site_files(ours)}


def _site_files(services: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [_file(f"{one['name']}/{SITE_FILE}", f"{one['conf_dir']}/{SITE_FILE}") for one in services]


def _command(path: str, *argv: str) -> dict[str, Any]:
    return {"path": path, "argv": list(argv)}


def _file(path: str, file: str) -> dict[str, Any]:
    return {"path": path, "file": file}

"""Warm-up tasks of a host: what a user asks for, the container that carries it out, and what both know of the plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from ansible_collections.alluxio.fuse.plugins.module_utils import warm_command, warm_tasks
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_tasks import Node, Place

from alluxio_fuse import keeper, stages
from alluxio_fuse.containers import containers, digest, owned_item
from alluxio_fuse.keeper import PACKAGE
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.parts import PlannedStage
from alluxio_fuse.plan.rules.caches import BLOCK
from alluxio_fuse.plan.rules.stage import PER_FILE
from alluxio_fuse.plan.values import PlannedDataset

ROLE: Final = "warm"
FOLDER: Final = "warm"  # of tasks, in the state folder
COMMAND: Final = "alluxio-warm"
#: Beside staging: to read what belongs to the user of the services.
_READS: Final = ["DAC_READ_SEARCH"]
_CONF: Final = "/opt/alluxio/conf"


@dataclass(frozen=True)
class WarmUp:
    """What role `warm` makes on a host for tasks.

    folder: of tasks. node: what a task knows of the host. share: {place, nodes}, the part of a selection that this host
    loads into the workers. files: of programs, command and description, as items of the module `files`. container: that
    carries tasks out. owned: items of the ownership record, in the order of making.
    """

    folder: str
    node: dict[str, Any]
    share: dict[str, int]
    files: list[dict[str, Any]]
    container: dict[str, Any]
    owned: list[dict[str, Any]]


def warm_up(plan: Plan, host: str, hosts: Sequence[str]) -> WarmUp:
    """What role `warm` makes on `host` for tasks that `hosts` carry out together."""
    state_dir = plan.nodes[host]["node"]["state_dir"].amount
    folder = f"{state_dir}/{FOLDER}"
    programs = f"{folder}/programs"
    container = _container(plan, host, folder, programs)
    node = asdict(_node(plan, host, container["name"]))
    files = [
        {"path": folder, "mode": "0755"},
        {"path": f"{folder}/{warm_tasks.TASKS}", "mode": "0700"},
        *keeper.programs(programs, "warmer", "warm_command"),
        {"path": f"{folder}/{COMMAND}", "content": _command(folder, programs), "mode": "0755"},
        {"path": f"{folder}/{warm_tasks.NODE}", "content": json.dumps(node, indent=1) + "\n", "mode": "0644"},
    ]
    about = {**container, "programs": files[:-1]}
    container["digest"] = digest(about, plan.fleet["image"].amount)
    owned = [owned_item(ROLE, "directory", folder, True, False)]
    owned.append(owned_item(ROLE, "container", container["name"], False, False))
    share = {"place": list(hosts).index(host), "nodes": len(hosts)}
    return WarmUp(folder, node, share, files, container, owned)


def orders(wish: Mapping[str, Any] | None, action: str | None, task: str, new: str) -> dict[str, Any]:
    """{verb, id, wish: arguments of the module `warm_task`} of what a user said; `new` names a task that begins."""
    if action:
        if wish:
            raise ValueError("alluxio_warm and alluxio_warm_action: one run does one of the two; leave one out")
        if not task and action != "list":
            raise ValueError(
                f"alluxio_warm_action: {action}: of which task? say -e alluxio_warm_task=…, as list tells it"
            )
        return {"verb": action, "id": task, "wish": {}}
    if wish is None:
        return {"verb": "", "id": "", "wish": {}}
    kept = ("datasets", "paths", "filelist", "include", "exclude", "into", "background")
    operation = "evict" if wish["evict"] else "verify" if wish["verify"] == "only" else "load"
    return {
        "verb": "estimate" if wish["dry_run"] else "start",
        "id": task or new,
        "wish": {
            **{key: wish[key] for key in kept},
            "operation": operation,
            "verify": wish["verify"] is True,
            "bandwidth": wish["bandwidth"] or 0,
        },
    }


def _node(plan: Plan, host: str, container: str) -> Node:
    state_dir = plan.nodes[host]["node"]["state_dir"].amount
    fuse = plan.mounts(host)
    return Node(
        name=host,
        container=container,
        datasets={
            one["name"]: _place(one, fuse[one["name"]].get("stage"), state_dir)
            for one in plan.datasets
            if one["name"] in fuse
        },
        tiers=[
            {"host": node, "medium": tier.medium, "bytes": tier.quota}
            for node, services in plan.nodes.items()
            if "worker" in services
            for tier in services["worker"]["tiers"].amount
        ],
        assignments=f"{state_dir}/{keeper.ASSIGNMENTS}",
    )


def _place(dataset: PlannedDataset, stage: Any, state_dir: str) -> Place:
    copy: PlannedStage | None = stage.amount if stage else None
    staged = copy is not None and bool(copy.folder)
    return Place(
        manifest=f"{_manifests(state_dir)}/{dataset['name']}.jsonl",
        roots=sorted({dataset["path"], dataset["mount_point"]}, key=lambda path: path != dataset["path"]),
        path=dataset["alluxio_path"],
        block=BLOCK,
        store=not dataset["folder"],
        copy=copy.path if copy and staged else "",
        folder=copy.folder if copy and staged else "",
        per_file=PER_FILE[copy.medium] if copy and staged else 0,
    )


def _container(plan: Plan, host: str, folder: str, programs: str) -> dict[str, Any]:
    """{name, command, nofile, capabilities, volumes, env}: it has the configuration of FUSE, and what copies take."""
    state_dir = plan.nodes[host]["node"]["state_dir"].amount
    fuse = next(one for one in containers(plan, host) if one["service"].startswith("fuse/"))
    staged = [one for one in stages.staged(plan, host).datasets if one["folder"]]
    assignments = f"{state_dir}/{keeper.ASSIGNMENTS}"
    return {
        "name": f"{plan.name}-{ROLE}",
        "command": ["-m", f"{PACKAGE}.warmer", folder],
        "nofile": fuse["nofile"],
        "capabilities": sorted({*(keeper.CAPABILITIES if staged else []), *_READS}),
        "volumes": [
            *_configuration(fuse),
            f"{folder}:{folder}",
            f"{programs}:{programs}:ro",
            f"{_manifests(state_dir)}:{_manifests(state_dir)}:ro",
            *([f"{assignments}:{assignments}", *map(keeper.volume, keeper.places(staged))] if staged else []),
        ],
        "env": {"PYTHONPATH": programs, "PYTHONDONTWRITEBYTECODE": "1"},
    }


def _manifests(state_dir: str) -> str:
    return f"{state_dir}/manifests"


def _configuration(fuse: Mapping[str, Any]) -> list[str]:
    return [one for one in fuse["volumes"] if one.startswith(f"{fuse['conf_dir']}/") and f":{_CONF}/" in one]


def _command(folder: str, programs: str) -> str:
    """The command, for whoever is root on the node."""
    module = f"{PACKAGE}.{warm_command.__name__.rpartition('.')[2]}"
    return (
        "#!/usr/bin/python3\n"
        "import sys\n\n"
        f"sys.dont_write_bytecode = True\nsys.path.insert(0, {programs!r})\n"
        f"from {module} import main\n\n"
        f"sys.exit(main({folder!r}))\n"
    )

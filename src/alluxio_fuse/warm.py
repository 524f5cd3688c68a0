"""Warm-up tasks of a host: what a user asks for, the runner that carries it out, and what both know of the plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from ansible_collections.alluxio.fuse.plugins.module_utils import warm_command, warm_tasks
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_tasks import Node, Place

from alluxio_fuse import keeper, names, programs, stages
from alluxio_fuse.containers import containers, owned_item
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.intent.work import Warm
from alluxio_fuse.plan.parts import PlannedDataset, PlannedStage
from alluxio_fuse.plan.rules.caches import BLOCK
from alluxio_fuse.plan.rules.stage import PER_FILE
from alluxio_fuse.programs import PACKAGE, Folder, Program

ROLE: Final = "warm"
FOLDER: Final = "warm"  # of tasks, in the state folder
COMMAND: Final = "alluxio-warm"
#: Beside staging: to read what belongs to the user of the services.
_READS: Final = ["DAC_READ_SEARCH"]


@dataclass(frozen=True)
class WarmUp:
    """What role `warm` makes on a host for tasks.

    folder: of tasks. mount_root: the folder above all datasets. node: what a task knows of the host. share: {place,
    nodes}, the part of a selection that this host loads into the workers. files: of programs, command and description,
    as items of the module `files`. runner: its container or unit, as `alluxio_fuse.programs.placed` has it; None where
    it is a pod. owned: items of the ownership record, in the order of making.
    """

    folder: str
    mount_root: str
    node: dict[str, Any]
    share: dict[str, int]
    files: list[dict[str, Any]]
    runner: dict[str, Any] | None
    owned: list[dict[str, Any]]


def warm_up(plan: Plan, host: str, hosts: Sequence[str]) -> WarmUp:
    """What role `warm` makes on `host` for tasks that `hosts` carry out together.

    ValueError, in words, where the run does not reach the nodes that would keep them.
    """
    if plan.capabilities.in_pods and not plan.fleet["kubernetes"].amount.node_access:
        raise ValueError(
            "alluxio_kubernetes.node_access: false: tasks of alluxio_warm are kept on nodes, which this run does not"
            " reach; run playbooks/warm.yml without alluxio_warm, or read the files in a Job of your own"
        )
    folder = tasks_folder(plan, host)
    node = asdict(_node(plan, host))
    files = [
        {"path": folder, "mode": "0755"},
        {"path": f"{folder}/{warm_tasks.TASKS}", "mode": "0700"},
        *programs.module_files(_programs(folder), "warmer", "warm_command"),
        {"path": f"{folder}/{COMMAND}", "content": _command(folder, _programs(folder)), "mode": "0755"},
        {"path": f"{folder}/{warm_tasks.NODE}", "content": json.dumps(node, indent=1) + "\n", "mode": "0644"},
    ]
    made = programs.placed(plan, _program(plan, host, files[:-1]))
    owned = [owned_item(ROLE, "directory", folder, True, False), *programs.owned(plan, ROLE, made)]
    share = {"place": list(hosts).index(host), "nodes": len(hosts)}
    mount_root = plan.nodes[host]["node"]["mount_root"].amount
    return WarmUp(folder, mount_root, node, share, files, made, owned)


def tasks_folder(plan: Plan, host: str) -> str:
    """Folder of tasks on a host."""
    return f"{_state_dir(plan, host)}/{FOLDER}"


def mounting(plan: Plan) -> list[str]:
    """Hosts that mount datasets."""
    return [host for host in plan.nodes if plan.mounts(host)]


def runner(folder: str, *more: str) -> list[str]:
    """Arguments of python3 for the runner of a folder of tasks."""
    return ["-m", f"{PACKAGE}.warmer", folder, *more]


def environment(folder: str) -> dict[str, str]:
    """Environment of python3."""
    return {"PYTHONPATH": _programs(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def runner_folders(plan: Plan, host: str) -> list[Folder]:
    """What the runner sees of its node; with copies of datasets, what it takes to make and mount those."""
    folder, state_dir = tasks_folder(plan, host), _state_dir(plan, host)
    copies = copied(plan, host)
    return [
        Folder(folder),
        Folder(_programs(folder), read_only=True),
        Folder(names.manifests(plan.name), read_only=True),
        *([Folder(f"{state_dir}/{keeper.ASSIGNMENTS}"), *keeper.places(copies)] if copies else []),
    ]


def copied(plan: Plan, host: str) -> list[dict[str, Any]]:
    """Datasets of a host that have copies there, as `alluxio_fuse.stages.Staged` has them."""
    return [one for one in stages.staged_datasets(plan, host) if one["folder"]]


def orders(wish: Mapping[str, Any] | None, action: str | None, task: str, new: str) -> dict[str, Any]:
    """{verb, id, idle_within, waits, wish: arguments of the module `warm_task`} of what a user said.

    new: a name for a task that begins. idle_within: seconds that it waits for idle nodes, 0 where it does not. waits:
    whether the run waits until the task has ended.
    """
    if task:
        warm_tasks.valid(task)
    if action:
        if wish:
            raise ValueError("alluxio_warm and alluxio_warm_action: one run does one of the two; leave one out")
        if not task and action != "list":
            raise ValueError(
                f"alluxio_warm_action: {action}: of which task? say -e alluxio_warm_task=…, as list tells it"
            )
        return {"verb": action, "id": task, "idle_within": 0, "waits": action in ("watch", "resume"), "wish": {}}
    if wish is None:
        return {"verb": "", "id": "", "idle_within": 0, "waits": False, "wish": {}}
    kept = ("datasets", "paths", "filelist", "include", "exclude", "into")
    operation = "evict" if wish["evict"] else "verify" if wish["verify"] == "only" else "load"
    return {
        "verb": "estimate" if wish["dry_run"] else "start",
        "id": task or new,
        "idle_within": 0 if wish["dry_run"] else wish["when_idle"],
        "waits": not wish["dry_run"] and not wish["background"],
        "wish": {
            **{key: wish[key] for key in kept},
            "operation": operation,
            "verify": wish["verify"] is True,
            "bandwidth": wish["bandwidth"] or 0,
        },
    }


def stage_windows(plan: Plan) -> list[dict[str, Any]]:
    """The windows in which all hosts copy datasets that workers do not hold at once, in the order of copying.

    Each is {dataset, place, windows, most, load, evict}: workers hold `most` bytes, and the last two are `orders` for
    what they do before and after the hosts copy it. The names of these tasks want a time before them, and the list of
    files is each host's own.
    """
    most = sum(tier["bytes"] for tier in _tiers(plan))
    return [
        {
            "dataset": dataset,
            "place": place,
            "windows": windows,
            "most": most,
            "load": _of_window(dataset, f"{dataset}-{place + 1}-load", evict=False),
            "evict": _of_window(dataset, f"{dataset}-{place + 1}-evict", evict=True),
        }
        for dataset, windows in plan.fleet["stage_windows"].amount.items()
        for place in range(windows)
    ]


def _of_window(dataset: str, task: str, *, evict: bool) -> dict[str, Any]:
    return orders(Warm(datasets=[dataset], evict=evict).model_dump(), None, "", task)


def _node(plan: Plan, host: str) -> Node:
    state_dir = _state_dir(plan, host)
    fuse = plan.mounts(host)
    return Node(
        name=host,
        runner=_back(plan),
        datasets={one.name: _place(one, fuse[one.name].get("stage")) for one in plan.datasets if one.name in fuse},
        tiers=_tiers(plan),
        assignments=f"{state_dir}/{keeper.ASSIGNMENTS}",
    )


def _tiers(plan: Plan) -> list[dict[str, Any]]:
    return [
        {"host": node, "medium": tier.medium, "bytes": tier.quota}
        for node, services in plan.nodes.items()
        if "worker" in services
        for tier in services["worker"]["tiers"].amount
    ]


def _back(plan: Plan) -> str:
    """What brings the runner back."""
    if plan.capabilities.in_pods:
        return "playbooks/warm.yml -e alluxio_warm_action=resume -e alluxio_warm_task=<id>"
    return f"{'podman' if plan.capabilities.runs_cluster else 'systemctl'} start {_name(plan)}"


def _place(dataset: PlannedDataset, stage: Any) -> Place:
    copy: PlannedStage | None = stage.amount if stage else None
    staged = copy is not None and bool(copy.folder)
    return Place(
        manifest=dataset.manifest,
        roots=sorted({dataset.path, dataset.mount_point}, key=lambda path: path != dataset.path),
        path=dataset.alluxio_path,
        block=BLOCK,
        store=not dataset.folder,
        copy=copy.path if copy and staged else "",
        folder=copy.folder if copy and staged else "",
        per_file=PER_FILE[copy.medium] if copy and staged else 0,
    )


def _program(plan: Plan, host: str, files: list[dict[str, Any]]) -> Program:
    """The runner: beside what copies take, it has the configuration of FUSE where it asks the deployment's workers."""
    folder, fuse = tasks_folder(plan, host), next(iter(plan.mounts(host).values()))
    return Program(
        name=_name(plan),
        title="warm-up tasks",
        command=runner(folder),
        env=environment(folder),
        capabilities=sorted({*(keeper.CAPABILITIES if copied(plan, host) else []), *_READS}),
        folders=runner_folders(plan, host),
        files=files,
        nofile=fuse["nofile"].amount,
        network=plan.capabilities.runs_cluster,
        configuration=_configuration(plan, host),
        spare=True,
    )


def _name(plan: Plan) -> str:
    return f"{plan.name}-{ROLE}"


def _state_dir(plan: Plan, host: str) -> str:
    return str(plan.nodes[host]["node"]["state_dir"].amount)


def _programs(folder: str) -> str:
    return f"{folder}/programs"


def _configuration(plan: Plan, host: str) -> list[str]:
    """Volumes of a container with which it asks the deployment's workers, as FUSE does."""
    if plan.capabilities.in_pods or not plan.capabilities.runs_cluster:
        return []
    fuse = next(one for one in containers(plan, host) if one["service"].startswith("fuse/"))
    return [one for one in fuse["volumes"] if one.startswith(f"{fuse['conf_dir']}/") and f":{names.CONF}/" in one]


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

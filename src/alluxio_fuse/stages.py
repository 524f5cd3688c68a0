"""Staged datasets of a host, from the plan: what role `stage` makes there, and what is left of former ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from alluxio_fuse import keeper, names, programs
from alluxio_fuse.containers import owned_item
from alluxio_fuse.keeper import ROLE
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.parts import PlannedStage

Items = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Staged:
    """What role `stage` makes on a host.

    datasets: {name, source: its FUSE mount, manifest, folder, path, parent: {path, uid, gid, mode}, budget, per_file}.
    folders: that readers enter, as items of the module `files`. files: the programs of the keeper, likewise. keeper:
    its container or unit, as `alluxio_fuse.programs.placed` has it; none where nothing is staged or the chart has a pod
    of it. owned: items of the ownership record, in the order of making. assignments: folder of what is staged here.
    """

    datasets: list[dict[str, Any]]
    folders: list[dict[str, Any]]
    files: list[dict[str, Any]]
    keeper: dict[str, Any] | None
    owned: list[dict[str, Any]]
    assignments: str


@dataclass(frozen=True)
class RecordedMounts:
    """Mounts of the ownership record.

    copies: those of staged datasets, at their paths. shared: folders that are mounts of themselves, to share what is
    mounted below them.
    """

    copies: list[dict[str, Any]]
    shared: list[dict[str, Any]]


def staged(plan: Plan, host: str) -> Staged:
    """What role `stage` makes on `host`."""
    datasets = staged_datasets(plan, host)
    state_dir = plan.nodes[host]["node"]["state_dir"].amount
    files = keeper.files(state_dir) if datasets else []
    kept = programs.placed(plan, keeper.program(plan.name, state_dir, datasets)) if datasets else None
    folders, owned = _folders(datasets), _made(datasets)
    if plan.capabilities.in_pods:
        owned += [owned_item(ROLE, "file", f"{one['parent']['path']}/.owner", False, False) for one in datasets]
    if datasets:
        parts = (keeper.ASSIGNMENTS, keeper.PROGRAM)
        owned += [owned_item(ROLE, "directory", f"{state_dir}/{part}", True, False) for part in parts]
    owned += programs.owned(plan, ROLE, kept)
    return Staged(datasets, folders, files, kept, owned, f"{state_dir}/{keeper.ASSIGNMENTS}")


def stage_left(planned: Items, owned: Items) -> list[dict[str, Any]]:
    """Items of the role's part of the ownership record that are not planned any more, in its order.

    Where the folder of a copy is one of them, so is the mount that shows it: nobody reads what is removed.
    """
    kept = {(one["kind"], one["id"]) for one in planned}
    gone = [item for item in owned if (item["kind"], item["id"]) not in kept]
    copies = {f"{PurePosixPath(item['id']).name}/data" for item in gone if item["data"]["contents"]}
    return [dict(item) for item in owned if item in gone or (item["kind"] == "mount" and _end(item["id"]) in copies)]


def recorded_mounts(owned: Items) -> RecordedMounts:
    """The mounts among items of the ownership record that are no cache media."""
    roles = ("platform_containers", ROLE)
    mounts = [dict(item) for item in owned if item["kind"] == "mount" and item["data"]["role"] in roles]
    above = {item["id"].rpartition("/")[0] for item in mounts}
    copies = [item for item in mounts if item["data"]["role"] == ROLE and item["id"] not in above]
    return RecordedMounts(copies=copies, shared=[item for item in mounts if item not in copies])


def _end(path: str) -> str:
    return "/".join(PurePosixPath(path).parts[-2:])


def staged_datasets(plan: Plan, host: str) -> list[dict[str, Any]]:
    """Those of `host` whose FUSE mount is out of their readers' way, as `Staged` has them."""
    found = []
    for dataset, fuse in plan.mounts(host).items():
        if "stage" in fuse:
            copy: PlannedStage = fuse["stage"].amount
            about = {key: getattr(copy, key) for key in ("folder", "path", "parent", "budget", "per_file")}
            places = {"source": fuse["mount_point"].amount, "manifest": names.manifest(plan.name, dataset)}
            found.append({"name": dataset, **places, **about})
    return found


def _folders(datasets: Items) -> list[dict[str, Any]]:
    roots = sorted({one["parent"]["path"].rpartition("/")[0] for one in datasets})
    return [*({"path": root, "mode": "0755"} for root in roots), *(dict(one["parent"]) for one in datasets)]


def _made(datasets: Items) -> list[dict[str, Any]]:
    items = [("directory", folder["path"], False) for folder in _folders(datasets)]
    items += [("directory", one["path"], False) for one in datasets]
    items += [("directory", one["folder"], True) for one in datasets if one["folder"]]
    items += [("mount", one["parent"]["path"], False) for one in datasets]
    items += [("mount", one["path"], False) for one in datasets]
    new = {path for one in datasets for path in (one["path"], one["parent"]["path"])}
    return [owned_item(ROLE, kind, key, contents, kind == "directory" and key in new) for kind, key, contents in items]

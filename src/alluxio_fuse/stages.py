"""Staged datasets of a host, from the plan: what role `stage` makes there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alluxio_fuse.containers import owned_item
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.parts import PlannedStage

ROLE = "stage"


def staged(plan: Plan, host: str) -> list[dict[str, Any]]:
    """The staged datasets of `host`: {name, source: its FUSE mount, folder, path, parent: {path, uid, gid, mode}}."""
    found = []
    for dataset, fuse in plan.mounts(host).items():
        if "stage" in fuse:
            copy: PlannedStage = fuse["stage"].amount
            about = {"folder": copy.folder, "path": copy.path, "parent": copy.parent}
            found.append({"name": dataset, "source": fuse["mount_point"].amount, **about})
    return found


def stage_folders(datasets: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Folders that readers of staged datasets enter, as items of the module `files`."""
    roots = sorted({one["parent"]["path"].rpartition("/")[0] for one in datasets})
    return [*({"path": root, "mode": "0755"} for root in roots), *(dict(one["parent"]) for one in datasets)]


def stage_items(datasets: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What role `stage` makes, as items of the ownership record, in the order of making."""
    items = [("directory", folder["path"], False) for folder in stage_folders(datasets)]
    items += [("directory", one["path"], False) for one in datasets]
    items += [("directory", one["folder"], True) for one in datasets]
    items += [("mount", one["parent"]["path"], False) for one in datasets]
    items += [("mount", one["path"], False) for one in datasets]
    new = {path for one in datasets for path in (one["path"], one["parent"]["path"])}
    return [owned_item(ROLE, kind, key, contents, kind == "directory" and key in new) for kind, key, contents in items]


def stage_mounts(owned: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Items of the ownership record: mounts of copies, at the paths of datasets."""
    found = [dict(item) for item in owned if item["kind"] == "mount" and item["data"]["role"] == ROLE]
    parents = {item["id"].rpartition("/")[0] for item in found}
    return [item for item in found if item["id"] not in parents]


def shared_mounts(owned: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Items of the ownership record: folders that are mounts of themselves, to share what is mounted below them."""
    copies = stage_mounts(owned)
    roles = ("platform_containers", ROLE)
    found = [dict(item) for item in owned if item["kind"] == "mount" and item["data"]["role"] in roles]
    return [item for item in found if item not in copies]


def stages_left(owned: Sequence[Mapping[str, Any]], datasets: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Items of role `stage` in the ownership record that are not planned any more, in the record's order."""
    planned = {(one["kind"], one["id"]) for one in stage_items(datasets)}
    return [dict(item) for item in owned if (item["kind"], item["id"]) not in planned]

"""Staged datasets of a host, from the plan: what role `stage` makes there, and what is left of former ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alluxio_fuse.containers import owned_item
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.parts import PlannedStage

ROLE = "stage"
Items = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class StageRecord:
    """What role `stage` makes for some datasets.

    folders: that readers enter, as items of the module `files`. owned: items of the ownership record, in the order of
    making. left: items of the record that are not planned any more, in its order.
    """

    folders: list[dict[str, Any]]
    owned: list[dict[str, Any]]
    left: list[dict[str, Any]]


@dataclass(frozen=True)
class RecordedMounts:
    """Mounts of the ownership record.

    copies: those of staged datasets, at their paths. shared: folders that are mounts of themselves, to share what is
    mounted below them.
    """

    copies: list[dict[str, Any]]
    shared: list[dict[str, Any]]


def staged(plan: Plan, host: str) -> list[dict[str, Any]]:
    """The staged datasets of `host`: {name, source: its FUSE mount, folder, path, parent: {path, uid, gid, mode}}."""
    found = []
    for dataset, fuse in plan.mounts(host).items():
        if "stage" in fuse:
            copy: PlannedStage = fuse["stage"].amount
            about = {"folder": copy.folder, "path": copy.path, "parent": copy.parent}
            found.append({"name": dataset, "source": fuse["mount_point"].amount, **about})
    return found


def stage_record(datasets: Items, owned: Items = ()) -> StageRecord:
    """What is made for datasets, as `staged` returns them; owned: the role's part of the ownership record."""
    folders, made = _folders(datasets), _made(datasets)
    planned = {(one["kind"], one["id"]) for one in made}
    left = [dict(item) for item in owned if (item["kind"], item["id"]) not in planned]
    return StageRecord(folders=folders, owned=made, left=left)


def recorded_mounts(owned: Items) -> RecordedMounts:
    """The mounts among items of the ownership record that are no cache media."""
    roles = ("platform_containers", ROLE)
    mounts = [dict(item) for item in owned if item["kind"] == "mount" and item["data"]["role"] in roles]
    above = {item["id"].rpartition("/")[0] for item in mounts}
    copies = [item for item in mounts if item["data"]["role"] == ROLE and item["id"] not in above]
    return RecordedMounts(copies=copies, shared=[item for item in mounts if item not in copies])


def _folders(datasets: Items) -> list[dict[str, Any]]:
    roots = sorted({one["parent"]["path"].rpartition("/")[0] for one in datasets})
    return [*({"path": root, "mode": "0755"} for root in roots), *(dict(one["parent"]) for one in datasets)]


def _made(datasets: Items) -> list[dict[str, Any]]:
    items = [("directory", folder["path"], False) for folder in _folders(datasets)]
    items += [("directory", one["path"], False) for one in datasets]
    items += [("directory", one["folder"], True) for one in datasets]
    items += [("mount", one["parent"]["path"], False) for one in datasets]
    items += [("mount", one["path"], False) for one in datasets]
    new = {path for one in datasets for path in (one["path"], one["parent"]["path"])}
    return [owned_item(ROLE, kind, key, contents, kind == "directory" and key in new) for kind, key, contents in items]

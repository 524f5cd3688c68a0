"""Turns the exports of NFS of a plan into mount units of systemd, and what a node has of them."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_letters, digits
from typing import Any

from alluxio_fuse.containers import owned_item
from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.parts import PlannedExport

ROLE = "nfs"
_PLAIN = frozenset(f"{ascii_letters}{digits}:_.")


@dataclass(frozen=True, slots=True)
class MountUnit:
    """A mount unit: its name follows from `folder`, as systemd wants it."""

    name: str
    dataset: str
    address: str
    folder: str
    options: str


@dataclass(frozen=True, slots=True)
class ExportMounts:
    """The mount units of a node, and they and their folders as items of the ownership record."""

    units: list[MountUnit]
    owned: list[dict[str, Any]]


def export_mounts(plan: Plan) -> ExportMounts:
    """What mounts the exports of a plan on a node."""
    units = [_unit(one) for one in plan.exports]
    folders = [unit.folder for unit in units]
    above = dict.fromkeys(folder.rpartition("/")[0] for folder in folders)
    items = [("directory", path) for path in (*above, *folders)] + [("unit", unit.name) for unit in units]
    return ExportMounts(units, [owned_item(ROLE, kind, key, contents=False, new=False) for kind, key in items])


def _unit(export: PlannedExport) -> MountUnit:
    folder = export.folder
    return MountUnit(unit_name(folder), export.dataset, export.address, folder, ",".join(export.options))


def unit_name(path: str) -> str:
    """Name of the mount unit of a path, no part of which begins with a dot, as systemd-escape(1) has it."""
    return "-".join(_escaped(part) for part in path.strip("/").split("/")) + ".mount"


def _escaped(part: str) -> str:
    return "".join(char if char in _PLAIN else f"\\x{ord(char):02x}" for char in part)

"""Items of the ownership record, as roles pass them to `alluxio.fuse.owned`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

DOCUMENTATION = """
name: ownership
short_description: items of the ownership record
description:
  - C(as_owned) turns ids into items of one kind and role.
  - C(as_owned_settings) turns kernel settings (C(path), C(before)) into items that know the value before.
  - C(raised) says what kernel settings become that are raised, and never lowered.
"""


def as_owned(ids: Iterable[str], kind: str, role: str, **data: Any) -> list[dict[str, Any]]:
    """Items of one kind that `role` is about to make, each with the same further data."""
    return [{"kind": kind, "id": str(key), "data": {"role": role, **data}} for key in ids]


def as_owned_settings(settings: Iterable[Mapping[str, Any]], role: str) -> list[dict[str, Any]]:
    """Kernel settings that `role` is about to change, with what they said before."""
    return [
        {"kind": "sysctl", "id": setting["path"], "data": {"role": role, "before": str(setting["before"])}}
        for setting in settings
    ]


def raised(
    settings: Iterable[Mapping[str, Any]], owned: Iterable[Mapping[str, Any]], wanted: int
) -> list[dict[str, Any]]:
    """The settings with the `value` to set: `wanted`, or what they said before the record's first change if more.

    owned: items of the record. A setting that is not in it still says what it said before.
    """
    before = {item["id"]: item["data"]["before"] for item in owned if item["kind"] == "sysctl"}
    return [{**one, "value": max(wanted, int(before.get(one["path"], one["before"])))} for one in settings]


class FilterModule:
    """Filters of the ownership record."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {"as_owned": as_owned, "as_owned_settings": as_owned_settings, "raised": raised}

"""Items of the ownership record, as roles pass them to `alluxio.fuse.owned`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any


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


def media_left(owned: Iterable[Mapping[str, Any]], media: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of what role cache_media made, memory and folders that are not planned any more; devices stay as they are.

    owned: items of the record; media: those that are planned.
    """
    planned, items = [one["path"] for one in media], list(owned)

    def is_gone(path: str) -> bool:
        return not any(f"{one}/".startswith(f"{path}/") for one in planned)

    made = [
        one for one in items if one["kind"] == "tmpfs" or (one["kind"] == "directory" and one["data"].get("contents"))
    ]
    gone = {one["id"] for one in made if is_gone(one["id"])}
    return [dict(one) for one in items if one["data"].get("path", one["id"]) in gone]


class FilterModule:
    """Filters of the ownership record."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {
            "as_owned": as_owned,
            "as_owned_settings": as_owned_settings,
            "raised": raised,
            "media_left": media_left,
        }

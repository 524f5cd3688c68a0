"""What differs between the plan and what is there, from results of deploying it in check mode and from its status."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from alluxio_fuse.diagnosis.redaction import Redactor
from alluxio_fuse.status.judge import Status
from alluxio_fuse.status.services import AS_PLANNED

WIDTH = 132
SHOWN = 60  # characters of a value, which may be a whole file
REASON = 300  # characters of why something cannot be known
UNKNOWN = "cannot be known"
FLEET = "fleet"  # where something belongs to no single node

_FILE_LINES = ("---", "+++", "@@")


class Row(NamedTuple):
    """One difference: on which node, of what, what it is now, and what it is to be ("" where only that it differs is
    known).
    """

    where: str
    what: str
    now: str
    planned: str


def differences(wanted: Any, live: Any) -> list[tuple[str, Any, Any]]:
    """(path, wanted, live) of every field that differs; None where it is not there."""
    return list(_walk(wanted, live, ""))


def short(value: Any, most: int = SHOWN) -> str:
    """A value as a line shows it."""
    if value is None:
        return "nothing"
    text = " ".join(str(value).split())
    return text if len(text) <= most else f"{text[:most]}…"


def of_result(where: str, task: str, result: Mapping[str, Any]) -> list[Row]:
    """Rows of a task that ran in check mode; none where it would change nothing.

    result: as Ansible hands it to a callback. Of a loop, each item counts by itself.
    """
    items = result.get("results")
    if isinstance(items, list):
        return [
            row for item in items if isinstance(item, Mapping) for row in of_result(where, _of_item(task, item), item)
        ]
    if result.get("unknown"):
        return [Row(where, task, _unknown(result["unknown"]), "")]
    if not result.get("changed"):
        return []
    if result.get("differences"):
        return [Row(where, one["what"], one["now"], one["planned"]) for one in result["differences"]]
    told = [Row(where, task, now, planned) for now, planned in _shown(result)]
    return told or [Row(where, task, "differs", "; ".join(map(str, result.get("actions", ()))))]


def of_failure(where: str, task: str, result: Mapping[str, Any]) -> list[Row]:
    """What a task that failed could not find out."""
    items = result.get("results")
    failed = [one for one in items if one.get("failed")] if isinstance(items, list) else []
    return [
        Row(where, _of_item(task, one), _unknown(one.get("msg", "no reason was given")), "")
        for one in failed or [result]
    ]


def of_status(status: Status) -> list[Row]:
    """What check mode does not see: what runs as it was planned before, what does not serve, mounts that were changed.

    Options are those that the kernel tells of a mount, so that one that hangs is not touched.
    """
    rows = [
        Row(one["node"] or FLEET, one["name"], f"{one['state']}: {one['why']}", AS_PLANNED)
        for one in status.services
        if one["state"] != AS_PLANNED
    ]
    for mount in status.mounts:
        what = f"mount of {mount.name}"
        if mount.state == "unreachable":
            rows.append(Row(mount.node, what, _unknown(mount.why), "serves"))
        elif mount.state != "serves":
            rows.append(Row(mount.node, what, f"{mount.state}: {mount.why}".rstrip(": "), "serves"))
        rows += [Row(mount.node, what, f"without option {option}", option) for option in mount.lacks]
    layers = [one for one in status.failing if one.startswith(("master:", "namespace:", "worker:", "lost worker:"))]
    return rows + [Row(FLEET, layer, why, "serves") for layer, _, why in (one.partition(": ") for one in layers)]


def render(rows: Sequence[Row]) -> str:
    """The rows as a table, without anything that looks like a secret."""
    if not rows:
        return "drift    none: everything is as planned"
    text, redactor = StringIO(), Redactor(())
    table = Table(box=box.SIMPLE_HEAD, expand=False)
    for heading in ("where", "what", "now", "planned"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(redactor.text, row))
    out = Console(file=text, width=WIDTH, highlight=False, markup=False)
    out.print(table)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    return "\n".join([*lines, f"drift    {len(rows)} differ; site.yml makes them as planned"])


def _shown(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(now, planned) of each difference that a module shows with its `diff`."""
    diffs = result.get("diff") or []
    for one in diffs if isinstance(diffs, list) else [diffs]:
        yield from _of_diff(one)


def _of_diff(diff: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    before, after = diff.get("before"), diff.get("after")
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for path, should, there in differences(after, before):
            yield f"{path}: {short(there)}", short(should)
    elif "prepared" in diff:
        yield from _of_lines(str(diff["prepared"]).splitlines())
    elif isinstance(before, str) and isinstance(after, str):
        yield from _of_lines(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))


def _of_lines(lines: Any) -> Iterator[tuple[str, str]]:
    """The first line that goes, and the first that comes."""
    told = [line for line in lines if not line.startswith(_FILE_LINES)]
    gone = next((line[1:] for line in told if line.startswith("-")), None)
    new = next((line[1:] for line in told if line.startswith("+")), None)
    if gone is not None or new is not None:
        yield short(gone), short(new)


def _of_item(task: str, item: Mapping[str, Any]) -> str:
    """A task, and which item of its loop; of one without a log there is no label."""
    label = item.get("_ansible_item_label", item.get("item", ""))
    return f"{task}: {label}" if label else task


def _unknown(why: Any) -> str:
    return f"{UNKNOWN}: {short(why, REASON)}"


def _walk(wanted: Any, live: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        for key in sorted({*wanted, *live}):
            yield from _walk(wanted.get(key), live.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(wanted, list) and isinstance(live, list) and len(wanted) == len(live):
        for index, (one, other) in enumerate(zip(wanted, live, strict=True)):
            name = one.get("name", index) if isinstance(one, Mapping) else index
            yield from _walk(one, other, f"{path}[{name}]")
    elif wanted != live:
        yield path, wanted, live

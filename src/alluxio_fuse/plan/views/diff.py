"""What differs between two plans."""

from collections.abc import Iterator
from typing import Any, Final

from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.parts import plain
from alluxio_fuse.plan.views.explain import readable

ABSENT = "(absent)"
EQUAL = "the plans are equal"
#: Of a terminal: what a fleet of unlike nodes would fill with lines, and one amount with columns.
MOST: Final = 40
_WIDEST: Final = 72


def differences(old: Plan, new: Plan) -> list[dict[str, Any]]:
    """[{host, path, old, new}] of every amount that differs; what exists once only has `(absent)` on the other side.

    host: "" of the fleet. A host, a service or a dataset that comes or goes is one difference.
    """
    found = [{"host": "", **each} for each in _between("fleet", _amounts(old.fleet), _amounts(new.fleet))]
    for host in sorted(old.nodes.keys() | new.nodes.keys()):
        before, after = _node(old, host), _node(new, host)
        if ABSENT in (before, after):
            found.append({"host": host, "path": "", "old": before, "new": after})
        else:
            found += [{"host": host, **each} for each in _between("", before, after)]
    return found


def diff_lines(old: Plan, new: Plan) -> list[str]:
    """One line for each difference, with the hosts that have it alike; the first ones where there are many."""
    hosts: dict[tuple[str, str], list[str]] = {}
    for each in differences(old, new):
        hosts.setdefault((each["path"], _said(each)), []).append(each["host"])
    lines = [f"{_place(path, there)}: {said}" for (path, said), there in hosts.items()]
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    return [*lines[:MOST], *more] or [EQUAL]


def _place(path: str, hosts: list[str]) -> str:
    """Where an amount is: of one host as `explain` takes it."""
    if len(hosts) == 1:
        return ".".join(part for part in (hosts[0], path) if part)
    others = f" and {len(hosts) - 2} more" if len(hosts) > 2 else ""
    return f"{path or 'hosts'} on {', '.join(hosts[:2])}{others}"


def _said(each: dict[str, Any]) -> str:
    old, new = each["old"], each["new"]
    if ABSENT in (old, new) and (isinstance(old, dict) or isinstance(new, dict)):
        return "new" if old == ABSENT else "gone"
    if isinstance(old, list) and isinstance(new, list):
        kept = [one for one in old if one in new]
        if kept != old or len(kept) != len(new):
            old, new = [one for one in old if one not in kept], [one for one in new if one not in kept]
    return f"{_text(each['path'], old)} -> {_text(each['path'], new)}"


def _text(path: str, amount: Any) -> str:
    text = readable(path, amount)
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"


def _between(path: str, old: Any, new: Any) -> Iterator[dict[str, Any]]:
    """What differs below a path, as deep as both have the same parts."""
    before, after = _parts(old), _parts(new)
    if before is None or after is None:
        if old != new:
            yield {"path": path, "old": old, "new": new}
        return
    for key in sorted(before.keys() | after.keys()):
        yield from _between(f"{path}.{key}" if path else key, before.get(key, ABSENT), after.get(key, ABSENT))


def _parts(amount: Any) -> dict[str, Any] | None:
    """The entries of a mapping, and of a list whose entries have names or paths of their own."""
    if isinstance(amount, dict):
        return {str(key): one for key, one in amount.items()}
    if not isinstance(amount, list) or not all(isinstance(one, dict) for one in amount):
        return None
    for key in ("name", "path"):
        named = {str(one[key]): one for one in amount if key in one}
        if amount and len(named) == len(amount):
            return named
    return None


def _node(plan: Plan, host: str) -> Any:
    if host not in plan.nodes:
        return ABSENT
    return {name: _amounts(service) for name, service in plan.nodes[host].items()}


def _amounts(values: Any) -> dict[str, Any]:
    return {key: plain(value.amount) for key, value in values.items()}

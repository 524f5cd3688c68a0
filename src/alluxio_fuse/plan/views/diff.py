"""What differs between two plans."""

from typing import Any

from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.parts import plain
from alluxio_fuse.plan.views.explain import places, readable

ABSENT = "(absent)"


def differences(old: Plan, new: Plan) -> list[dict[str, Any]]:
    """[{path, old, new}] of every amount that differs; what exists once only has `(absent)` on the other side."""
    before, after = _flat(old), _flat(new)
    return [
        {"path": path, "old": before.get(path, ABSENT), "new": after.get(path, ABSENT)}
        for path in sorted(before.keys() | after.keys())
        if before.get(path, ABSENT) != after.get(path, ABSENT)
    ]


def diff_lines(old: Plan, new: Plan) -> list[str]:
    """One line for each difference."""
    return [
        f"{each['path']}: {readable(each['path'], each['old'])} -> {readable(each['path'], each['new'])}"
        for each in differences(old, new)
    ] or ["the plans are equal"]


def _flat(plan: Plan) -> dict[str, Any]:
    """{path: amount}; mappings entry by entry."""
    flat: dict[str, Any] = {}
    for place, values in places(plan).items():
        for key, value in values.items():
            amount = plain(value.amount)
            if isinstance(amount, dict):
                flat |= {f"{place}.{key}.{part}": item for part, item in amount.items()}
            else:
                flat[f"{place}.{key}"] = amount
    return flat

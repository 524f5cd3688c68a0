"""Filters by which playbooks call the planner, `alluxio_fuse.plan`, which does everything."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ansible.errors import AnsibleFilterError

from alluxio_fuse.adapters import as_filter, plain
from alluxio_fuse.chart.refusals import refusals
from alluxio_fuse.fluid import render
from alluxio_fuse.plan import Refused
from alluxio_fuse.plan import plan as derive
from alluxio_fuse.plan.views import amounts, deployment, diff, explain, table


def plan(hosts: dict[str, Any], digest: str = "") -> dict[str, Any]:
    """The plan of {host: {groups, variables, facts}} and the delivered image; fails with every finding."""
    try:
        made = derive(plain(hosts), str(digest))
        if found := [*refusals(made), *render.refusals(made)]:
            raise Refused(found)
        return made.dump()
    except Refused as refused:
        raise AnsibleFilterError(f"There is no plan that holds:\n{refused}") from None


def _as_filter(function: Callable[..., Any]) -> Callable[..., Any]:
    filtered = as_filter(function)

    @wraps(function)
    def through(*arguments: Any) -> Any:
        try:
            return filtered(*arguments)
        except KeyError as error:
            raise AnsibleFilterError(str(error.args[0])) from None

    return through


class FilterModule:
    """Filters of the planner."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names as playbooks write them, after alluxio.fuse."""
        return {
            "plan": plan,
            "amounts": _as_filter(amounts.amounts),
            "deployment": _as_filter(deployment.deployment),
            "explain": _as_filter(explain.explain),
            "plan_diff": _as_filter(diff.diff_lines),
            "plan_table": _as_filter(table.plan_table),
        }

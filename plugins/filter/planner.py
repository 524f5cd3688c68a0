"""Doors from playbooks to the planner; everything is done by alluxio_fuse.plan."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ansible.errors import AnsibleFilterError

from alluxio_fuse.chart import values
from alluxio_fuse.doors import door, plain
from alluxio_fuse.fluid import render
from alluxio_fuse.plan import Refused
from alluxio_fuse.plan import plan as derive
from alluxio_fuse.plan.doors import amounts, deployment, diff, explain, table


def plan(hosts: dict[str, Any]) -> dict[str, Any]:
    """The plan of {host: {groups, variables, facts}}; fails with every finding."""
    try:
        made = derive(plain(hosts))
        if found := [*values.refusals(made), *render.refusals(made)]:
            raise Refused(found)
        return made.dump()
    except Refused as refused:
        raise AnsibleFilterError(f"There is no plan that holds:\n{refused}") from None


def _door(function: Callable[..., Any]) -> Callable[..., Any]:
    filtered = door(function)

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
            "amounts": _door(amounts.amounts),
            "deployment": _door(deployment.deployment),
            "explain": _door(explain.explain),
            "plan_diff": _door(diff.diff_lines),
            "plan_table": _door(table.plan_table),
        }

"""Doors from playbooks to the planner; everything is done by alluxio_fuse.plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from alluxio_fuse.plan import Refused
from alluxio_fuse.plan import plan as derive
from alluxio_fuse.plan.doors import amounts, diff, explain, table


def _plain(value: Any) -> Any:
    """Ordinary containers of Ansible's lazy ones, rendered."""
    return json.loads(json.dumps(value))


def plan(hosts: dict[str, Any]) -> dict[str, Any]:
    """The plan of {host: {groups, variables, facts}}; fails with every finding."""
    try:
        return derive(_plain(hosts)).dump()
    except Refused as refused:
        raise AnsibleFilterError(f"There is no plan that holds:\n{refused}") from None


def plan_findings(hosts: dict[str, Any]) -> list[dict[str, Any]]:
    """Every reason against a plan, empty where there is one."""
    try:
        derive(_plain(hosts))
    except Refused as refused:
        return list(refused.dump()["refused"])
    return []


def _door(function: Callable[..., Any]) -> Callable[..., Any]:
    def through(*arguments: Any) -> Any:
        try:
            return function(*_plain(list(arguments)))
        except KeyError as error:
            raise AnsibleFilterError(str(error.args[0])) from None

    return through


class FilterModule:
    """Filters of the planner."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names as playbooks write them, after alluxio.fuse."""
        return {
            "plan": plan,
            "plan_findings": plan_findings,
            "amounts": _door(amounts.amounts),
            "explain": _door(explain.explain),
            "plan_diff": _door(diff.diff_lines),
            "plan_table": _door(table.plan_table),
        }

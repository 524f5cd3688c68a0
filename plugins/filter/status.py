"""Doors from playbooks to `alluxio_fuse.status`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse.doors import door, plain
from alluxio_fuse.plan import Plan
from alluxio_fuse.status import judge, table

DOCUMENTATION = """
name: status
short_description: what serves, what does not, and the first thing to look at
description:
  - C(services_of_containers) and C(services_of_units) compare what runs on a node with what was planned.
  - C(status) judges a deployment, C(status_table) shows that as text.
"""


def status(plan: Plan, hosts: Any, found: Any, cluster: Any) -> dict[str, Any]:
    """The state of a deployment; `hosts`: what module `mount_status` returned on each, {} where it was not reached."""
    seen = {host: result.get("mounts") for host, result in hosts.items()}
    return judge.judge(plan, seen, found, cluster).model_dump(mode="json")


def status_mounts(datasets: Any) -> list[dict[str, str]]:
    """What module `mount_status` looks at, of datasets as filter `targets` returns them."""
    return [
        {"name": one["name"], "mount_point": one["mount_point"], "address": (one["metrics"]["fuse"] or [""])[0]}
        for one in plain(datasets)
    ]


def status_table(result: Any) -> str:
    """The state as text."""
    return table.render(judge.Status.model_validate(plain(result)))


class FilterModule:
    """Filters of the role status."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {
            "status": door(status),
            "status_mounts": status_mounts,
            "status_table": status_table,
        }

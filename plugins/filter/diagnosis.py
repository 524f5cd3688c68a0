"""Doors from playbooks to `alluxio_fuse.diagnosis`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse.diagnosis import parts
from alluxio_fuse.doors import door, filters
from alluxio_fuse.plan import Plan

DOCUMENTATION = """
name: diagnosis
short_description: what a diagnosis holds, and what each node is asked for it
description:
  - C(diagnosis_questions) and C(diagnosis_addresses) are what module C(diagnosis_parts) runs, reads and asks on a host.
  - C(diagnosis) is everything that was told, as parts of one bundle.
"""


def diagnosis(plan: Plan, told: Any) -> list[dict[str, Any]]:
    """Parts of a bundle; `told`: {what: {host: result}}, with {} where a host has told nothing."""
    hosts = {host: {what: told[what][host] for what in told} for host in next(iter(told.values()))}
    return [one.model_dump() for one in parts.assemble(plan, hosts)]


class FilterModule:
    """Filters of the role diagnose."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        asked = filters(parts, "questions", "addresses")
        return {**{f"diagnosis_{name}": one for name, one in asked.items()}, "diagnosis": door(diagnosis)}

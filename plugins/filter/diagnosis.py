"""Doors from playbooks to `alluxio_fuse.diagnosis`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse.diagnosis import parts
from alluxio_fuse.doors import filters, plain

DOCUMENTATION = """
name: diagnosis
short_description: what a diagnosis holds, and what each node is asked for it
description:
  - C(diagnosis_questions) and C(diagnosis_addresses) are what module C(diagnosis_parts) runs, reads and asks on a host.
  - C(diagnosis) is everything that was told, as parts of one bundle.
"""


def diagnosis(plan: Any, told: Any) -> list[dict[str, Any]]:
    """Parts of a bundle; `told`: {what: {host: result}}, with {} where a host has told nothing."""
    found = plain(told)
    hosts = {host: {what: found[what][host] for what in found} for host in next(iter(found.values()))}
    return [one.model_dump() for one in parts.assemble(plain(plan), hosts)]


class FilterModule:
    """Filters of the role diagnose."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        asked = filters(parts, "questions", "addresses")
        return {**{f"diagnosis_{name}": door for name, door in asked.items()}, "diagnosis": diagnosis}

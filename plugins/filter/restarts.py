"""Doors from playbooks to `alluxio_fuse.restarts`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import restarts
from alluxio_fuse.doors import filters

DOCUMENTATION = """
name: restarts
short_description: what a run starts again, and who reads through it
description: Functions of the module C(alluxio_fuse.restarts) are filters of the same name, documented there.
"""


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return filters(restarts, "held_back", "waiting", "foretold", "told_by_node", "idle")

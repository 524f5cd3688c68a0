"""Doors from playbooks to `alluxio_fuse.host`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import host
from alluxio_fuse.doors import filters

DOCUMENTATION = """
name: units
short_description: systemd units of a host, from the plan
description: Functions of the module C(alluxio_fuse.host) are filters of the same name, documented there.
"""


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        doors = (
            "units",
            "unit_folders",
            "unit_items",
            "former_homes",
            "unit_words",
            "unit_command",
            "unit_environment",
            "java_home",
        )
        return filters(host, *doors)

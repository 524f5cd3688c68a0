"""Doors from playbooks to `alluxio_fuse.stages`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import stages
from alluxio_fuse.doors import filters

DOCUMENTATION = """
name: staged
short_description: staged datasets of a host, from the plan
description: Functions of the module C(alluxio_fuse.stages) are filters of the same name, documented there.
"""


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return filters(stages, "staged", "stage_folders", "stage_items", "stages_left", "stage_mounts", "shared_mounts")

"""Doors from playbooks to `alluxio_fuse.targets`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import targets
from alluxio_fuse.doors import filters

DOCUMENTATION = """
name: targets
short_description: what warm-up and check read on a host
description: Functions of the module C(alluxio_fuse.targets) are filters of the same name, documented there.
"""


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return filters(
            targets,
            "targets",
            "tunable",
            "refreshable",
            "mount_settings",
            "mount_parents",
            "mount_folders",
            "gate",
            "about",
        )

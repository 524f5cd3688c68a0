"""Doors from playbooks to `alluxio_fuse.containers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import containers
from alluxio_fuse.doors import filters

DOCUMENTATION = """
name: ca_files
short_description: containers of a host, from the plan
description: Functions of the module C(alluxio_fuse.containers) are filters of the same name, documented there.
"""


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {
            **filters(containers, "ca_files", "containers", "folders", "owned_items", "site_files", "last_words"),
            **filters(
                containers, "outdated", "reimaged", "left", "started_again", "restoring", "rewritten", "redeclared"
            ),
            **filters(containers, "of_others", "names_taken", "tier_bytes"),
        }

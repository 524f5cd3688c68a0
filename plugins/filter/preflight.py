"""Doors from playbooks to `alluxio_fuse.preflight`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import going, preflight
from alluxio_fuse.doors import filters

DOCUMENTATION = """
name: findings
short_description: everything that speaks against a fleet
description: Functions of C(alluxio_fuse.preflight) and C(alluxio_fuse.going) are filters of the same name.
"""


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {
            **filters(preflight, "findings", "questions", "findings_text", "peers", "plaintext", "silent"),
            **filters(going, "going"),
        }

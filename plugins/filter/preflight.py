"""Doors from playbooks to `alluxio_fuse.preflight`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from alluxio_fuse import preflight

DOCUMENTATION = """
name: findings
short_description: everything that speaks against a fleet
description: Functions of the module C(alluxio_fuse.preflight) are filters of the same name, documented there.
"""


def _door(function: Callable[..., Any]) -> Callable[..., Any]:
    """Ansible hands filters lazy containers; the package gets plain ones."""
    return lambda value: function(json.loads(json.dumps(value)))


class FilterModule:
    """Filters of preflight."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {name: _door(getattr(preflight, name)) for name in ("questions", "findings", "findings_text")}

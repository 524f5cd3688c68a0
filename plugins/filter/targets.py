"""Doors from playbooks to `alluxio_fuse.targets`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from alluxio_fuse import targets

DOCUMENTATION = """
name: targets
short_description: what warm-up and check read on a host
description: Each function of the module C(alluxio_fuse.targets) is a filter of the same name, documented there.
"""


def _door(function: Callable[..., Any]) -> Callable[..., Any]:
    """Ansible hands filters lazy containers; the package gets plain ones."""
    return lambda *arguments: function(*json.loads(json.dumps(arguments)))


class FilterModule:
    """Filters of warm-up and check."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {name: _door(getattr(targets, name)) for name in ("targets", "gate", "about")}

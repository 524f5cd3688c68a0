"""Doors from playbooks to `alluxio_fuse.containers`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from alluxio_fuse import containers

DOCUMENTATION = """
name: containers
short_description: containers of a host, from the plan
description: Each function of the module C(alluxio_fuse.containers) is a filter of the same name, documented there.
"""


def _plain(value: Any) -> Any:
    """Ansible hands filters lazy containers; the package gets plain ones."""
    return json.loads(json.dumps(value, default=str))


def _door(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: function(*(_plain(argument) for argument in arguments), **_plain(options))


class FilterModule:
    """Filters of the containers platform."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        names = ("ca_files", "cli", "containers", "folders", "owned_items", "site_file", "last_words")
        return {name: _door(getattr(containers, name)) for name in names}

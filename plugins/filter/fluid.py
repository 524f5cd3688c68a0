"""Filters by which playbooks call `alluxio_fuse.views.fluid`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse.adapters import filters
from alluxio_fuse.views import fluid


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return filters(fluid, "fluid", "fluid_findings", "fluid_pods")

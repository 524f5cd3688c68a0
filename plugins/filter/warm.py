"""Filters by which playbooks call `alluxio_fuse.warm`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import warm
from alluxio_fuse.adapters import as_filter, filters


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return filters(warm, "warm_up", "stage_windows") | {"warm_orders": as_filter(warm.orders)}

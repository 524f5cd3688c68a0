"""Filters by which playbooks call `alluxio_fuse.views.train`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse.adapters import filters
from alluxio_fuse.views import train


class FilterModule:
    """Filters of role train."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return filters(train, "train_orders", "train_steps", "train_kept", "train_need", "train_result", "train_report")

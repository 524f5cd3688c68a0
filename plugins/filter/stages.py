"""Filters by which playbooks call `alluxio_fuse.stages`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import stages
from alluxio_fuse.adapters import filters


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return filters(stages, "staged", "stage_left", "recorded_mounts")

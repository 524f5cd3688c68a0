"""Filters by which playbooks learn of exports of NFS: `alluxio_fuse.exports`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import exports
from alluxio_fuse.adapters import filters


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return filters(exports, "export_mounts")

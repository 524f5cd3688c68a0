"""Filters by which playbooks learn of services on a node itself: `alluxio_fuse.views.services` and its sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import containers, host
from alluxio_fuse.adapters import filters
from alluxio_fuse.views import services


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {
            **filters(services, "containers", "units", "compare_services", "restarts"),
            **filters(containers, "site_files", "last_words"),
            **filters(host, "unit_settings"),
        }

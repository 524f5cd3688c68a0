"""Filters by which playbooks learn what warm-up, check, status and diagnosis need: `views` and `targets`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import targets
from alluxio_fuse.adapters import filters
from alluxio_fuse.views import check, state


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {
            **filters(targets, "targets", "refreshable", "mount_settings"),
            **filters(check, "warm_steps", "check_passes", "check_terms", "check_verdict", "check_report"),
            **filters(
                state, "status", "status_mounts", "paths_in_workers", "status_table", "diagnosis", "diagnosis_questions"
            ),
        }

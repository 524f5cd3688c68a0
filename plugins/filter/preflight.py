"""Filters by which playbooks call `alluxio_fuse.preflight` and its views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import preflight
from alluxio_fuse.adapters import filters
from alluxio_fuse.plan import delivery
from alluxio_fuse.views import preflight as views


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return (
            filters(preflight, "delivery_line", "questions")
            | filters(delivery, "pinned")
            | filters(views, "findings", "node_questions", "planner_facts")
        )

"""Filters by which playbooks call `alluxio_fuse.views.kubernetes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse.adapters import filters
from alluxio_fuse.views import kubernetes


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        names = ("secrets", "node_labels", "release_pods", "pod_restarts", "policy_probe", "consumers", "warm_pods")
        return filters(kubernetes, "kubernetes", "release", "release_owner", *names)

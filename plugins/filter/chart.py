"""Door from playbooks to `alluxio_fuse.chart`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse.chart import values
from alluxio_fuse.doors import plain

DOCUMENTATION = """
name: chart
short_description: values of the Helm chart from a plan
description:
  - C(chart_values) gives the values of C(charts/alluxio-fuse) for a plan of platform C(kubernetes).
  - Its parameter O(secrets) names, by dataset, the Secret that holds C(access_key) and C(secret_key).
"""


def chart_values(plan: Any, secrets: Any = None) -> dict[str, Any]:
    """The chart's values; Ansible hands filters lazy containers, the package gets plain ones."""
    return values.chart_values(*plain([plan, secrets or {}]))


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Its name in playbooks is `alluxio.fuse.chart_values`."""
        return {"chart_values": chart_values}

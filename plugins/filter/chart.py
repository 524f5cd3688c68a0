"""Doors from playbooks to `alluxio_fuse.chart` and `alluxio_fuse.kubernetes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse import doors
from alluxio_fuse.chart import values
from alluxio_fuse.kubernetes import consumers, objects, pods, policy

DOCUMENTATION = """
name: chart
short_description: values of the Helm chart and objects beside it, from a plan
description:
  - C(chart_values) gives the values of C(charts/alluxio-fuse) for a plan of platform C(kubernetes).
  - The others are the functions of the same names in C(alluxio_fuse.kubernetes), documented there.
"""


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {
            **doors.filters(values, "chart_values"),
            **doors.filters(pods, "endpoints", "read_through", "taken"),
            **doors.filters(objects, "namespace", "secrets", "secret_names", "trust", "access_pod"),
            **doors.filters(objects, "password_name", "rpc_password"),
            **doors.filters(objects, "label_patch", "left_labelled"),
            **doors.filters(objects, "alluxio_command", "without_image", "addresses"),
            **doors.filters(policy, "probe_policy", "probe_server", "probe_client", "policy_verdict"),
            **doors.filters(consumers, "reader_files", "consumer_pods", "consumer_lines"),
        }

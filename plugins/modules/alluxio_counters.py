#!/usr/bin/python
"""Reads how full Alluxio's caches are."""

from __future__ import annotations

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import counters

DOCUMENTATION = r"""
module: alluxio_counters
short_description: Says how many bytes the client cache and the workers hold
description:
  - Asks the web ports of Alluxio's processes, which costs milliseconds where its command line costs seconds.
author: [alluxio-fuse]
options:
  metrics:
    description: Addresses (C(host:port)) of the web ports of C(fuse), C(worker) and C(master), each a list.
    type: dict
    required: true
  settled:
    description:
      - Whether to wait until C(worker_used) stays the same between two looks, which are further apart than the reports
        of workers. The module fails where that takes longer than half a minute, or the master does not answer.
    type: bool
    default: false
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Read the residency
  alluxio.fuse.alluxio_counters:
    metrics: {fuse: ["127.0.0.1:49999"], master: ["127.0.0.1:19999"]}

- name: Read what workers hold after a load
  alluxio.fuse.alluxio_counters:
    metrics: {master: ["127.0.0.1:19999"]}
    settled: true
"""

RETURN = r"""
levels:
  description:
    - C(client_cache_used), C(worker_used) and C(worker_capacity) in bytes, null when C(unreachable), a list of reasons.
  type: dict
  returned: always
"""

LOOKS, APART_S = 15, 2  # workers report to the master every second


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "metrics": {"type": "dict", "required": True},
            "settled": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    metrics = module.params["metrics"]
    try:
        levels = settled(metrics) if module.params["settled"] else counters.snapshot(metrics, counters.LEVELS)
    except TimeoutError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, levels=levels)


def settled(metrics: dict[str, list[str]]) -> dict[str, Any]:
    """The levels once workers hold the same twice; TimeoutError where they do not, or nothing is known of it."""
    before = counters.snapshot(metrics, counters.LEVELS)
    for _ in range(LOOKS):
        time.sleep(APART_S)
        levels = counters.snapshot(metrics, counters.LEVELS)
        if levels["worker_used"] is not None and levels["worker_used"] == before["worker_used"]:
            return levels
        before = levels
    why = "; ".join(before["unreachable"]) or f"now it is {before['worker_used']}"
    raise TimeoutError(f"what workers hold did not stay the same for {APART_S} s: {why}")


if __name__ == "__main__":
    main()

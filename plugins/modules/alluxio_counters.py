#!/usr/bin/python
"""Reads how full Alluxio's caches are."""

from __future__ import annotations

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
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Read the residency
  alluxio.fuse.alluxio_counters:
    metrics: {fuse: ["127.0.0.1:49999"], master: ["127.0.0.1:19999"]}
"""

RETURN = r"""
levels:
  description:
    - C(client_cache_used), C(worker_used) and C(worker_capacity) in bytes, null when C(unreachable), a list of reasons.
  type: dict
  returned: always
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(argument_spec={"metrics": {"type": "dict", "required": True}}, supports_check_mode=True)
    module.exit_json(changed=False, levels=counters.snapshot(module.params["metrics"], counters.LEVELS))


if __name__ == "__main__":
    main()

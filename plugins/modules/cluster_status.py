#!/usr/bin/python
"""Asks masters and workers how they are."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import cluster_status

DOCUMENTATION = r"""
module: cluster_status
short_description: Asks Alluxio's masters and workers how they are
description:
  - One HTTP request or two to each, all at once and with a limit of seconds.
  - Alluxio's command line would start a JVM for each question.
author: [alluxio-fuse]
options:
  masters:
    description: Web ports of the masters, C(host:port).
    type: list
    elements: str
    required: true
  workers:
    description: Web ports of the workers.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Ask them
  alluxio.fuse.cluster_status:
    masters: ["127.0.0.1:19999"]
    workers: ["127.0.0.1:30000"]
"""

RETURN = r"""
masters:
  description:
    - By address, C(version), live C(workers), C(lost) ones, C(capacity) and C(used) in bytes, mounted C(paths).
    - C(why) it did not answer.
  type: dict
  returned: always
workers:
  description:
    - By address, C(version) and C(failures) (by under store, calls to it that failed since the worker's start).
    - C(why) it did not answer.
  type: dict
  returned: always
"""


def main() -> None:
    """Entry point of the module."""
    spec = {name: {"type": "list", "elements": "str", "required": True} for name in ("masters", "workers")}
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    module.exit_json(changed=False, **cluster_status.ask(**module.params))


if __name__ == "__main__":
    main()

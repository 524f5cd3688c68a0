#!/usr/bin/python
"""What a node's resolver says of the fleet's other nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_names
short_description: What a node's resolver says of the fleet's other nodes
description:
  - Asks for each node's address by its name, and for its name by its address, all at once and within some seconds.
options:
  peers:
    description: The nodes.
    type: list
    elements: dict
    required: true
    suboptions:
      name: {type: str, required: true, description: What the node calls itself.}
      address: {type: str, required: true, description: Where the others reach it.}
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Look the others up
  alluxio.fuse.fleet_names:
    peers: [{name: gpu-2, address: 10.0.0.2}]
  register: names
"""

RETURN = r"""
names:
  description: >-
    Each peer with forward (addresses of its name) and reverse (names of its address); an empty list where nobody knows
    it, nothing where no answer came in time.
  returned: success
  type: list
  elements: dict
"""

import json
import os
import sys

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import names

PEER = {"name": {"type": "str", "required": True}, "address": {"type": "str", "required": True}}


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={"peers": {"type": "list", "elements": "dict", "required": True, "options": PEER}},
        supports_check_mode=True,
    )
    print(json.dumps({"changed": False, "names": names.look_up(module.params["peers"])}))
    sys.stdout.flush()
    os._exit(0)  # a resolver that does not answer must not hold the run up


if __name__ == "__main__":
    main()

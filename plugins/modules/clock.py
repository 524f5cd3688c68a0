#!/usr/bin/python
"""What a node's clock says."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clock
short_description: How far a node's clock is from the controller's
description:
  - Reads the node's clock. The controller's own is read before and after, so what is returned is certain, however slow
    the connection is.
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Compare the clocks
  alluxio.fuse.clock:
  register: clock
"""

RETURN = r"""
now:
  description: Epoch seconds on the node.
  returned: success
  type: float
skew:
  description: Seconds that the node is at least ahead of the controller (negative - behind it); 0 if that is possible.
  returned: success
  type: float
"""

import time

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    """Run as a module."""
    AnsibleModule(argument_spec={}, supports_check_mode=True).exit_json(changed=False, now=time.time())


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Read-ahead of the disks below cache folders."""

from __future__ import annotations

DOCUMENTATION = r"""
module: read_ahead_state
short_description: Read-ahead of the disks below cache folders
description:
  - Finds the disks that hold some folders, by the mount table, and what their read-ahead is; changes nothing.
options:
  paths:
    description: The folders, existing or not.
    type: list
    elements: path
    required: true
author:
  - alluxio-fuse
"""

EXAMPLES = r"""
- name: Find the disks of the caches
  alluxio.fuse.read_ahead_state:
    paths: [/data/nvme0/alluxio-fuse/tier]
  register: disks
"""

RETURN = r"""
settings:
  description: Each disk's setting, as path, before (KiB) and rule (uuid and attribute for a udev rule, or nothing).
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import mounts, readahead


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={"paths": {"type": "list", "elements": "path", "required": True}},
        supports_check_mode=True,
    )
    settings = readahead.read_ahead_settings(module.params["paths"], mounts.read_mounts())
    module.exit_json(changed=False, settings=settings)


if __name__ == "__main__":
    main()

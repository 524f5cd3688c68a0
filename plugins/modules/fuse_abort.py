#!/usr/bin/python
"""Ends the connection of one FUSE mount."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import fuse_connection, mount_table, users

DOCUMENTATION = r"""
module: fuse_abort
short_description: Ends the kernel's connection of one FUSE mount, so that what hangs on it goes on
description:
  - Processes that wait for the mount get C(ENOTCONN), as do those that read from it until it is mounted again.
  - Touches no file of the mount. Refuses a mount that is not Alluxio's.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Says who would be let go.
options:
  mount_point:
    description: Where it is mounted.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Let go of what hangs
  alluxio.fuse.fuse_abort:
    mount_point: /mnt/alluxio-fuse/imagenet/data
"""

RETURN = r"""
readers:
  description: Processes that had files of the mount open.
  type: list
  elements: str
  returned: always
waiting:
  description: Requests that waited in the kernel.
  type: int
  returned: always
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(argument_spec={"mount_point": {"type": "path", "required": True}}, supports_check_mode=True)
    try:
        device = fuse_connection.device_of(module.params["mount_point"])
    except ValueError as refused:
        module.fail_json(msg=str(refused))
    with fuse_connection.control() as connections:
        waiting = fuse_connection.waiting(device, connections)
        mount = mount_table.mount_at(mount_table.read_mounts(), module.params["mount_point"])
        readers = users.readers_of(mount) if mount else []
        if waiting is not None and not module.check_mode:
            fuse_connection.abort(device, connections)
    module.exit_json(changed=waiting is not None, readers=readers, waiting=waiting or 0)


if __name__ == "__main__":
    main()

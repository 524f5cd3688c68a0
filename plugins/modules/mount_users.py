#!/usr/bin/python
"""Says who would be disturbed by reading from a mount."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import gpu, mount_table, users

DOCUMENTATION = r"""
module: mount_users
short_description: Says who would be disturbed by reading from a mount
description:
  - Lists processes with files of the mount open or mapped, in containers too, and GPUs that compute; changes nothing.
  - It looks for two seconds, as a reader may open a file only now and then.
  - Touches no file of the mount, so a dead one does not hang it.
author: [alluxio-fuse]
options:
  path:
    description: The mount point, or a folder above FUSE mounts.
    type: path
    required: true
  known:
    description: Who else uses it, as something else than the node tells; they come first in the answer.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: List the readers of a mount
  alluxio.fuse.mount_users:
    path: /mnt/alluxio-fuse/imagenet/data
"""

RETURN = r"""
users:
  description: Names with process numbers, and GPUs with their utilisation.
  type: list
  elements: str
  returned: always
readers:
  description: Those of them that are known to read; a GPU at work may do without the mount.
  type: list
  elements: str
  returned: always
"""

LOOK_S = 2.0


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "known": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    found = users.readers_at(module.params["path"], mount_table.read_mounts(), LOOK_S)
    readers = [*module.params["known"], *found]
    module.exit_json(changed=False, users=[*readers, *gpu.busy_gpus()], readers=readers)


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""The bound of a mounted tmpfs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tmpfs_size
short_description: The bound of a mounted tmpfs
description:
  - Remounts a tmpfs with another size; its files stay. M(ansible.posix.mount) would unmount it where a remount fails.
  - Does nothing where no tmpfs is mounted.
options:
  path:
    description: The mount point.
    type: path
    required: true
  size:
    description: Bytes it may hold.
    type: int
    required: true
author:
  - alluxio-fuse
"""

EXAMPLES = r"""
- name: Give the memory tier 2 GiB
  alluxio.fuse.tmpfs_size:
    path: /var/lib/alluxio-fuse/tier/memory
    size: 2147483648
"""

RETURN = r""" # """

import subprocess

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import media, mounts


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={"path": {"type": "path", "required": True}, "size": {"type": "int", "required": True}},
        supports_check_mode=True,
    )
    path, size = module.params["path"], module.params["size"]
    mount = mounts.mount_at(mounts.read_mounts(), path)
    changed = bool(mount and mount["type"] == "tmpfs") and media.tmpfs_size(path) != media.whole_pages(size)
    if changed and not module.check_mode:
        try:
            media.resize_tmpfs(path, size)
        except subprocess.CalledProcessError as error:
            module.fail_json(msg=f"{path} keeps its size: {error.stderr.strip()}")
    module.exit_json(changed=changed)


if __name__ == "__main__":
    main()

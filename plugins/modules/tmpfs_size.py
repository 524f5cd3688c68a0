#!/usr/bin/python
"""The bound of a mounted tmpfs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tmpfs_size
short_description: The bound of a mounted tmpfs
description:
  - Remounts a tmpfs with another size; its files stay. M(ansible.posix.mount) would unmount it where a remount fails.
  - Leaves one as it is that holds more than O(size), and tells so.
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
  patience:
    description: Seconds to wait for what it holds to become no more than O(size); check mode takes it as coming true.
    type: int
    default: 0
attributes:
  check_mode:
    support: full
    description: Says what would change.
author: [alluxio-fuse]
"""

EXAMPLES = r"""
- name: Give the memory tier 2 GiB
  alluxio.fuse.tmpfs_size:
    path: /var/lib/alluxio-fuse/tier/memory
    size: 2147483648
"""

RETURN = r"""
full:
  description: Bytes that it holds, where these are more than O(size).
  returned: when it keeps its size for that
  type: int
"""

import subprocess
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import media, mount_table


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "size": {"type": "int", "required": True},
            "patience": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    path, size, patience = (module.params[key] for key in ("path", "size", "patience"))
    mount = mount_table.mount_at(mount_table.read_mounts(), path)
    changed = bool(mount and mount["type"] == "tmpfs") and media.tmpfs_size(path) != media.whole_pages(size)
    if changed and not (module.check_mode and patience) and (used := _lasting(path, size, patience)):
        module.exit_json(changed=False, full=used)
    if changed and not module.check_mode:
        try:
            media.resize_tmpfs(path, size)
        except subprocess.CalledProcessError as error:
            module.fail_json(msg=f"{path} keeps its size: {error.stderr.strip()}")
    module.exit_json(changed=changed)


def _lasting(path: str, size: int, patience: float) -> int:
    """Bytes that the tmpfs holds while these are more than `size`, looked at until they are not, else for a while."""
    deadline = time.monotonic() + patience
    while (used := media.tmpfs_used(path)) > size:
        if time.monotonic() > deadline:
            return used
        time.sleep(0.5)
    return 0


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""The kernel's side of a FUSE mount, now."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import fuse_connection

DOCUMENTATION = r"""
module: mount_settings
short_description: Read-ahead and requests in flight of a FUSE mount, now
description:
  - Sets what the kernel keeps for a mount of Alluxio's. It is gone with the mount; whoever mounts again sets it again.
  - Touches no file of the mount. Files that are open keep the read-ahead that they were opened with.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Says what differs; what is not mounted yet differs.
options:
  mount_point:
    description: Where it is mounted.
    type: path
    required: true
  settings:
    description: Any of C(read_ahead_kb) (KiB), C(max_background) and C(congestion_threshold) (requests).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Read ahead 1 MiB
  alluxio.fuse.mount_settings:
    mount_point: /mnt/alluxio-fuse/imagenet/data
    settings: {read_ahead_kb: 1024}
"""

RETURN = r"""
before:
  description: What each setting was.
  type: dict
  returned: success
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "mount_point": {"type": "path", "required": True},
            "settings": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    point, wanted = module.params["mount_point"], {key: int(n) for key, n in module.params["settings"].items()}
    try:
        device = fuse_connection.device_of(point)
        with fuse_connection.control() as connections:
            found = fuse_connection.read_settings(device, connections)
            before = {key: found[key] for key in wanted}
            if before != wanted and not module.check_mode:
                fuse_connection.write_settings(device, wanted, connections)
    except (OSError, ValueError) as error:
        if module.check_mode:
            module.exit_json(changed=True, before={})
        module.fail_json(msg=str(error))
    diff = {"before": module.jsonify(before), "after": module.jsonify(wanted), "before_header": f"settings of {point}"}
    module.exit_json(changed=before != wanted, before=before, diff=diff)


if __name__ == "__main__":
    main()

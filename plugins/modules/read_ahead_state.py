#!/usr/bin/python
"""Read-ahead of the disks that caches live on."""

from __future__ import annotations

DOCUMENTATION = r"""
module: read_ahead_state
short_description: Read-ahead of the disks that caches live on
description:
  - Finds the disks of cache media, and what their read-ahead is; changes nothing.
  - A tmpfs has no disk, and the disk of the root filesystem serves more than caches; both are left out.
options:
  name:
    description: Name of the deployment.
    type: str
    default: alluxio-fuse
  media:
    description: The media, as in the input of role cache_media; C(kind), C(path) and C(device) are read.
    type: list
    elements: dict
    required: true
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Find the disks of the caches
  alluxio.fuse.read_ahead_state:
    media:
      - {kind: directory, path: /data/nvme0/alluxio-fuse/tier}
  register: disks
"""

RETURN = r"""
settings:
  description: Each disk's setting, as path, before (KiB), rule (uuid and attribute for udev, or nothing) and writable.
  returned: success
  type: list
  elements: dict
systemd:
  description: Whether systemd is PID 1, so that what holds at boot is read.
  returned: success
  type: bool
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table, readahead, system


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": "alluxio-fuse"},
            "media": {"type": "list", "elements": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    about = system.read_system()
    machine = system.machine_id() or about["hostname"]
    settings = readahead.read_ahead_settings(
        module.params["media"], mount_table.read_mounts(), module.params["name"], machine
    )
    module.exit_json(changed=False, settings=settings, systemd=about["service_manager"] == "systemd")


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""A filesystem of this deployment on a cache device."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cache_filesystem
short_description: A filesystem of this deployment on a cache device
description:
  - Makes a filesystem with a given UUID on an empty device. What is on the device is looked at again right before.
  - With O(state=absent) takes away that filesystem and none other, so that the device is empty as before.
options:
  device:
    description: The device.
    type: path
    required: true
  uuid:
    description: UUID of the filesystem, which tells ours from others.
    type: str
    required: true
  filesystem:
    description: Its type.
    type: str
    choices: [xfs, ext4]
    default: xfs
  wipe:
    description: Whether other signatures on this device may be destroyed.
    type: bool
    default: false
  state:
    description: V(present), or V(absent).
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode:
    support: full
    description: Says what would change.
author: [alluxio-fuse]
"""

EXAMPLES = r"""
- name: Make the filesystem of the NVMe tier
  alluxio.fuse.cache_filesystem:
    device: /dev/disk/by-id/nvme-MODEL_SERIAL
    uuid: 0f5d8b9e-6f35-5b7a-9d0c-1f0e7c0c5a11
"""

RETURN = r"""
changed:
  description: Whether the filesystem was made, or wiped; in check mode whether it would be.
  type: bool
  returned: success
"""

import subprocess

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import media


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "device": {"type": "path", "required": True},
            "uuid": {"type": "str", "required": True},
            "filesystem": {"type": "str", "choices": ["xfs", "ext4"], "default": "xfs"},
            "wipe": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    device, uuid, wanted = module.params["device"], module.params["uuid"], module.params["state"] == "present"
    state = media.device_state(device)
    ours = state["uuid"] == uuid
    if ours == wanted:
        module.exit_json(changed=False)
    findings = media.device_findings({"name": device, **module.params}, state) if wanted else []
    if findings or not state["block"]:
        reasons = "; ".join(finding["reason"] for finding in findings) or "it is no block device"
        module.fail_json(msg=f"{device} is left as it is: {reasons}")
    if not module.check_mode:
        try:
            if wanted:
                media.make_filesystem(device, module.params["filesystem"], uuid)
            else:
                media.wipe_signatures(device)
        except subprocess.CalledProcessError as error:
            module.fail_json(msg=f"{device}: {error.stderr.strip()}")
    module.exit_json(changed=True)


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Makes a folder a shared mount, so that a mount made below it in a container is seen on the host."""

from __future__ import annotations

import subprocess

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table

DOCUMENTATION = r"""
module: shared_mount
short_description: make a folder a shared mount
description:
  - Bind-mounts a folder on itself and makes it shared, which a host needs where C(/) is not a shared mount.
  - Undone with O(state=absent), which also takes away what a dead FUSE daemon left mounted below, and fails while a
    live mount is there.
options:
  path: {description: The folder., type: path, required: true}
  state: {description: Wanted state., type: str, choices: [present, absent], default: present}
attributes:
  check_mode:
    support: full
    description: Says what would change.
author: [alluxio-fuse]
"""

EXAMPLES = r"""
- name: Let FUSE mounts below this folder be seen
  alluxio.fuse.shared_mount:
    path: /mnt/alluxio-fuse/imagenet
"""

RETURN = r"""
commands: {description: what was run, or in check mode would be, type: list, returned: always}
"""


def present(path: str, table: list[mount_table.Mount]) -> list[list[str]]:
    """Commands that make the folder a shared mount."""
    mount = mount_table.mount_at(table, path)
    bind = [] if mount else [["mount", "--bind", path, path]]
    return bind if mount and mount["shared"] else [*bind, ["mount", "--make-rshared", path]]


def absent(path: str, table: list[mount_table.Mount], check: bool) -> list[list[str]]:
    """Commands that undo it; a ValueError names a mount that is still served, which in check mode is about to go."""
    below = [mount["point"] for mount in table if mount["point"].startswith(path.rstrip("/") + "/")]
    alive = [point for point in below if mount_table.mount_point_state(table, point)["state"] != "stale"]
    if alive and not check:
        raise ValueError(f"{alive[0]} is still mounted: stop what serves it first")
    own = [["umount", path]] if mount_table.mount_at(table, path) else []
    return [*(["umount", "--lazy", point] for point in below if point not in alive), *own]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    path, table = module.params["path"], mount_table.read_mounts()
    try:
        made = module.params["state"] == "present"
        commands = present(path, table) if made else absent(path, table, module.check_mode)
    except ValueError as error:
        module.fail_json(msg=str(error))
    for command in [] if module.check_mode else commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            module.fail_json(msg=f"{' '.join(command)}: {done.stderr.strip()}")
    module.exit_json(changed=bool(commands), commands=commands)


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""The place on a host at which a dataset becomes visible."""

from __future__ import annotations

import subprocess
from typing import Any, Dict, List

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import folders, mounts

DOCUMENTATION = r"""
module: mount_point
short_description: the place on a host at which a dataset becomes visible
description:
  - Makes the parent folder, which readers mount or enter, and below it the mount point, which is empty and unwritable while
    nothing is mounted, so that a reader that comes too early fails instead of writing to the root disk.
  - Where C(/) is not a shared mount the parent becomes one, so that a mount made in a container is seen on the host.
  - What is mounted at the mount point is never looked into, so a dead mount cannot hang this module.
options:
  point: {description: The mount point., type: path, required: true}
  parent: {description: Its parent folder., type: path, required: true}
  uid: {description: Owner of the parent., type: int, default: 0}
  gid: {description: Group of the parent., type: int, default: 0}
  mode: {description: Mode of the parent., type: str, default: "0755"}
  shared_root: {description: Whether C(/) is a shared mount., type: bool, default: true}
  state:
    description:
      - V(absent) takes away a dead mount, our shared mount and both folders; it fails when a live mount or files are there.
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode: {support: full}
author: alluxio-fuse
"""

EXAMPLES = r"""
- name: Make the mount point
  alluxio.fuse.mount_point:
    point: /mnt/alluxio-fuse/imagenet/data
    parent: /mnt/alluxio-fuse/imagenet
    shared_root: false
"""

RETURN = r"""
actions: {description: what was done, or in check mode would be, type: list, returned: always}
"""


class MountPoint:
    """What is there, and the steps that lead from it to what is wanted."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.options: Dict[str, Any] = module.params
        self.check = module.check_mode
        self.actions: List[str] = []
        self.table = mounts.read_mounts()

    def run(self) -> None:
        """Take the steps."""
        if self.options["state"] == "present":
            self.present()
        else:
            self.absent()
        self.module.exit_json(changed=bool(self.actions), actions=self.actions)

    def present(self) -> None:
        point, parent = self.options["point"], self.options["parent"]
        owner = (self.options["uid"], self.options["gid"], int(self.options["mode"], 8))
        self.did(folders.ensure(parent, *owner, self.check), f"folder {parent}")
        if mounts.mount_at(self.table, point) is None:
            made = folders.ensure(point, 0, 0, 0o555, self.check)
            sealed = not self.check and not folders.immutable(point) and folders.set_immutable(point, True)
            self.did(made or sealed, f"mount point {point}, unwritable while nothing is mounted")
        if not self.options["shared_root"] and mounts.mount_at(self.table, parent) is None:
            self.did(True, f"shared mount {parent}")
            self.mount("--bind", parent, parent)
            self.mount("--make-rshared", parent)

    def absent(self) -> None:
        point, parent = self.options["point"], self.options["parent"]
        state = mounts.mount_point_state(self.table, point)["state"]
        if state in ("mounted", "hung"):
            self.module.fail_json(msg=f"{point} is still mounted: stop its FUSE container first")
        if state == "stale":
            self.did(True, f"unmounted {point}, whose daemon is gone")
            self.umount("--lazy", point)
        if mounts.mount_at(self.table, parent):
            self.did(True, f"unmounted {parent}")
            self.umount(parent)
        for folder in (point, parent):
            self.did(folders.remove_empty(folder, self.check), f"removed {folder}")

    def did(self, done: bool, what: str) -> None:
        if done:
            self.actions.append(what)

    def mount(self, *arguments: str) -> None:
        self.call("mount", *arguments)

    def umount(self, *arguments: str) -> None:
        self.call("umount", *arguments)

    def call(self, *command: str) -> None:
        if self.check:
            return
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.module.fail_json(msg=f"{' '.join(command)}: {done.stderr.strip()}")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "point": {"type": "path", "required": True},
            "parent": {"type": "path", "required": True},
            "uid": {"type": "int", "default": 0},
            "gid": {"type": "int", "default": 0},
            "mode": {"type": "str", "default": "0755"},
            "shared_root": {"type": "bool", "default": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    MountPoint(module).run()


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""A folder of this deployment."""

from __future__ import annotations

DOCUMENTATION = r"""
module: folder
short_description: A folder of this deployment
description:
  - With O(guard=true) makes the folder that a medium is mounted on, which nobody can write to while the medium is not
    mounted (root's, mode 0000, immutable where the filesystem knows that), so that no cache fills the disk below.
    While something is mounted there the folder below is out of reach and is left alone.
  - Takes a folder away without ever crossing into a mount, which C(file) with C(state=absent) would empty.
options:
  path:
    description: The folder.
    type: path
    required: true
  state:
    description: V(present), or V(absent).
    type: str
    choices: [present, absent]
    default: present
  guard:
    description: Whether the folder only waits for a mount.
    type: bool
    default: false
  owner:
    description: Owning uid, and gid. Not used with O(guard=true).
    type: int
    default: 0
  mode:
    description: Mode in octal. V(0755) when not given; with O(guard=true) V(0000).
    type: str
  contents:
    description: With O(state=absent), whether what is in the folder goes too; else a folder that is not empty stays.
    type: bool
    default: false
  before:
    description: With O(state=absent), C(uid), C(gid) and C(mode) of a folder that was there before; it stays, empty.
    type: dict
author:
  - alluxio-fuse
"""

EXAMPLES = r"""
- name: Make the folder that the memory tier is mounted on
  alluxio.fuse.folder:
    path: /var/lib/alluxio-fuse/tier/memory
    guard: true
"""

RETURN = r"""
immutable:
  description: Whether the folder is immutable; V(false) where its filesystem does not know that.
  returned: success
  type: bool
"""

import shutil
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import immutable, mounts


def present(parameters: dict[str, Any], check: bool) -> dict[str, Any]:
    """Make the folder, or bring owner, mode and flag in line."""
    path, guard = Path(parameters["path"]), parameters["guard"]
    if mounts.mount_at(mounts.read_mounts(), str(path)) and guard:
        return {"changed": False, "immutable": False}
    owner = 0 if guard else parameters["owner"]
    mode = int(parameters["mode"] or ("0000" if guard else "0755"), 8)
    exists = path.is_dir()
    if exists:
        about = path.stat()
        right = (about.st_uid, about.st_gid, about.st_mode & 0o7777) == (owner, owner, mode)
        flag = immutable.get(path)
        if right and flag in (None, guard):
            return {"changed": False, "immutable": bool(flag)}
    if check:
        return {"changed": True, "immutable": guard}
    if exists:
        immutable.set_flag(path, False)
    else:
        path.mkdir(parents=True)
    shutil.chown(path, owner, owner)
    path.chmod(mode)
    return {"changed": True, "immutable": immutable.set_flag(path, True) if guard else False}


def absent(parameters: dict[str, Any], check: bool) -> dict[str, Any]:
    """Take the folder away; a ValueError says which mount is in the way."""
    path, before = Path(parameters["path"]), parameters["before"]
    points = [mount["point"] for mount in mounts.read_mounts()]
    inside = [point for point in points if point == str(path) or point.startswith(f"{path}/")]
    if inside and not check:
        raise ValueError(f"{inside[0]} is still mounted, so {path} stays: unmount it first")
    stays = not path.is_dir() or (not parameters["contents"] and any(path.iterdir()))
    if not stays and not check:
        immutable.set_flag(path, False)
        shutil.rmtree(path)
        if before:
            path.mkdir()
            shutil.chown(path, before["uid"], before["gid"])
            path.chmod(int(before["mode"], 8))
    return {"changed": not stays, "immutable": False}


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "guard": {"type": "bool", "default": False},
            "owner": {"type": "int", "default": 0},
            "mode": {"type": "str"},
            "contents": {"type": "bool", "default": False},
            "before": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    act = present if module.params["state"] == "present" else absent
    try:
        module.exit_json(**act(module.params, module.check_mode))
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()

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
  - Follows no symbolic link that a user other than root could have put there. With O(guard=true) the folder above must
    be root's, with no right for others to write, and the folder itself no link.
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
    description:
      - With O(state=absent), C(uid), C(gid) and C(mode) of a folder that was there before. It stays and gets them back.
    type: dict
attributes:
  check_mode:
    support: full
    description: Says what would change.
author: [alluxio-fuse]
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

import os
import stat
from pathlib import PurePosixPath
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import immutable, mount_table, steps


def present(parameters: dict[str, Any], check: bool) -> dict[str, Any]:
    """Make the folder, or bring owner, mode and flag in line."""
    path, guard = str(PurePosixPath(parameters["path"])), parameters["guard"]
    if guard and mount_table.mount_at(mount_table.read_mounts(), path):
        return {"changed": False, "immutable": False}
    owner = 0 if guard else parameters["owner"]
    mode = int(parameters["mode"] or ("0000" if guard else "0755"), 8)
    try:
        handle = guarded(path) if guard else steps.folder(path)
    except FileNotFoundError:
        if check:
            return {"changed": True, "immutable": guard}
        handle = guarded(path, make=True) if guard else steps.folder(path, make=True)
        made = True
    else:
        made = False
    try:
        about = os.fstat(handle)
        right = (about.st_uid, about.st_gid, stat.S_IMODE(about.st_mode)) == (owner, owner, mode)
        flag = immutable.get(handle)
        if right and flag in (None, guard):
            return {"changed": made, "immutable": bool(flag)}
        if check:
            return {"changed": True, "immutable": guard}
        immutable.set_flag(handle, False)
        os.fchown(handle, owner, owner)
        os.fchmod(handle, mode)
        return {"changed": True, "immutable": immutable.set_flag(handle, True) if guard else False}
    finally:
        os.close(handle)


def guarded(path: str, make: bool = False) -> int:
    """A handle on a folder that is to be mounted on. A ValueError says how another user could put a link there."""
    parent, name = steps.above(path, make)
    try:
        if not steps.roots(parent):
            about = os.fstat(parent)
            raise ValueError(
                f"{PurePosixPath(path).parent} belongs to {about.st_uid}:{about.st_gid} with mode"
                f" {stat.S_IMODE(about.st_mode):04o}, so others than root can replace {name}, which is to be"
                " mounted on: give it to root, with a mode that lets its group and others read only"
            )
        found = steps.kind(name, parent)
        if found == "link":
            raise ValueError(steps.said_of_link(path))
        if found is None and make:
            os.mkdir(name, 0o700, dir_fd=parent)
        return os.open(name, steps.OPEN, dir_fd=parent)
    finally:
        os.close(parent)


def absent(parameters: dict[str, Any], check: bool) -> dict[str, Any]:
    """Take the folder away; a ValueError says which mount is in the way."""
    path = str(PurePosixPath(parameters["path"]))
    points = [mount["point"] for mount in mount_table.read_mounts()]
    inside = [point for point in points if point == path or point.startswith(f"{path}/")]
    if inside and check:  # what serves it would be stopped before
        return {"changed": True, "immutable": False}
    if inside:
        raise ValueError(f"{inside[0]} is still mounted, so {path} stays: unmount it first")
    try:
        parent, name = steps.above(path)
    except (FileNotFoundError, NotADirectoryError):
        return {"changed": False, "immutable": False}
    try:
        return {"changed": remove(parent, name, parameters, check), "immutable": False}
    finally:
        os.close(parent)


def remove(parent: int, name: str, parameters: dict[str, Any], check: bool) -> bool:
    """Whether the folder of that name is taken away, or emptied where it was there before."""
    before, contents = parameters["before"], parameters["contents"]
    found = steps.kind(name, parent)
    if found not in ("folder", "link"):
        return False
    if found == "link" and not before:
        raise ValueError(f"{parameters['path']} is a symbolic link, which this deployment did not make: take it away")
    handle = steps.folder(parameters["path"]) if before else os.open(name, steps.OPEN, dir_fd=parent)
    try:
        with os.scandir(handle) as entries:
            full = next(entries, None) is not None
        if before:
            return bring_back(handle, before, full and contents, check)
        if full and not contents:
            return False
        if not check:
            immutable.set_flag(handle, False)
            steps.empty(handle)
            os.rmdir(name, dir_fd=parent)
        return True
    finally:
        os.close(handle)


def bring_back(handle: int, before: dict[str, Any], clear: bool, check: bool) -> bool:
    """Whether a folder that was there before changes: what was made in it goes, owner and mode are those of before."""
    about = os.fstat(handle)
    wanted = (int(before["uid"]), int(before["gid"]), int(before["mode"], 8))
    same = (about.st_uid, about.st_gid, stat.S_IMODE(about.st_mode)) == wanted and not immutable.get(handle)
    if not check and (clear or not same):
        immutable.set_flag(handle, False)
        if clear:
            steps.empty(handle)
        os.fchown(handle, wanted[0], wanted[1])
        os.fchmod(handle, wanted[2])
    return clear or not same


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

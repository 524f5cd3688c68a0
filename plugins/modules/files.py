#!/usr/bin/python
"""Small files and folders of this deployment, all of a node in one run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: files
short_description: Small files and folders of this deployment, all of a node in one run
description:
  - What C(file) with C(state=directory) and C(copy) with C(content) do, item by item in the order given. A run of a
    module costs half a second on a small machine, and a node has a dozen of them.
  - Contents are never shown, as keys may be in them.
  - No symbolic link is followed that a user other than root could have put there.
options:
  items:
    description: The files and folders.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: Where it is. The folder of a file must be there, or stand before it in the list.
        type: path
        required: true
      content:
        description: Text of a file; an item without one is a folder.
        type: str
      uid:
        description: Owning uid.
        type: int
        default: 0
      gid:
        description: Owning gid.
        type: int
        default: 0
      mode:
        description: Mode in octal.
        type: str
        required: true
attributes:
  check_mode:
    support: full
    description: Says what would change.
author: [alluxio-fuse]
"""

EXAMPLES = r"""
- name: Write a site file that only the service can read
  alluxio.fuse.files:
    items:
      - {path: /var/lib/alluxio-fuse/conf/a, mode: "0755"}
      - {path: /var/lib/alluxio-fuse/conf/a/site.properties, content: "a=b\n", uid: 1000, gid: 1000, mode: "0600"}
"""

RETURN = r"""
paths:
  description: What was changed, or would be in check mode.
  returned: success
  type: list
  elements: str
differences:
  description: "The same for a table: C(what), C(now) and C(planned)."
  returned: success
  type: list
  elements: dict
"""

import os
import secrets
import stat
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import steps


def difference(item: dict[str, Any]) -> tuple[str, str] | None:
    """(now, planned) of an item that is not as it should be; a ValueError where something else is in its place."""
    content = item.get("content")
    try:
        about, text = _folder(item) if content is None else _file(item)
    except FileNotFoundError:
        return "nothing", "folder" if content is None else "file"
    if content is not None and text != content.encode():
        return "another content", "the planned one"
    wanted = (item["uid"], item["gid"], int(item["mode"], 8))
    found = (about.st_uid, about.st_gid, stat.S_IMODE(about.st_mode))
    return None if found == wanted else (_owner(found), _owner(wanted))


def write(item: dict[str, Any]) -> None:
    """Make one item as it should be; a file is there whole or not at all, and at no moment with another mode."""
    content = item.get("content")
    if content is None:
        handle = steps.folder(item["path"], make=True)
        try:
            _give(handle, item)
        finally:
            os.close(handle)
        return
    parent, name = steps.above(item["path"])
    part = f".{name}.{secrets.token_hex(8)}"
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=parent), "wb") as stream:
            stream.write(content.encode())
            stream.flush()
            _give(stream.fileno(), item)
        os.replace(part, name, src_dir_fd=parent, dst_dir_fd=parent)
    finally:
        if steps.kind(part, parent):
            os.unlink(part, dir_fd=parent)
        os.close(parent)


def _folder(item: dict[str, Any]) -> tuple[os.stat_result, bytes]:
    try:
        handle = steps.folder(item["path"])
    except NotADirectoryError as error:
        raise ValueError(f"{item['path']} is there and is no folder: move it away") from error
    try:
        return os.fstat(handle), b""
    finally:
        os.close(handle)


def _file(item: dict[str, Any]) -> tuple[os.stat_result, bytes]:
    parent, name = steps.above(item["path"])
    try:
        if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise ValueError(f"{item['path']} is there and is no file: move it away")
        with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=parent), "rb") as stream:
            return os.fstat(stream.fileno()), stream.read()
    finally:
        os.close(parent)


def _give(handle: int, item: dict[str, Any]) -> None:
    os.fchown(handle, item["uid"], item["gid"])
    os.fchmod(handle, int(item["mode"], 8))


def _owner(found: tuple[int, int, int]) -> str:
    return f"{found[0]}:{found[1]} {found[2]:04o}"


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "items": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "path": {"type": "path", "required": True},
                    "content": {"type": "str", "no_log": True},
                    "uid": {"type": "int", "default": 0},
                    "gid": {"type": "int", "default": 0},
                    "mode": {"type": "str", "required": True},
                },
            }
        },
        supports_check_mode=True,
    )
    differences = []
    try:
        for item in module.params["items"]:
            found = difference(item)
            if found is None:
                continue
            differences.append({"what": item["path"], "now": found[0], "planned": found[1]})
            if not module.check_mode:
                write(item)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    lines = "".join(f"{one['what']}: {one['now']} -> {one['planned']}\n" for one in differences)
    paths = [one["what"] for one in differences]
    module.exit_json(changed=bool(paths), paths=paths, differences=differences, diff={"prepared": lines})


if __name__ == "__main__":
    main()

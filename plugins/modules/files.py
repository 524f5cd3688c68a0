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
author:
  - alluxio-fuse
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
import stat
import tempfile
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule


def difference(item: dict[str, Any]) -> tuple[str, str] | None:
    """(now, planned) of an item that is not as it should be; a ValueError where something else is in its place."""
    path, content = Path(item["path"]), item.get("content")
    kind, is_kind = ("folder", stat.S_ISDIR) if content is None else ("file", stat.S_ISREG)
    wanted = (item["uid"], item["gid"], int(item["mode"], 8))
    try:
        about = path.stat()
    except FileNotFoundError:
        return "nothing", kind
    if not is_kind(about.st_mode):
        raise ValueError(f"{path} is there and is no {kind}: move it away")
    if content is not None and path.read_bytes() != content.encode():
        return "another content", "the planned one"
    found = (about.st_uid, about.st_gid, stat.S_IMODE(about.st_mode))
    return None if found == wanted else (_owner(found), _owner(wanted))


def write(item: dict[str, Any]) -> None:
    """Make one item as it should be; a file is there whole or not at all, and at no moment with another mode."""
    path, content = Path(item["path"]), item.get("content")
    if content is None:
        path.mkdir(parents=True, exist_ok=True)
        _give(path, item)
    else:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as stream:
            stream.write(content)
        new = Path(stream.name)
        _give(new, item)
        new.replace(path)


def _give(path: Path, item: dict[str, Any]) -> None:
    os.chown(path, item["uid"], item["gid"])
    path.chmod(int(item["mode"], 8))


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

#!/usr/bin/python
"""Takes away the folders and files that a role made on a node."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Dict, List

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import mounts, ownership

DOCUMENTATION = r"""
module: remove_owned
short_description: take away the folders and files that a role made on a node
description:
  - Removes what the ownership record names with this role, last made first, contents included, and strikes it out.
  - A folder at or below which something is mounted is refused, so that data under a mount is never deleted.
  - The record, once empty, and the folder that held it go with the last item.
options:
  name: {description: Name of the deployment., type: str, required: true}
  state_dir: {description: Where the ownership record lies., type: path, required: true}
  role: {description: The role whose items are meant., type: str, required: true}
attributes:
  check_mode: {support: full}
author: alluxio-fuse
"""

EXAMPLES = r"""
- name: Take away what the role made
  alluxio.fuse.remove_owned:
    name: alluxio-fuse
    state_dir: /var/lib/alluxio-fuse
    role: platform_containers
"""

RETURN = r"""
removed: {description: paths that were there and are gone, type: list, returned: always}
"""


def below(folder: str, path: str) -> bool:
    """Whether `path` is `folder` or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state_dir": {"type": "path", "required": True},
            "role": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    name, state_dir, role = (module.params[key] for key in ("name", "state_dir", "role"))
    try:
        record = ownership.load(state_dir, name)
    except ownership.RecordError as error:
        module.fail_json(msg=str(error))
    mine: List[Dict[str, Any]] = [
        item for item in record["items"] if item["kind"] in ("directory", "file") and item["data"].get("role") == role
    ]
    points = [mount["point"] for mount in mounts.read_mounts()]
    for item in mine:
        over = [point for point in points if below(item["id"], point)]
        if over:
            module.fail_json(msg=f"{item['id']} is not removed: {', '.join(over)} is mounted there; unmount it first")
    removed = [item["id"] for item in reversed(mine) if Path(item["id"]).exists()]
    if not module.check_mode:
        for path in removed:
            take_away(path)
        record = ownership.drop(record, mine)
        ownership.save(state_dir, record)
        folder = Path(state_dir)
        if not record["items"] and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    module.exit_json(changed=bool(removed), removed=removed)


def take_away(path: str) -> None:
    """Remove a file, or a folder with all that is in it."""
    if Path(path).is_dir() and not Path(path).is_symlink():
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)


if __name__ == "__main__":
    main()

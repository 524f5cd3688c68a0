#!/usr/bin/python
"""Says of each FUSE mount whether it serves."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import exports, fuse_connection, mount_status, stages

DOCUMENTATION = r"""
module: mount_status
short_description: Says whether FUSE mounts serve, who reads, and what the client cache holds
description:
  - Reads the kernel's tables and asks the FUSE process over HTTP; a mount whose requests wait is looked at until one
    was answered, for three seconds at most.
  - Where the kernel shows no connection of a mount, as in a pod without rights, a child asks the mount itself for as
    long, so that a hung mount does not hang the module.
author: [alluxio-fuse]
options:
  mounts:
    description:
      - Each with C(name), C(mount_point) and C(address) (C(host:port) of the process's counters, or empty). Of a
        dataset that is staged, also C(path), where it is read, and C(folder) of the copy, empty where there is none;
        of one whose source is an export of NFS, C(export), where that is mounted.
    type: list
    elements: dict
    required: true
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: See what serves
  alluxio.fuse.mount_status:
    mounts:
      - {name: imagenet, mount_point: /mnt/alluxio-fuse/imagenet/data, address: "127.0.0.1:49999"}
"""

RETURN = r"""
mounts:
  description:
    - By name, C(state) (C(serves), C(not mounted), C(foreign), C(dead) or C(hung)), C(why) it does not serve,
      C(type), C(options), C(readers) (processes with files open), C(waiting) (requests in the kernel) and C(cached)
      (bytes in the client cache). Of a dataset that is staged also C(staged), with what its path C(shows) (C(whole) or
      C(part) of the copy, C(source) or C(nothing)), C(files) and C(bytes) of the copy, C(direct) (whether its files
      open with C(O_DIRECT)), C(readers) of the path, C(kept), processes for which a former copy stays, and C(scrub),
      what was found by comparing files. Of an export also C(export), why it cannot be read, or empty.
  type: dict
  returned: always
"""


def _staged(mount: dict[str, str]) -> dict[str, Any]:
    return {"staged": stages.seen(mount["folder"], mount["path"])} if "path" in mount else {}


def _export(mount: dict[str, str]) -> dict[str, Any]:
    return {"export": exports.why_away(mount["export"])} if "export" in mount else {}


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={"mounts": {"type": "list", "elements": "dict", "required": True}}, supports_check_mode=True
    )
    with fuse_connection.control(only_look=True) as connections:
        seen = {
            one["name"]: mount_status.look(one["mount_point"], one["address"], connections)
            | _staged(one)
            | _export(one)
            for one in module.params["mounts"]
        }
    module.exit_json(changed=False, mounts=seen)


if __name__ == "__main__":
    main()

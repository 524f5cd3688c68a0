#!/usr/bin/python
"""A copy of some of a dataset's files on the local disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import copies, reader

DOCUMENTATION = r"""
module: local_copy
short_description: Copies files of a dataset from its mount to the local disk
description:
  - What the mount is compared with where the source is no folder of the node.
  - Copies the first small files of the seeded order, the same that a pass reads.
  - The copies' digests are compared with the manifest, so that the disk is not measured with wrong bytes.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Copies nothing.
options:
  manifest:
    description: Manifest of the dataset.
    type: path
  root:
    description: Where the dataset is mounted.
    type: path
  path:
    description: Folder of the copy; replaced as a whole.
    type: path
    required: true
  files:
    description: How many small files to copy.
    type: int
    default: 0
  state:
    description: V(absent) removes the folder.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Copy a thousand files
  alluxio.fuse.local_copy:
    manifest: /var/lib/alluxio-fuse/manifests/imagenet.jsonl
    root: /mnt/alluxio-fuse/imagenet/data
    path: /var/lib/alluxio-fuse/disk-copy
    files: 1000
"""

RETURN = r"""
bytes:
  description: How much was copied.
  type: int
  returned: when present
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "manifest": {"type": "path"},
            "root": {"type": "path"},
            "path": {"type": "path", "required": True},
            "files": {"type": "int", "default": 0},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ["manifest", "root"])],
        supports_check_mode=True,
    )
    params = module.params
    target = Path(params["path"])
    if params["state"] == "absent" or module.check_mode:
        existed = target.exists()
        if not module.check_mode:
            shutil.rmtree(target, ignore_errors=True)
        module.exit_json(changed=existed)
    header, entries = reader.load(params["manifest"])
    files = reader.select(header, entries, reader.Selection("small", 0, params["files"]))
    try:
        copies.make(params["root"], files, target)
    except OSError as error:
        module.fail_json(msg=f"{params['root']}: {error}")
    wrong = reader.verify(str(target), files, os.cpu_count() or 1)
    if wrong["wrong"]:
        module.fail_json(msg=f"{params['root']}/{wrong['problems'][0]['path']}: {wrong['problems'][0]['what']}")
    module.exit_json(changed=True, bytes=sum(entry.size for entry in files))


if __name__ == "__main__":
    main()

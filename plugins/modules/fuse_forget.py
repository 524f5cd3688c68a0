#!/usr/bin/python
"""Tells a FUSE process to forget the names and sizes that it has seen."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils.mounts import HUNG, in_child

DOCUMENTATION = r"""
module: fuse_forget
short_description: Tells a FUSE process to forget the names and sizes that it has seen
description:
  - By the path that Alluxio reserves for that (C(.alluxiocli.metadatacache.dropAll)).
  - Only where C(alluxio.fuse.special.command.enabled) is true.
  - Names that the kernel has stay until their time is over.
  - With I(note), once for each mount that Alluxio declares; an interrupted run is made up for by the next.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Has nothing forgotten.
options:
  mount_point:
    description: Where it is mounted.
    type: path
    required: true
  declared:
    description: Digest of what is mounted in Alluxio there, as M(alluxio.fuse.namespace_mounts) returns it.
    type: str
  note:
    description: File with the digest that names were forgotten for last; where it is I(declared), nothing is done.
    type: path

EXAMPLES = r"""
- name: Forget what was seen
  alluxio.fuse.fuse_forget:
    mount_point: /mnt/alluxio-fuse/imagenet/data
"""

RETURN = r"""#"""

COMMAND = ".alluxiocli.metadatacache.dropAll"
LIMIT_S = 20.0


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "mount_point": {"type": "path", "required": True},
            "declared": {"type": "str"},
            "note": {"type": "path"},
        },
        required_together=[("declared", "note")],
        supports_check_mode=True,
    )
    point, declared = module.params["mount_point"], module.params["declared"]
    note = Path(module.params["note"]) if declared else None
    if note and note.is_file() and note.read_text(encoding="utf-8") == declared:
        module.exit_json(changed=False)
    if not module.check_mode:
        forget(module, point)
        if note:
            note.write_text(declared, encoding="utf-8")
    module.exit_json(changed=note is not None)


def forget(module: AnsibleModule, point: str) -> None:
    """Ask for the reserved path; the module fails where nobody answers."""
    try:
        said = in_child(lambda: os.lstat(f"{point}/{COMMAND}").st_size, LIMIT_S)
    except OSError as error:
        why = "it knows no such command" if error.errno == errno.ENOENT else error.strerror
        module.fail_json(msg=f"{point}: {why}: is the dataset's freshness declared, and is it mounted as planned?")
    if said == HUNG:
        module.fail_json(msg=f"{point} does not answer within {LIMIT_S:.0f} s: playbooks/status.yml says why")


if __name__ == "__main__":
    main()

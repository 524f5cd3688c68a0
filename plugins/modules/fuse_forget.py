#!/usr/bin/python
"""Tells FUSE processes to forget the names and sizes that they have seen."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import forgetting

DOCUMENTATION = r"""
module: fuse_forget
short_description: Tells FUSE processes to forget the names and sizes that they have seen
description:
  - By the path that Alluxio reserves for that (C(.alluxiocli.metadatacache.dropAll)).
  - Only where C(alluxio.fuse.special.command.enabled) is true.
  - Names that the kernel has stay until their time is over.
  - A mount with I(note) is told once for each way in which Alluxio declares it; an interrupted run is made up for by
    the next. It is told a second time five seconds later, since an answer that was under way may bring the former
    declaration back.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Has nothing forgotten.
options:
  mounts:
    description: What is mounted.
    type: list
    elements: dict
    required: true
    suboptions:
      mount_point: {description: Where it is mounted., type: path, required: true}
      declared:
        description: Digest of what is mounted in Alluxio there, as M(alluxio.fuse.namespace_mounts) returns it.
        type: str
      note:
        description: File with the digest that names were forgotten for last; where it is I(declared), nothing is done.
        type: path
"""

EXAMPLES = r"""
- name: Forget what was seen
  alluxio.fuse.fuse_forget:
    mounts:
      - mount_point: /mnt/alluxio-fuse/imagenet/data
"""

RETURN = r"""
forgotten: {description: mount points whose FUSE was told, type: list, returned: always}
"""

UNDER_WAY_S = 5.0


class DeafError(Exception):
    """FUSE was not told; the message is the reason."""


def main() -> None:
    """Entry point of the module."""
    mount = {"mount_point": {"type": "path", "required": True}, "declared": {"type": "str"}, "note": {"type": "path"}}
    module = AnsibleModule(
        argument_spec={"mounts": {"type": "list", "elements": "dict", "required": True, "options": mount}},
        supports_check_mode=True,
    )
    due = [each for each in module.params["mounts"] if not each["note"] or noted(each) != each["declared"]]
    redeclared = [each for each in due if each["note"]]
    if not module.check_mode:
        try:
            tell(due)
            if any(noted(each) for each in redeclared):
                time.sleep(UNDER_WAY_S)
                tell(redeclared)
        except DeafError as error:
            module.fail_json(msg=str(error))
        for each in redeclared:
            Path(each["note"]).write_text(each["declared"], encoding="utf-8")
    module.exit_json(changed=bool(redeclared), forgotten=[each["mount_point"] for each in due])


def noted(mount: dict[str, Any]) -> str:
    """The declaration that names were forgotten for last; none of a mount that is new."""
    path = Path(mount["note"])
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def tell(mounts: list[dict[str, Any]]) -> None:
    """Ask each for the reserved path."""
    for mount in mounts:
        point = mount["mount_point"]
        try:
            forgetting.forget(point)
        except TimeoutError as late:
            raise DeafError(f"{late}: playbooks/status.yml says why") from None
        except OSError as error:
            why = "it knows no such command" if error.errno == errno.ENOENT else error.strerror
            raise DeafError(
                f"{point}: {why}: is the dataset's freshness declared, and is it mounted as planned?"
            ) from None


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Copies a backup of a journal without the id of its cluster."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import journal

DOCUMENTATION = r"""
module: journal_disown
short_description: Copies a backup of a journal without the id of its cluster
description:
  - A master that begins with the copy gives itself a new id, so every cache of the former one, wherever it is, discards
    itself at its next start.
  - It has to. Numbers of blocks and files that were given after the backup are given again, and what is cached under
    them would be other files' bytes.
  - A backup that is not whole is refused, and no copy is left.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Nothing is written, and no number is told.
options:
  src: {description: The backup., type: path, required: true}
  dest: {description: "The copy, its owner's alone; the folder above it must be there.", type: path, required: true}
"""

EXAMPLES = r"""
- name: Give the cluster a new identity
  alluxio.fuse.journal_disown:
    src: /srv/backups/journal.gz
    dest: /run/restore/journal.gz
"""

RETURN = r"""
entries: {description: entries in the copy, type: int, returned: where there is one}
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={"src": {"type": "path", "required": True}, "dest": {"type": "path", "required": True}},
        supports_check_mode=True,
    )
    source, target = module.params["src"], Path(module.params["dest"])
    if module.check_mode:
        module.exit_json(changed=True)
    try:
        module.exit_json(changed=True, entries=journal.disown(source, target))
    except journal.DamagedError as error:
        module.fail_json(msg=f"{source} is no whole backup: {error}. Nothing else was done.")


if __name__ == "__main__":
    main()

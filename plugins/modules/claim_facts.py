#!/usr/bin/python
"""Counts what a claim holds, in a pod that sees it."""

from __future__ import annotations

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils.sources import read_source

DOCUMENTATION = r"""
module: claim_facts
short_description: count what a claim holds, in a pod that sees it
description:
  - Counts the files of the folder as the user that it runs as, in the shape of the node facts' C(sources).
  - Counted is what a manifest holds; hidden names, and names that cannot be served, are left out. Nothing is written.
  - Counting ends without a result after a minute.
options:
  folder: {description: Where the pod sees it., type: path, required: true}
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Count what the claim holds
  alluxio.fuse.claim_facts:
    folder: /sources/imagenet
"""

RETURN = r"""
facts:
  description: >-
    C(state) (ok, empty, missing, denied or unreachable), C(detail), C(files), C(bytes) and C(sizes), a histogram with
    an upper bound, files and bytes for each power of two; the last three are null where counting did not end.
  type: dict
  returned: always
"""

LIMIT_S = 60


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, facts=read_source(f"file://{module.params['folder']}", os.geteuid(), LIMIT_S))


if __name__ == "__main__":
    main()

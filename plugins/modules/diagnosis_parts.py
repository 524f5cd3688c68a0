#!/usr/bin/python
"""Runs, reads and asks for what a diagnosis holds."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import diagnosis

DOCUMENTATION = r"""
module: diagnosis_parts
short_description: Gathers what a diagnosis holds, each thing by itself
description:
  - Runs commands, reads files, asks Alluxio's processes over HTTP and looks at the node, all within limits of seconds
    and bytes. What cannot be got is told in its place and is no failure.
  - No file or folder of a FUSE mount is touched.
  - Nothing is redacted here, so a task must say C(no_log); M(alluxio.fuse.diagnosis_bundle) does that before it writes.
author: [alluxio-fuse]
options:
  commands:
    description: Each with C(path) (in the bundle) and C(argv).
    type: list
    elements: dict
    default: []
  files:
    description: Each with C(path) and C(file).
    type: list
    elements: dict
    default: []
  addresses:
    description: Each with C(path), C(address) (C(host:port)) and C(page), which answers with JSON.
    type: list
    elements: dict
    default: []
  node:
    description: Whether system, filesystems, mounts, FUSE connections and Alluxio's processes are looked at, too.
    type: bool
    default: false
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Look at the node
  alluxio.fuse.diagnosis_parts:
    node: true
    commands:
      - {path: worker/log.txt, argv: [podman, logs, --tail, "1000", alluxio-fuse-worker]}
  no_log: true
"""

RETURN = r"""
parts:
  description: Each with C(path), C(text), C(why) it could not be got, and C(cut), whether its beginning is left out.
  type: list
  elements: dict
  returned: always
"""


def main() -> None:
    """Entry point of the module."""
    spec = {
        name: {"type": "list", "elements": "dict", "default": []} for name in ("commands", "files", "addresses")
    } | {"node": {"type": "bool", "default": False}}
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    module.exit_json(changed=False, parts=diagnosis.gather(**module.params))


if __name__ == "__main__":
    main()

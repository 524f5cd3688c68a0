#!/usr/bin/python
"""Documents the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pods_behind
short_description: Says which pods of a release are not of what is planned
description:
  - Pods of FUSE that were left to their readers when what they are made from changed.
  - With O(rendered), also all pods that it would have made anew.
author: [alluxio-fuse]
options:
  release: {description: Name of the release., type: str, required: true}
  installed: {description: Objects of the release as it is installed., type: list, elements: dict, default: []}
  rendered: {description: "What would be installed, as YAML.", type: str, default: ""}
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: See what waits for its readers
  alluxio.fuse.pods_behind:
    namespace: data
    release: cache
"""

RETURN = r"""
pods:
  description: Each with C(name) (of the component), C(pod), C(node) and C(mount_point), which is empty but for FUSE.
  type: list
  elements: dict
  returned: always
"""

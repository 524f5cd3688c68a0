#!/usr/bin/python
"""Documents the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: release_services
short_description: Says which pods of a release run, and whether they are what their controllers want
author: [alluxio-fuse]
options:
  release:
    description: Name of the release.
    type: str
    required: true
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: List the release's services
  alluxio.fuse.release_services:
    namespace: data
    release: cache
"""

RETURN = r"""
services:
  description: Pods with C(name) (of the component), C(node), C(state) (C(as planned), C(behind) or C(down)) and C(why).
  type: list
  elements: dict
  returned: always
"""

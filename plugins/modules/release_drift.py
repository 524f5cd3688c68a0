#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

DOCUMENTATION = r"""
module: release_drift
short_description: Undoes what somebody changed in the objects of a release
description:
  - Compares every field with what server-side apply would make of the manifest, shows a line for each that differs, and
    applies it.
  - An action plugin does all of it on the controller.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Says what differs.
options:
  manifest: {description: Its objects as C(helm_info) tells them., type: list, elements: dict, default: []}
  rendered: {description: 'Its objects as C(helm template) prints them, hooks left out.', type: str, default: ''}
  release:
    description: Name of the release, of which workloads that are in neither are told, too; they are left as they are.
    type: str
    default: ''
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
"""

EXAMPLES = r"""
- name: Undo what was changed
  alluxio.fuse.release_drift:
    namespace: alluxio-fuse
    manifest: "{{ release.status.manifest }}"
"""

RETURN = r"""
drift:
  description: A line for each field, with what it was and what it is to be.
  type: list
  elements: str
  returned: always
differences:
  description: The same as C(what), C(now) and C(planned).
  type: list
  elements: dict
  returned: always
"""

#!/usr/bin/python
"""Documents the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: release_diagnosis
short_description: Gathers what a cluster tells of a release
description:
  - Objects, events, nodes and the logs of all containers, of their runs before, too. Secrets are not read.
  - What cannot be got is told in its place and is no failure.
  - Nothing is redacted here, so a task must say C(no_log); M(alluxio.fuse.diagnosis_bundle) does that before it writes.
author: [alluxio-fuse]
options:
  release: {description: Name of the release., type: str, required: true}
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Ask the cluster
  alluxio.fuse.release_diagnosis:
    namespace: alluxio-fuse
    release: alluxio-fuse
  no_log: true
"""

RETURN = r"""
parts:
  description: Each with C(path), C(text), and C(why) it could not be got.
  type: list
  elements: dict
  returned: always
"""

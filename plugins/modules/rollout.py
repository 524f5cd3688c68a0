#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

DOCUMENTATION = r"""
module: rollout
short_description: Waits until every pod of a release is ready
description:
  - Shows how many pods of each component are ready, whenever that changes.
  - Fails at once when waiting is hopeless (no image, a container that ends again and again), else after
    O(timeout_s) without anything new; the message holds what the kubelet said, warnings, and the last lines of failing
    containers.
  - An action plugin does all of it on the controller.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Waits for nothing.
options:
  release: {description: Name of the release., type: str, required: true}
  plan:
    description: The plan, as plan.json holds it. Each of its nodes is to have its pods of workers and FUSE.
    type: dict
  replace:
    description: Names of pods to delete first, which their controller makes anew.
    type: list
    elements: str
    default: []
  timeout_s: {description: Seconds to wait without progress., type: int, default: 300}
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
"""

EXAMPLES = r"""
- name: Wait for the release
  alluxio.fuse.rollout:
    namespace: alluxio-fuse
    release: alluxio-fuse
"""

RETURN = r"""
state:
  description: By component, how many pods are ready and how many are wanted.
  type: dict
  returned: always
"""

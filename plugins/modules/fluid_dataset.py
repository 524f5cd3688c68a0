#!/usr/bin/python
"""Documents the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fluid_dataset
short_description: Waits until a Dataset of Fluid's is bound, or takes it away
description:
  - Shows the phases whenever one changes.
  - Fails after O(timeout_s) without anything new; the message holds the conditions that Fluid's controllers wrote, or,
    when it should be gone, the pods and finalizers that keep it.
  - DataLoad, Dataset and runtime of that name are taken away in this order, and only those of O(deployment).
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Waits for nothing.
options:
  dataset: {description: Name of the Dataset., type: str, required: true}
  state:
    description: V(ready) waits for Bound, for master and workers that are Ready, and for a DataLoad that runs once.
    type: str
    choices: [ready, absent]
    required: true
  deployment: {description: Name of the deployment whose objects go; needed for V(absent)., type: str}
  timeout_s: {description: Seconds to wait without progress., type: int, default: 300}
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
"""

EXAMPLES = r"""
- name: Wait until readers can mount the claim
  alluxio.fuse.fluid_dataset:
    namespace: data
    dataset: imagenet
    state: ready
"""

RETURN = r"""
changed:
  description: Whether there was something to take away.
  type: bool
  returned: always
"""

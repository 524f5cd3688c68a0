#!/usr/bin/python
"""Documents the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: handed_keys
short_description: Has the master told of changed keys of object stores, and FUSE forget its former mount
description:
  - Starts the pod again that hands keys to the master, and waits until the mounts are as declared.
  - Alluxio 2.9 gives a mount with other options another number. FUSE keeps the former one with each name, and has to
    forget names; else its reads hang as soon as a worker is started that never knew that number.
  - Digests of the keys are noted in a ConfigMap when that is done; keys themselves go nowhere.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Hands nothing over.
options:
  release: {description: Name of the release., type: str, required: true}
  secrets: {description: Names of the Secrets., type: list, elements: str, required: true}
  timeout_s: {description: Seconds to wait without progress., type: int, default: 300}
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
"""

EXAMPLES = r"""
- name: Have a new key used
  alluxio.fuse.handed_keys:
    namespace: data
    release: cache
    secrets: [cache-imagenet]
"""

RETURN = r"""
changed:
  description: Whether the keys are others than those that were handed to the master.
  type: bool
  returned: success
"""

#!/usr/bin/python
"""Documents the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fluid_facts
short_description: Says what there is of Fluid in a cluster, and of one Dataset
author: [alluxio-fuse]
options:
  dataset: {description: Name of the Dataset., type: str, required: true}
  runtime: {description: What its runtime is to be., type: str, choices: [alluxio, jindo], required: true}
  secrets: {description: Names of Secrets with its keys., type: list, elements: str, default: []}
  deployment: {description: Name of the deployment whose pods are listed., type: str, required: true}
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Look at Fluid
  alluxio.fuse.fluid_facts:
    namespace: data
    dataset: imagenet
    runtime: alluxio
    deployment: alluxio-fuse
"""

RETURN = r"""
fluid:
  description: >-
    C(crds) (names of Fluid's), C(controllers) (by name: C(replicas), C(ready), C(wakes)), C(driver) (whether its CSI
    driver is there), C(objects) (Dataset, runtime and DataLoad, by kind), C(foreign_claim) (whether a claim of the
    Dataset's name is not Fluid's), C(secrets) (by name, their keys without values) and C(quotas) of the namespace.
  type: dict
  returned: always
services:
  description: Pods of the Dataset, as M(alluxio.fuse.release_services) returns them.
  type: list
  elements: dict
  returned: always
columns:
  description: What C(kubectl get dataset) shows of it, and the phases of its runtime, as one line.
  type: str
  returned: always
"""

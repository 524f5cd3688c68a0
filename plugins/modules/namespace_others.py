#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

DOCUMENTATION = r"""
module: namespace_others
short_description: Looks for what a namespace holds beside a deployment
description:
  - Lists objects of every kind that the API server knows, custom ones too, and leaves out what the deployment made,
    what the cluster puts into every namespace, and what goes with its owner.
  - An action plugin does all of it on the controller. Nothing is changed.
author: [alluxio-fuse]
options:
  deployment: {description: Name of the deployment., type: str, required: true}
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Look for what others have there
  alluxio.fuse.namespace_others:
    namespace: alluxio-fuse
    deployment: alluxio-fuse
"""

RETURN = r"""
others:
  description: Kind and name of each.
  type: list
  elements: str
  returned: always
"""

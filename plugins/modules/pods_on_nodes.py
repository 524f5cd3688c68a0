#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

DOCUMENTATION = r"""
module: pods_on_nodes
short_description: Runs pods that are bound to nodes
description:
  - Makes the pods that are missing, and waits until they run or have ended. Pods that were to end are removed.
  - Fails at once when waiting is hopeless, as for an image that a node cannot pull, and removes what it made.
  - An action plugin does all of it on the controller.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: partial
    description: Makes no pod and returns no results.
options:
  pods: {description: Pod objects., type: list, elements: dict, required: true}
  until: {description: Whether they stay or end., type: str, choices: [running, ended], default: running}
  timeout_s: {description: Seconds to wait without progress., type: int, default: 300}
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
"""

EXAMPLES = r"""
- name: Prove that every node can pull the image
  alluxio.fuse.pods_on_nodes:
    namespace: alluxio-fuse
    pods: "{{ (cluster | alluxio.fuse.release('alluxio-fuse', image=image, hosts=['node-1'], nodes=nodes)).pull_pods }}"
    until: ended
"""

RETURN = r"""
results:
  description: >-
    Of each pod C(name), C(node), C(annotations), C(phase), C(why) (of one not let in, or driven out) and C(log).
  type: list
  elements: dict
  returned: always
"""

#!/usr/bin/python
"""Documents the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: drift
short_description: Ends as what differs from the plan
description:
  - Fails where plays in check mode would have changed anything or could not find it out, as the callback C(drift) saw,
    or where the status is not as planned. That callback shows the table.
author: [alluxio-fuse]
options:
  status:
    description: As filter C(status) returns it.
    type: dict
    required: true
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Fail if anything drifted
  alluxio.fuse.drift:
    status: "{{ status_result }}"
"""

RETURN = r"""
rows:
  description: What the status adds, each with where, what, what it is now, and what is planned.
  type: list
  elements: list
  returned: always
"""

#!/usr/bin/python
"""Documents the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: show
short_description: Shows text on the terminal as it is
description:
  - For tables, which M(ansible.builtin.debug) would quote.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Shows the text.
options:
  text:
    description: What to show.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the table
  alluxio.fuse.show:
    text: "{{ check_result | alluxio.fuse.check_report }}"
"""

RETURN = r"""
changed:
  description: Always V(false).
  type: bool
  returned: always
"""

#!/usr/bin/python
"""Documents the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: diagnosis_bundle
short_description: Writes a diagnosis without its secrets
description:
  - Writes a C(.tar.gz) on the controller that only its owner can read, with C(index.json) of what is in it and what
    could not be got, and shows that.
  - Known secrets are the values of all variables of all hosts whose names look like a secret's. They are taken out in
    whatever form they are written, and so is what looks like a secret by its name or shape.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: none
    description: The bundle is written in check mode, too; nothing else is changed.
options:
  dest:
    description: The archive, on the controller.
    type: path
    required: true
  name:
    description: Name of the deployment.
    type: str
    required: true
  parts:
    description: What it holds, each with C(path), and C(text) or C(why) there is none.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Write the bundle
  alluxio.fuse.diagnosis_bundle:
    dest: runs/diagnosis.tar.gz
    name: alluxio-fuse
    parts: [{path: plan.json, text: "{}"}]
  no_log: true
"""

RETURN = r"""
index:
  description: As it is in the bundle.
  type: dict
  returned: always
"""

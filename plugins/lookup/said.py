"""A lookup by which playbooks read a variable of the user, before or beside a plan, as the model of them has it."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from alluxio_fuse.adapters import plain
from alluxio_fuse.plan import Refused
from alluxio_fuse.plan.views.said import said

DOCUMENTATION = """
name: said
short_description: a variable of the user, validated and of its type, or its default
description:
  - C(-e key=value) gives text; a switch that is the text V(false) would be true in a condition.
  - Everything that is known of a variable (shape, range, default) is in the planner's model, docs/variables.md.
options:
  _terms:
    description: Names of variables, like V(alluxio_check_passes).
    required: true
"""
EXAMPLES = """
- name: Warm
  ansible.builtin.import_role:
    name: warm
  vars:
    warm_disruptive: "{{ lookup('alluxio.fuse.said', 'alluxio_check_disruptive') }}"
"""
RETURN = """
_raw:
  description: Their values.
  type: list
  elements: raw
"""


class LookupModule(LookupBase):
    """The lookup."""

    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[Any]:
        """The variables of these names."""
        self.set_options(var_options=variables, direct=kwargs)
        known = variables or {}
        given = {name: plain(self._templar.template(known[name])) for name in terms if name in known}
        try:
            return [said(name, given) for name in terms]
        except Refused as refused:
            raise AnsibleError(str(refused)) from None

#!/usr/bin/python
"""Names secrets that stand in plain text in files of an inventory."""

from __future__ import annotations

DOCUMENTATION = r"""
module: plaintext_secrets
short_description: Names secrets that stand in plain text in files of an inventory
description:
  - Runs on the controller, with the Python of Ansible.
  - Looks for C(secret_key), at any depth, and for connection variables C(ansible_*) that hold a password, a passphrase
    or a token, in the files of the inventory and in C(group_vars) and C(host_vars) beside it and beside the playbooks.
  - No plain text are files and values of ansible-vault, and templates such as lookups. What C(--extra-vars) gives is no
    file of the inventory. C(inventories/local) is left out.
  - Returns where a secret stands, and never the secret. Changes nothing; check mode is the same as a run.
options:
  sources:
    description: The inventory's files and folders, as C(ansible_inventory_sources) lists them.
    type: list
    elements: str
    required: true
  playbooks:
    description: Folder of the playbooks.
    type: path
    required: true
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Look for secrets in plain text
  alluxio.fuse.plaintext_secrets:
    sources: "{{ ansible_inventory_sources }}"
    playbooks: "{{ playbook_dir }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
files:
  description: C(path) of each file with such secrets, and their C(keys), like C(alluxio_credentials.one.secret_key).
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import plaintext


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "sources": {"type": "list", "elements": "str", "required": True},
            "playbooks": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, files=plaintext.plain_secrets(module.params["sources"], module.params["playbooks"]))


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""The ownership record of a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: owned
short_description: The ownership record of a node
description:
  - Writes down what a deployment is about to make on a node, before it is made; strikes it out after it was removed.
  - What the record already names keeps the data of its first writing, which knew the state before.
  - An item with C(contents) or C(new) in its data must be absent, or an empty folder, when the record first names it,
    and a unit must have no file; anything else there is somebody else's, and the module refuses it before it writes.
  - Any other folder that is there already is recorded with C(before), its uid, gid and mode, so that removal leaves it.
  - The record is written atomically, and locked while it is changed, so that two runs at once lose nothing; an empty
    one is removed.
options:
  state:
    description: V(present) adds items, V(absent) strikes them out. With no items the record is only returned.
    type: str
    choices: [present, absent]
    default: present
  parents:
    description: Whether folders that are missing above files and folders are recorded with them.
    type: bool
    default: false
  role:
    description: Return only what this role recorded (its name is in O(items[].data)).
    type: str
  items:
    description: The things, in the order of making.
    type: list
    elements: dict
    default: []
    suboptions:
      kind:
        description: What it is.
        type: str
        required: true
        choices: [directory, file, mount, tmpfs, filesystem, container, image, volume, unit, line, sysctl, package]
      id:
        description: What it goes by, a path or a name.
        type: str
        required: true
      data:
        description: What removal needs to know, such as O(items[].data.role) and the value before.
        type: dict
        default: {}
attributes:
  check_mode:
    support: full
    description: Says what would change.
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.ownership
"""

EXAMPLES = r"""
- name: Record the mount root before it is made
  alluxio.fuse.owned:
    items:
      - {kind: directory, id: /mnt/alluxio-fuse, data: {role: platform_containers}}

- name: Read what this deployment owns
  alluxio.fuse.owned: {}
  register: record
"""

RETURN = r"""
owned:
  description: What the record names now, in the order of making; in check mode what it would name.
  returned: success
  type: list
  elements: dict
parents:
  description: With O(parents=true), the folders that have to be made first, outermost first.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import claims, ownership


def main() -> None:
    """Run as a module."""
    item = {
        "kind": {"type": "str", "required": True, "choices": list(ownership.KINDS)},
        "id": {"type": "str", "required": True},
        "data": {"type": "dict", "default": {}},
    }
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": "alluxio-fuse"},
            "state_dir": {"type": "path"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "parents": {"type": "bool", "default": False},
            "role": {"type": "str"},
            "items": {"type": "list", "elements": "dict", "options": item, "default": []},
        },
        supports_check_mode=True,
    )
    name, role = module.params["name"], module.params["role"]
    state_dir = module.params["state_dir"] or f"/var/lib/{name}"
    change = ownership.add if module.params["state"] == "present" else ownership.drop
    try:
        before = ownership.load(state_dir, name)
    except ownership.RecordError as error:
        module.fail_json(msg=str(error))
    items = ownership.with_parents(module.params["items"]) if module.params["parents"] else module.params["items"]
    parents = [item["id"] for item in items if item not in module.params["items"]]
    try:
        items = claims.claimed(before, items) if module.params["state"] == "present" else items
        after = change(before, items)
    except ownership.RecordError as error:
        module.fail_json(msg=str(error))
    if after != before and not module.check_mode:
        ownership.update(state_dir, name, change, items)
    module.exit_json(
        changed=after != before,
        parents=parents,
        owned=[item for item in after["items"] if role in (None, item["data"].get("role"))],
        diff={
            "before": module.jsonify(before["items"]),
            "after": module.jsonify(after["items"]),
            "before_header": f"{state_dir}/{ownership.FILE}",
        },
    )


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""State of cache media on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cache_media_state
short_description: State of cache media on a node
description:
  - Tells for each medium what is missing for it, how it is to be mounted, and what stands against it; changes nothing.
  - A device that carries a signature, a partition, a holder or a mount is refused, unless the filesystem on it is one
    that this deployment made, or its wiping is named.
options:
  media:
    description: The media, as in the input of role cache_media, which says what each key means.
    type: list
    elements: dict
    required: true
    suboptions:
      name: {type: str, required: true, description: What it goes by.}
      medium: {type: str, required: true, description: What it is made of.}
      kind: {type: str, required: true, choices: [tmpfs, directory, filesystem, device], description: How it is made.}
      path: {type: path, required: true, description: The place.}
      size: {type: int, required: true, description: Bytes.}
      owner: {type: int, required: true, description: Uid and gid.}
      mode: {type: str, required: true, description: Mode.}
      mount: {type: path, description: Mount point that must be there.}
      device: {type: path, description: The device.}
      filesystem: {type: str, choices: [xfs, ext4], default: xfs, description: What is made on it.}
      wipe: {type: bool, default: false, description: Whether signatures on it may be destroyed.}
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.ownership
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Look at the state of the media
  alluxio.fuse.cache_media_state:
    media:
      - {name: memory, kind: tmpfs, path: /cache, size: 1073741824, owner: 1000, mode: "0750"}
  register: state
"""

RETURN = r"""
media:
  description: The media, each with parents, fstype, source, options, mounted and action.
  returned: success
  type: list
  elements: dict
findings:
  description: Refusals of all media, each with path, value, reason and remedy.
  returned: success
  type: list
  elements: dict
refusals:
  description: The findings as text.
  returned: success
  type: list
  elements: str
parents:
  description: Folders above the media that have to be made, outermost first.
  returned: success
  type: list
  elements: str
record:
  description: What making the media leaves on the node, as items for M(alluxio.fuse.owned).
  returned: success
  type: list
  elements: dict
packages:
  description: Packages that bring what makes the filesystems and is not there yet, as items for M(alluxio.fuse.owned).
  returned: success
  type: list
  elements: dict
systemd:
  description: Whether systemd is PID 1, so that fstab is read at boot.
  returned: success
  type: bool
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import media, mount_table, ownership, system

MEDIUM = {
    "name": {"type": "str", "required": True},
    "medium": {"type": "str", "required": True},
    "kind": {"type": "str", "required": True, "choices": ["tmpfs", "directory", "filesystem", "device"]},
    "path": {"type": "path", "required": True},
    "size": {"type": "int", "required": True},
    "owner": {"type": "int", "required": True},
    "mode": {"type": "str", "required": True},
    "mount": {"type": "path"},
    "device": {"type": "path"},
    "filesystem": {"type": "str", "choices": ["xfs", "ext4"], "default": "xfs"},
    "wipe": {"type": "bool", "default": False},
}


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": "alluxio-fuse"},
            "state_dir": {"type": "path"},
            "media": {"type": "list", "elements": "dict", "required": True, "options": MEDIUM},
        },
        supports_check_mode=True,
    )
    name = module.params["name"]
    try:
        record = ownership.load(module.params["state_dir"] or f"/var/lib/{name}", name)
    except ownership.RecordError as error:
        module.fail_json(msg=str(error))
    about = system.read_system()
    machine = system.machine_id() or about["hostname"]
    seen = mount_table.read_mounts()
    states = [media.inspect(medium, seen, record, machine, about["numa_nodes"]) for medium in module.params["media"]]
    findings = [finding for state in states for finding in state["findings"]]
    systemd = Path("/run/systemd/system").is_dir()
    module.exit_json(
        changed=False,
        media=states,
        parents=media.parents_to_make(states),
        record=media.record_items(states, systemd),
        findings=findings,
        refusals=["{path}: {value}; why: {reason}; do: {remedy}".format(**finding) for finding in findings],
        packages=media.missing_tools(states),
        systemd=systemd,
    )


if __name__ == "__main__":
    main()

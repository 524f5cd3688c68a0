#!/usr/bin/python
"""How fast the disks of caches are."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cache_media_speed
short_description: How fast the disks of caches are
description:
  - Reads and writes each disk for two seconds with fio, past the page cache, and remembers what came of it in
    C(media.json) of the state folder; a disk that is remembered is not measured again. What is refused is not
    remembered, since it may be repaired.
options:
  media:
    description: The media, as in the input of role cache_media.
    type: list
    elements: dict
    required: true
  measure:
    description: Whether to measure what is missing, or only to say what is.
    type: bool
    default: true
attributes:
  check_mode:
    support: partial
    description: Measures nothing, and returns what is known.
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.ownership
"""

EXAMPLES = r"""
- name: Measure the disks of the caches
  alluxio.fuse.cache_media_speed:
    state_dir: /var/lib/alluxio-fuse
    media:
      - {name: nvme, medium: ssd, kind: directory, path: /data/nvme0/alluxio-fuse/tier}
"""

RETURN = r"""
speeds:
  description: Each disk with read_mb_s and write_mb_s (10^6 bytes per second).
  returned: success
  type: dict
missing:
  description: Disks that were not measured yet.
  returned: success
  type: list
  elements: str
packages:
  description: What has to be installed to measure, by name.
  returned: success
  type: list
  elements: str
findings:
  description: What is absurdly slow, as text.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table, speed


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "state_dir": {"type": "path", "required": True},
            "media": {"type": "list", "elements": "dict", "required": True},
            "measure": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    wanted = speed.disks(module.params["media"], mount_table.read_mounts())
    speeds = speed.trusted(speed.load(module.params["state_dir"]), wanted)
    missing = {disk: medium for disk, medium in wanted.items() if disk not in speeds}
    measure = module.params["measure"] and bool(missing)
    if measure and not module.check_mode:
        try:
            speeds.update({disk: speed.measure(medium["path"]) for disk, medium in missing.items()})
        except (OSError, RuntimeError, ValueError) as error:
            module.fail_json(msg=f"the disks' speed cannot be measured: {error}")
        speed.save(module.params["state_dir"], speed.trusted(speeds, wanted))
    module.exit_json(
        changed=measure,
        speeds=speeds,
        missing=sorted(missing),
        packages=[] if speed.fio() else ["fio"],
        findings=list(speed.findings(speeds, wanted).values()),
    )


if __name__ == "__main__":
    main()

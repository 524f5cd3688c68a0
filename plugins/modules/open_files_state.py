#!/usr/bin/python
"""How many files processes of a node may open."""

from __future__ import annotations

DOCUMENTATION = r"""
module: open_files_state
short_description: How many files processes of a node may open
description:
  - Reads the limits of a session, of the kernel, and of a systemd unit; changes nothing.
options:
  unit:
    description: A unit whose limit is wanted, too.
    type: str
  wanted:
    description: How many files its containers shall be able to open.
    type: int
    default: 0
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Look how many files may be open
  alluxio.fuse.open_files_state:
    unit: containerd.service
  register: files
"""

RETURN = r"""
kernel:
  description: The most that a process may be given.
  returned: success
  type: int
session:
  description: C(soft) and C(hard) limit of this session.
  returned: success
  type: dict
unit:
  description: What the unit's processes may open; nothing without a unit of that name, or without systemd.
  returned: success
  type: int
process:
  description: What the main process of the unit may open now; nothing where it does not run.
  returned: success
  type: int
short:
  description: Whether a restart is needed for C(wanted), because that process may open fewer, or has failed.
  returned: success
  type: bool
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import system, units


def unit_limit(about: dict[str, str], kernel: int) -> int | None:
    """The limit in C(LoadState) and C(LimitNOFILE) of a unit; None where no unit is loaded."""
    if about.get("LoadState") != "loaded":
        return None
    limit = about.get("LimitNOFILE", "infinity")
    return min(int(limit), kernel) if limit.isdigit() else kernel


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={"unit": {"type": "str"}, "wanted": {"type": "int", "default": 0}}, supports_check_mode=True
    )
    kernel = int(Path("/proc/sys/fs/nr_open").read_text(encoding="ascii"))
    about, unit = system.read_system(), module.params["unit"]
    asked = about["service_manager"] == "systemd" and unit
    process = units.open_files(unit) if asked else None
    failed = bool(asked) and units.show(unit, "ActiveState").get("ActiveState") in ("failed", "activating")
    module.exit_json(
        changed=False,
        kernel=kernel,
        session=about["nofile"],
        unit=unit_limit(units.show(unit, "LoadState", "LimitNOFILE"), kernel) if asked else None,
        process=process,
        short=failed or (process is not None and process < module.params["wanted"]),
    )


if __name__ == "__main__":
    main()

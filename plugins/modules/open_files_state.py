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
author:
  - alluxio-fuse
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
systemd:
  description: Whether systemd is PID 1, so that what holds at boot is read.
  returned: success
  type: bool
"""

import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import system


def unit_limit(answer: str, kernel: int) -> int | None:
    """The limit in the answer of `systemctl show --property LoadState,LimitNOFILE`; None where no unit is loaded."""
    values = dict(line.split("=", 1) for line in answer.splitlines() if "=" in line)
    if values.get("LoadState") != "loaded":
        return None
    limit = values.get("LimitNOFILE", "infinity")
    return min(int(limit), kernel) if limit.isdigit() else kernel


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(argument_spec={"unit": {"type": "str"}}, supports_check_mode=True)
    kernel = int(Path("/proc/sys/fs/nr_open").read_text(encoding="ascii"))
    about = system.read_system()
    systemd = about["service_manager"] == "systemd"
    answer = ""
    if systemd and module.params["unit"]:
        show = ["systemctl", "show", "--property", "LoadState,LimitNOFILE", module.params["unit"]]
        answer = subprocess.run(show, capture_output=True, text=True, check=True, env=system.TOOLS).stdout
    module.exit_json(
        changed=False, kernel=kernel, session=about["nofile"], unit=unit_limit(answer, kernel), systemd=systemd
    )


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Restarts a unit of systemd, and waits until all answers again."""

from __future__ import annotations

DOCUMENTATION = r"""
module: unit_restart
short_description: Restarts a unit of systemd, and waits until all that answered before answers again
description:
  - Reads systemd's files anew and restarts the unit. Then waits until its main process stays, and until every Unix
    socket on which that process listened before, and every URL that answered before, answers again. It fails after
    two minutes.
attributes:
  check_mode:
    support: full
    description: Says that it would be restarted.
options:
  unit:
    description: Name of the unit.
    type: str
    required: true
  urls:
    description: What depends on the unit, and shall answer again with status 200; one that did not before is left out.
    type: list
    elements: str
    default: []
author: [alluxio-fuse]
"""

EXAMPLES = r"""
- name: Restart containerd
  alluxio.fuse.unit_restart:
    unit: containerd.service
    urls: ["http://127.0.0.1:10248/healthz"]
"""

RETURN = r"""
answers:
  description: What answers again.
  type: list
  elements: str
  returned: when it was restarted
"""

import subprocess
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import system, units

LOOKS_S = 1.0
TIMEOUT_S = 120


def systemctl(*arguments: str) -> str:
    """What systemctl says against it; empty where it does it."""
    done = subprocess.run(["systemctl", *arguments], capture_output=True, text=True, check=False, env=system.TOOLS)
    return done.stderr.strip() or f"status {done.returncode}" if done.returncode else ""


def wait(unit: str, wanted: set[str], timeout_s: int) -> str:
    """Waits until the unit is back; what is missing at the end, or nothing."""
    deadline, last = time.monotonic() + timeout_s, None
    urls = [one for one in wanted if not one.startswith("/")]
    while True:
        process, missing = units.main_process(unit), wanted - units.answering(unit, urls)
        if process and process == last and not missing:
            return ""
        if time.monotonic() > deadline:
            lost = f"{', '.join(sorted(missing))} does not answer" if missing else "its process does not stay"
            return f"{lost} after {timeout_s} s"
        last = process
        time.sleep(LOOKS_S)


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "urls": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    unit = module.params["unit"]
    if module.check_mode:
        module.exit_json(changed=True)
    before = units.answering(unit, module.params["urls"])
    wrong = systemctl("daemon-reload") or systemctl("restart", unit) or wait(unit, before, TIMEOUT_S)
    if wrong:
        look = f"on the node, `systemctl status {unit}` and `journalctl --unit {unit}` say why"
        module.fail_json(msg=f"{unit} was restarted and is not back: {wrong}. Do: {look}; then run again")
    module.exit_json(changed=True, answers=sorted(before))


if __name__ == "__main__":
    main()

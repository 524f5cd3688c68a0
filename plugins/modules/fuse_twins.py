#!/usr/bin/python
"""Starts and ends FUSE processes beside that of a mount."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import system, twins

DOCUMENTATION = r"""
module: fuse_twins
short_description: Starts and ends FUSE processes beside that of a mount, with other options
description:
  - A twin is made from the process that serves a mount, in its namespaces, with the same keys and under store. It has a
    mount point C(tune-<number>) beside that of the mount, and a client cache and counters of its own.
  - The mount itself, and who reads from it, is left as it is. Twins end by themselves after O(seconds).
  - One that takes more memory than the node has, or that does not mount, is told with the reason.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Starts and ends none.
options:
  mount_point:
    description: Where the mount is that they are beside.
    type: path
    required: true
  state:
    description: Whether to start O(twins), or to end all that there are.
    type: str
    choices: [present, absent]
    default: present
  twins:
    description:
      - Their options. C(number); C(flags) of the JVM, C(properties) and C(environment) as far as they differ from
        those of the mount's process; all C(mount_options); C(settings) of the kernel's side; C(cache_bytes) of the
        client cache and whether it is C(in_memory); C(memory), bytes that the process takes in all.
    type: list
    elements: dict
    default: []
  logs:
    description: Folder for what they say; needed to start them.
    type: path
  seconds:
    description: How long they live at most.
    type: int
    default: 3600
"""

EXAMPLES = r"""
- name: Start a process with libfuse 2 beside the mount
  alluxio.fuse.fuse_twins:
    mount_point: /mnt/alluxio-fuse/imagenet/data
    logs: /var/lib/alluxio-fuse/tune
    twins:
      - number: 0
        flags: []
        properties: {alluxio.fuse.jnifuse.libfuse.version: "2"}
        mount_options: [allow_other, ro, kernel_cache]
        environment: {}
        settings: {read_ahead_kb: 512}
        cache_bytes: 600000000
        in_memory: true
        memory: 1600000000
"""

RETURN = r"""
started:
  description: Those that serve, each with C(number), C(mount_point) and C(port) of its counters.
  type: list
  elements: dict
  returned: always
failed_to_start:
  description: The others, each with C(number) and C(why).
  type: list
  elements: dict
  returned: always
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "mount_point": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "twins": {"type": "list", "elements": "dict", "default": []},
            "logs": {"type": "path"},
            "seconds": {"type": "int", "default": 3600},
        },
        required_if=[("state", "present", ["logs"])],
        supports_check_mode=True,
    )
    params: dict[str, Any] = module.params
    if module.check_mode:
        module.exit_json(changed=False, started=[], failed_to_start=[])
    try:
        if params["state"] == "absent":
            module.exit_json(changed=bool(twins.end_all(params["mount_point"])), started=[], failed_to_start=[])
        started, failed = start_all(params, system.read_system()["memory"]["available"])
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        module.fail_json(msg=f"{params['mount_point']}: {getattr(error, 'stderr', None) or error}")
    module.exit_json(changed=bool(started), started=started, failed_to_start=failed)


def start_all(params: dict[str, Any], available: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Those that were started, and those that were not, `available` being the node's memory (bytes)."""
    started, failed = [], []
    Path(params["logs"]).mkdir(exist_ok=True)
    for twin in params["twins"]:
        if twin["memory"] > available:
            why = f"it takes {twin['memory'] >> 20} MiB, {available >> 20} MiB are available"
            failed.append({"number": twin["number"], "why": why})
            continue
        log = Path(params["logs"], f"{twins.PREFIX}{twin['number']}.log")
        try:
            started.append(
                {"number": twin["number"], **twins.start(params["mount_point"], twin, log, params["seconds"])}
            )
        except twins.NotMountedError as error:
            failed.append({"number": twin["number"], "why": f"it did not mount: {error}"})
        available -= twin["memory"]
    return started, failed


if __name__ == "__main__":
    main()

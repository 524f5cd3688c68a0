#!/usr/bin/python
"""How many bytes of each dataset Alluxio's workers hold."""

from __future__ import annotations

import re
import subprocess
import time

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: workers_hold
short_description: How many bytes of each dataset Alluxio's workers hold
description:
  - Asks the master, which looks at each file that it knows. Nothing is listed at the source for it.
  - Alluxio's command line is a JVM, which takes some seconds for each dataset.
author: [alluxio-fuse]
options:
  cli:
    description: Command line of Alluxio at a master.
    type: list
    elements: str
    required: true
  paths:
    description: By dataset, its path in Alluxio.
    type: dict
    required: true
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Ask the master
  alluxio.fuse.workers_hold:
    cli: [podman, exec, alluxio-fuse-master, /opt/alluxio/bin/alluxio]
    paths: {imagenet: /imagenet}
"""

RETURN = r"""
held:
  description: Bytes by dataset; null where the master did not tell, within half a minute for all.
  type: dict
  returned: always
  sample: {imagenet: 80433339}
"""

ANSWER_S = 30.0  # for all datasets together, as others wait for the status
KNOWN_ONLY = "-Dalluxio.user.file.metadata.load.type=NEVER"


def parse(text: str, path: str) -> int | None:
    """Bytes in workers, as `alluxio fs du -s` tells them of a path; None where it does not."""
    line = re.search(rf"^\d+\s+(\d+) \(\d+%\)\s+{re.escape(path)}$", text, re.MULTILINE)
    return int(line[1]) if line else None


def ask(cli: list[str], paths: dict[str, str]) -> dict[str, int | None]:
    """Bytes that workers hold of each dataset; None where the master does not tell in time."""
    until = time.monotonic() + ANSWER_S
    return {
        name: _held(cli, path, left) if (left := until - time.monotonic()) > 0 else None for name, path in paths.items()
    }


def _held(cli: list[str], path: str, seconds: float) -> int | None:
    command = [*cli, "fs", KNOWN_ONLY, "du", "-s", path]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse(said.stdout, path) if said.returncode == 0 else None


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "cli": {"type": "list", "elements": "str", "required": True},
            "paths": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, held=ask(**module.params))


if __name__ == "__main__":
    main()

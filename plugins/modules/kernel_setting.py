#!/usr/bin/python
"""One value of the kernel's, now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_setting
short_description: One value of the kernel's, now
description:
  - Writes a value below C(/proc/sys) or C(/sys) where it differs. What holds after a reboot is a file's business.
options:
  path:
    description: The file of the setting.
    type: path
    required: true
  value:
    description: What it shall say.
    type: str
    required: true
  missing_ok:
    description: Whether a setting that is gone, with its disk for example, is no failure.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Says what would change.
author: [alluxio-fuse]
"""

EXAMPLES = r"""
- name: Read ahead 4 MiB from the cache disk
  alluxio.fuse.kernel_setting:
    path: /sys/block/nvme0n1/queue/read_ahead_kb
    value: "4096"
"""

RETURN = r"""
path:
  description: The file of the setting.
  returned: success
  type: str
before:
  description: What it said.
  returned: success
  type: str
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "value": {"type": "str", "required": True},
            "missing_ok": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    path, value = Path(module.params["path"]), module.params["value"]
    if not str(path).startswith(("/proc/sys/", "/sys/")):
        module.fail_json(msg=f"{path} is no kernel setting: it lies neither below /proc/sys nor below /sys")
    if module.params["missing_ok"] and not path.exists():
        module.exit_json(changed=False, path=str(path), before="")
    try:
        before = " ".join(path.read_text(encoding="utf-8").split())
        if before != value and not module.check_mode:
            path.write_text(value, encoding="utf-8")
    except OSError as error:
        module.fail_json(msg=f"{path}: {error.strerror}")
    module.exit_json(
        changed=before != value,
        path=str(path),
        before=before,
        diff={"before": f"{before}\n", "after": f"{value}\n", "before_header": str(path)},
    )


if __name__ == "__main__":
    main()

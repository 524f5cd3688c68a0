#!/usr/bin/python
"""Says whether a node can train on a dataset as ordered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import labels, programs, reader, system

DOCUMENTATION = r"""
module: train_facts
short_description: Says whether a node can train on a dataset
description:
  - Finds the images with labels, or shards, in a manifest, starts the program up to the point where it would read, and
    looks at memory, disk and GPUs. Reads nothing of the dataset, and changes nothing outside of O(scratch).
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Looks all the same.
options:
  manifest:
    description: Manifest of the dataset.
    type: path
    required: true
  scratch:
    description: Folder with the program's files.
    type: path
    required: true
  program:
    description: The program, as C(path), C(python) or C(image).
    type: dict
    required: true
  orders:
    description: What the program is told.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: See whether the node can train
  alluxio.fuse.train_facts:
    manifest: /var/lib/alluxio-fuse/manifests/imagenet.jsonl
    scratch: /var/lib/alluxio-fuse/train
    program: {path: /var/lib/alluxio-fuse/train/train_pytorch.py, python: /usr/bin/python3}
    orders: "{{ settings | alluxio.fuse.train_orders }}"
"""

RETURN = r"""
facts:
  description:
    - C(folder), C(shards), C(images), C(classes), C(bytes) of what there is with labels, or C(unlabelled), why there is
      none. Images in shards are an estimate.
    - C(runs), what the program said when it was ready, or C(cannot_run), its last words.
    - C(memory), bytes that are free, and C(disk), those of the scratch folder.
  type: dict
  returned: always
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "manifest": {"type": "path", "required": True},
            "scratch": {"type": "path", "required": True},
            "program": {"type": "dict", "required": True},
            "orders": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        manifest = reader.load(params["manifest"])
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"{params['manifest']}: {error}")
    found = {**labels.about(manifest, params["orders"]), "disk": shutil.disk_usage(params["scratch"]).free}
    found |= {"memory": system.available_memory(), "processors": os.cpu_count() or 1}
    if "unlabelled" not in found:
        found |= _started(found, params)
    module.exit_json(changed=False, facts=found)


def _started(found: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """The program with its model loaded, and nothing read."""
    scratch = Path(params["scratch"])
    orders = labels.told([], {**params["orders"], "folder": found["folder"]})
    orders |= {"root": None, "shown": str(scratch), "classes": [str(n) for n in range(found["classes"])], "images": 0}
    written = scratch / "orders.json"
    written.write_text(json.dumps(orders), encoding="ascii")
    container = f"alluxio-fuse-train-{os.getpid()}"
    program = {**params["program"], "writable": str(scratch), "gpus": orders["gpus"]}
    try:
        command = programs.command(program, str(written), [], container)
        with programs.running(command, scratch / "said", container if program.get("image") else None) as training:
            return {"runs": training.event("ready")}
    except programs.ProgramError as error:
        return {"cannot_run": str(error)}
    except (OSError, subprocess.SubprocessError) as error:
        return {"cannot_run": str(error)}


if __name__ == "__main__":
    main()

#!/usr/bin/python
"""Trains once on one path, and collects the evidence of what was read and from where."""

from __future__ import annotations

import shutil

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import labels, programs, reader, trainings

DOCUMENTATION = r"""
module: train_run
short_description: Trains on the paths of a dataset, with evidence of what was read and from where
description:
  - Each run starts a training program on one path, drops what the page cache has of its files, and lets it train.
  - The program hashes what its loaders read. After each epoch paths and digests are compared with the manifest.
  - Around each epoch it takes Alluxio's counters and looks at the page cache.
  - A run ends its program whatever happens, also when whoever asked for it is gone, and then empties O(scratch).
  - An action plugin of the same name calls the module once per run and shows each result.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Trains nothing and returns no results.
options:
  manifest:
    description: Manifest of the dataset, made by M(alluxio.fuse.dataset_manifest).
    type: path
    required: true
  scratch:
    description: Folder of the run on the node; orders, digests and the local copy are in it.
    type: path
    required: true
  program:
    description: The program, as C(path), C(python) or C(image).
    type: dict
    required: true
  orders:
    description: What the program is told, as filter P(alluxio.fuse.train_steps#filter) gives it.
    type: dict
    required: true
  runs:
    description:
      - What to do, in order. Keys are C(name), C(path), C(kind) (C(synthetic), C(copy), or C(train)), C(root),
        C(source), C(before) (C(drop), C(forget)), C(metrics), C(medium), C(direct), C(round), C(loaders).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Train on the mount
  alluxio.fuse.train_run:
    manifest: /var/lib/alluxio-fuse/manifests/imagenet.jsonl
    scratch: /var/lib/alluxio-fuse/train
    program: {path: /var/lib/alluxio-fuse/train/train_pytorch.py, python: /usr/bin/python3}
    orders: "{{ steps.orders }}"
    runs: "{{ steps.runs }}"
"""

RETURN = r"""
results:
  description: Figures and evidence of each run.
  type: list
  elements: dict
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
            "runs": {"type": "list", "elements": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False, results=[])
    params, results = module.params, []
    programs.leave_on_signals()
    try:
        _, files = labels.ordered(reader.load(params["manifest"]), params["orders"])
        results = [trainings.run(one, files, params, programs.compare) for one in params["runs"]]
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"{params['manifest']}: {error}")
    except programs.Left:
        shutil.rmtree(params["scratch"], ignore_errors=True)
        raise SystemExit(1) from None
    module.exit_json(changed=False, results=results)


if __name__ == "__main__":
    main()

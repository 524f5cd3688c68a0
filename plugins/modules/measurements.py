#!/usr/bin/python
"""Keeps on a node what can be measured only once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: measurements
short_description: Keeps on a node what can be measured only once per deployment
description:
  - A byte is read for the first time once. What was measured then is kept and shown by later runs with its time.
  - Kept under an identity (of cluster and dataset); measurements of another identity are forgotten.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Returns what would be kept, without writing it.
options:
  path:
    description: File of the measurements (JSON).
    type: path
    required: true
  dataset:
    description: Name of the dataset, or of what else was measured.
    type: str
    required: true
  identity:
    description: What the measurements belong to.
    type: str
    required: true
  keep:
    description: Values to add or to replace, by name; lists are appended to.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Keep the cold passes
  alluxio.fuse.measurements:
    path: /var/lib/alluxio-fuse/measurements.json
    dataset: imagenet
    identity: 7c9e/9592559be7683533
    keep: {passes: "{{ cold.results }}"}
"""

RETURN = r"""
kept:
  description: Everything kept of this dataset and identity.
  type: dict
  returned: always
"""


def merged(old: dict[str, Any], dataset: str, identity: str, keep: dict[str, Any]) -> dict[str, Any]:
    """The whole content after `keep` was added to the dataset's measurements of this identity."""
    entry = old.get(dataset, {})
    kept = dict(entry.get("kept", {})) if entry.get("identity") == identity else {}
    for name, value in keep.items():
        kept[name] = [*kept.get(name, []), *value] if isinstance(value, list) else value
    return {**old, dataset: {"identity": identity, "kept": kept}}


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "dataset": {"type": "str", "required": True},
            "identity": {"type": "str", "required": True},
            "keep": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    params = module.params
    path = Path(params["path"])
    try:
        old = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):  # a half-written file is worth no more than none
        old = {}
    new = merged(old, params["dataset"], params["identity"], params["keep"])
    changed = bool(params["keep"]) and new != old
    if changed and not module.check_mode:
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(json.dumps(new))
        temporary.chmod(0o644)
        temporary.replace(path)
    module.exit_json(changed=changed, kept=new[params["dataset"]]["kept"])


if __name__ == "__main__":
    main()

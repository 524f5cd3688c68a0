"""What playbooks/tune.yml has kept on this node, as the planner reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils.fuse_connection import MOUNT_SETTINGS

FILE = "tuned.json"  # written by the module measurements: {dataset: {identity, kept: {setting: …, tried: […]}}}


def load(state_dir: str) -> dict[str, Any]:
    """{dataset: {behind, kept: {setting: {amount, why, at}}}}; nothing where nothing was tried."""
    try:
        record = json.loads((Path(state_dir) / FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a half-written file is worth no more than none
        return {}
    return {
        dataset: {
            "behind": entry["identity"],
            "kept": {key: entry["kept"][key] for key in MOUNT_SETTINGS if key in entry["kept"]},
        }
        for dataset, entry in record.items()
    }

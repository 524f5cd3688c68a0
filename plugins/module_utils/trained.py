"""What playbooks/train.yml has measured of this node's GPUs, as the planner reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = "gpu-needs.json"  # written by the module measurements: {workload: {identity: GPU, kept: {need: …}}}


def load(state_dir: str) -> dict[str, Any]:
    """{workload: {gpu, images_per_s, image_bytes, at}}; nothing where no training has measured any."""
    try:
        record = json.loads((Path(state_dir) / FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a half-written file is worth no more than none
        return {}
    return {workload: {"gpu": entry["identity"], **entry["kept"]["need"]} for workload, entry in record.items()}

"""The same files staged: whole in memory, whole on the disk, and in memory but for a fifth, behind an overlay."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

MEMORY, DISK, PART = "staged", "staged-disk", "staged-part"  # rows of the bench, and deployments


def said(disk: Path) -> dict[str, dict[str, Any]]:
    """{row: what its deployment says}; disk: a folder on the disk of the sample."""
    return {
        MEMORY: {"stage": "require", "alluxio_overrides": {"worker.tier_quota": "256Mi"}},  # readers read the copy
        DISK: {"stage": "require", "alluxio_cache_tiers": [{"medium": "ssd", "path": str(disk)}]},
        # a node on its own gives half of it to the copy: all small files and most of the large ones
        PART: {"stage": "auto", "alluxio_cache_tiers": [{"medium": "memory", "budget": "1260Mi"}]},
    }


def leave_fuse(name: str) -> None:
    """Stops services that no reader of a copy needs, for their memory. FUSE stays: its counters prove what was read."""
    services = [f"{name}-{service}" for service in ("worker", "job-worker", "job-master", "master")]
    subprocess.run(["podman", "stop", *services], check=True, capture_output=True)


def with_staged_files(row: str, target: dict[str, Any]) -> dict[str, Any]:
    """What the check is told of a dataset; SystemExit unless it is staged as the row says."""
    stage = target["stage"]
    if stage is None:
        raise SystemExit(f"{row}: nothing is staged")
    found = [json.loads(one.read_text()) for one in Path(stage["folder"]).glob("*/staged.json")]
    medium = "ssd" if row == DISK else "memory"
    if len(found) != 1 or stage["medium"] != medium or ("kinds" in found[0]) != (row == PART):
        raise SystemExit(f"{row}: {stage['share']:.0%} on {stage['medium']}, copies: {found}")
    return target | {"staged_files": found[0].get("kinds", {})}

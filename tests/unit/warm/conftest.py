"""A node with a dataset in a folder, and workers of which a stand-in tells."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_tasks import Node, Place
from manifests import save
from warmed import Warmed, describe

FILES = {f"class-{number % 3}/{number:03}.bin": 1000 + number for number in range(60)}
MOUNT = "/mnt/warmed/set/data"


@pytest.fixture
def warmed(tmp_path: Path) -> Warmed:
    """A node whose workers hold nothing."""
    made = Warmed(str(tmp_path / "warm"), tmp_path / "alluxio")
    for name, size in FILES.items():
        (made.store / name).parent.mkdir(parents=True, exist_ok=True)
        (made.store / name).write_bytes(os.urandom(size))
    manifest = save(made.store, tmp_path / "set.jsonl")
    place = Place(str(manifest), [MOUNT], "/set", 16 << 20, store=True)
    tiers = [{"host": "here", "bytes": 1 << 20}]
    describe(made.folder, Node("here", "podman start warmed-warm", {"set": place}, tiers, ""))
    return made

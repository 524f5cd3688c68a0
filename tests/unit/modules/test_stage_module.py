"""Module stage, from the first copy to the one after the node was started again, on real mounts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import staging
from ansible_collections.alluxio.fuse.plugins.modules import stage
from manifests import save


@pytest.fixture
def said(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What a task says; the source is a mount, as FUSE's is."""
    source, path = tmp_path / "source", tmp_path / "path"
    (source / "train").mkdir(parents=True)
    path.mkdir()
    for number in range(20):
        (source / f"train/{number}").write_bytes(bytes([number]) * 100)
    manifest = save(source, tmp_path / "manifest.jsonl")
    subprocess.run(["mount", "--bind", str(source), str(source)], check=True)
    rights = {"uid": os.geteuid(), "gid": os.getegid(), "mode": "0755", "processes": 2, "seconds": 0.0}
    places = {"manifest": str(manifest), "source": str(source), "folder": str(tmp_path / "stage"), "path": str(path)}
    part = {"budget": 0, "per_file": 100, "seed": 7, "assignments": str(tmp_path / "assignments"), "in_use": False}
    yield {**rights, **places, **part}
    subprocess.run(["umount", "--lazy", "--quiet", str(path)], check=False)
    subprocess.run(["umount", "--lazy", str(source)], check=True)


def present(said: dict[str, Any], *, check_mode: bool = False) -> dict[str, Any]:
    module: Any = SimpleNamespace(params=said, check_mode=check_mode)
    return stage.present(module)


def test_a_copy_is_made_once_and_compared_after_a_restart(said: dict[str, Any]) -> None:
    assert present(said, check_mode=True)["changed"]
    first = present(said)
    assert (first["complete"], first["staged"]["files"], first["former"]) == (True, 20, [])
    assert not present(said)["changed"]
    assert not present(said, check_mode=True)["changed"]
    file = next(Path(said["folder"]).glob("*/files/train/7"))
    file.write_bytes(b"x" * 100)
    subprocess.run(["umount", "--lazy", said["path"]], check=True)  # as a restart does
    assert present(said)["changed"]
    assert (Path(said["path"]) / "train/7").read_bytes() == bytes([7]) * 100
    assert staging.digest_of(str(file)) is not None
    assert not present(said)["changed"]

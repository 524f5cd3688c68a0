"""Who reads is told by open files, whatever the path, and by GPUs that compute."""

import os
from itertools import chain, repeat
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import mounts, users


def test_an_open_file_is_told_by_its_filesystem(tmp_path: Path) -> None:
    device = mounts.mount_of(mounts.read_mounts(), str(tmp_path))["device"]
    (tmp_path / "file").write_bytes(b"x")
    with (tmp_path / "file").open("rb"):
        assert any(said.endswith(f"({os.getpid()})") for said in users.readers_of(device))
    assert users.readers_of("9999:0") == []


@pytest.mark.parametrize(
    ("text", "busy"),
    [("0, 97\n1, 0\n", ["GPU 0 (97%)"]), ("0, 3\n", []), ("0, [N/A]\n", []), ("", [])],
)
def test_a_gpu_at_work_is_told(text: str, busy: list[str]) -> None:
    assert users.parse_utilisation(text) == busy


def test_a_node_without_a_driver_has_no_busy_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert users.busy_gpus() == []


def test_readers_below_a_folder_are_told_though_they_open_a_file_only_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = chain([[], ["python3 (7)"], ["python3 (8)"], ["python3 (7)"]], repeat([]))
    monkeypatch.setattr(users, "readers_of", lambda device: next(looks) if device == "0:7" else ["everybody (1)"])
    own = {"point": "/mnt/own", "type": "ext4", "device": "8:1"}  # a folder that is made a shared mount
    fuse = {"point": "/mnt/own/set/data", "type": "fuse.alluxio-fuse", "device": "0:7"}
    assert users.readers_at("/mnt/own/set", [own, fuse], seconds=0.6) == ["python3 (7)", "python3 (8)"]
    assert users.readers_at("/mnt/ow", [own, fuse], seconds=0.3) == []

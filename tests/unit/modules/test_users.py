"""Who reads is told by open files, whatever the path, and by GPUs that compute."""

import os
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

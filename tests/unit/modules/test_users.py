"""Who reads is told by open files, whatever the path, and by GPUs that compute."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import gpu, mount_table, users


@pytest.mark.parametrize(
    ("text", "busy"),
    [("0, 97\n1, 0\n", ["GPU 0 (97%)"]), ("0, 3\n", []), ("0, [N/A]\n", []), ("", [])],
)
def test_a_gpu_at_work_is_told(text: str, busy: list[str]) -> None:
    assert gpu.parse_utilisation(text) == busy


def test_a_node_without_a_driver_has_no_busy_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert gpu.busy_gpus() == []


def test_readers_below_a_folder_are_told_once_and_together(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"point": "/mnt/own", "type": "ext4", "source": "/dev/sda1", "device": "8:1", "root": "/mnt/own"}  # bound
    fuse = {"point": "/mnt/own/set/data", "type": "fuse.alluxio-fuse", "source": "alluxio-fuse", "device": "9999:7"}
    fuse |= {"root": "/"}
    looks = iter([["python3 (7)"], ["python3 (8)", "python3 (7)"]])
    monkeypatch.setattr(users, "readers_of", lambda *shown: next(looks) if shown == (fuse,) else ["everybody (1)"])
    monkeypatch.setattr(users, "openers", lambda points, seconds, _: [f"{points[0]} ({seconds:g})"])
    told = ["python3 (7)", "/mnt/own/set/data (2)", "python3 (8)"]
    assert users.readers_at("/mnt/own/set", [own, fuse], seconds=2) == told
    assert users.readers_at("/mnt/ow", [own, fuse], seconds=2) == []


@pytest.mark.parametrize("trouble", [PermissionError(1, "fanotify_init"), None])
def test_a_kernel_that_does_not_tell_leaves_what_is_open(
    monkeypatch: pytest.MonkeyPatch, mount: dict[str, str], trouble: OSError | None
) -> None:
    """Or a mount that is hung."""

    def openers(*_: object) -> list[str]:
        if trouble:
            raise trouble
        time.sleep(60)
        return []

    monkeypatch.setattr(users, "openers", openers)
    monkeypatch.setattr(users, "TIMEOUT_S", 0.1)
    with Path(mount["point"], "file").open("rb"):
        assert any(said.endswith(f"({os.getpid()})") for said in users.readers_at(mount["point"], [mount], seconds=0.1))


def test_who_reads_what_fuse_served_there_before_is_told(mount: dict[str, str], tmp_path: Path) -> None:
    """Through a mount that is in no namespace any more, as that of a path that shows a copy now."""
    subprocess.run(["mount", "--bind", mount["point"], str(tmp_path)], check=True)
    try:
        held = (tmp_path / "file").open("rb")
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)
    with held:
        assert any(said.endswith(f"({os.getpid()})") for said in users.readers_at(mount["point"], [mount]))
    assert not any(said.endswith(f"({os.getpid()})") for said in users.readers_at(mount["point"], [mount]))


@pytest.fixture
def mount() -> Iterator[dict[str, str]]:
    """A folder on a filesystem of which no program runs, as if one of FUSE were mounted there."""
    with TemporaryDirectory(dir="/dev/shm") as folder:
        Path(folder, "file").write_bytes(b"x")
        below = mount_table.mount_of(mount_table.read_mounts(), folder)
        yield {"point": folder, "type": "fuse.alluxio-fuse", "device": below["device"], "root": "/"}

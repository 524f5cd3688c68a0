"""Settings of a mount hold for as long as they are wanted, and not longer, however that ends."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import fuse_connection, trained, tuned

DEVICE = "0:77"
BEFORE = {"read_ahead_kb": 2048, "max_background": 64, "congestion_threshold": 48}
WANTED = BEFORE | {"read_ahead_kb": 4, "max_background": 1}


@pytest.fixture
def kernel(tmp_path: Path) -> tuple[Path, Path]:
    """Folders as the kernel has them: connections, and backing devices."""
    connections, disks = tmp_path / "connections", tmp_path / "bdi"
    (connections / "77").mkdir(parents=True)
    (disks / DEVICE).mkdir(parents=True)
    fuse_connection.write_settings(DEVICE, BEFORE, connections, disks)
    return connections, disks


def test_they_hold_meanwhile_and_are_as_before_afterwards(kernel: tuple[Path, Path]) -> None:
    with fuse_connection.for_now(DEVICE, WANTED, *kernel):
        assert fuse_connection.read_settings(DEVICE, *kernel) == WANTED
    assert fuse_connection.read_settings(DEVICE, *kernel) == BEFORE


def test_as_before_after_a_failure(kernel: tuple[Path, Path]) -> None:
    with pytest.raises(OSError, match="gone"), fuse_connection.for_now(DEVICE, WANTED, *kernel):
        raise OSError("gone")
    assert fuse_connection.read_settings(DEVICE, *kernel) == BEFORE


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_as_before_when_told_to_end(kernel: tuple[Path, Path], number: signal.Signals) -> None:
    handler = signal.getsignal(number)
    with pytest.raises(SystemExit), fuse_connection.for_now(DEVICE, WANTED, *kernel):
        os.kill(os.getpid(), number)
    assert fuse_connection.read_settings(DEVICE, *kernel) == BEFORE
    assert signal.getsignal(number) == handler


def test_a_mount_whose_process_is_gone_is_told(kernel: tuple[Path, Path]) -> None:
    with pytest.raises(ValueError, match="the FUSE process of the mount is gone"):
        fuse_connection.read_settings("0:78", *kernel)


def test_mounts_of_others_are_left_alone() -> None:
    with pytest.raises(ValueError, match="is mounted there, and it is left alone"):
        fuse_connection.device_of("/proc")
    with pytest.raises(ValueError, match="nothing is mounted at /nowhere"):
        fuse_connection.device_of("/nowhere")


def test_the_planner_gets_what_a_training_measured(tmp_path: Path) -> None:
    assert trained.load(str(tmp_path)) == {}
    need = {"images_per_s": 2740.6, "image_bytes": 114660, "at": "2026-11-26T04:10:38Z"}
    text = json.dumps({"resnet50": {"identity": "NVIDIA H200", "kept": {"need": need}}})
    (tmp_path / trained.FILE).write_text(text)
    assert trained.load(str(tmp_path)) == {"resnet50": {"gpu": "NVIDIA H200", **need}}
    (tmp_path / trained.FILE).write_text(text[:20])
    assert trained.load(str(tmp_path)) == {}


def test_the_planner_gets_what_was_kept_and_not_what_was_tried(tmp_path: Path) -> None:
    one = '{"amount": 512, "why": "measured", "at": "2026-11-22T03:00:00Z"}'
    text = f'{{"set": {{"identity": "workers", "kept": {{"read_ahead_kb": {one}, "tried": [1]}}}}}}'
    (tmp_path / "tuned.json").write_text(text)
    assert tuned.load(str(tmp_path)) == {
        "set": {
            "behind": "workers",
            "kept": {"read_ahead_kb": {"amount": 512, "why": "measured", "at": "2026-11-22T03:00:00Z"}},
        }
    }
    (tmp_path / "tuned.json").write_text(text[:20])
    assert tuned.load(str(tmp_path)) == {}


def test_a_pod_that_may_not_mount_only_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*command: str) -> None:
        raise subprocess.CalledProcessError(32, command)

    monkeypatch.setattr(fuse_connection, "CONTROL", tmp_path)
    monkeypatch.setattr(fuse_connection, "_run", refused)
    with fuse_connection.control(only_look=True) as connections:
        assert fuse_connection.waiting("0:1", connections) is None
    with pytest.raises(subprocess.CalledProcessError), fuse_connection.control():
        pass

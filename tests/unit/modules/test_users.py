"""Who reads is told by open files, whatever the path, and by GPUs that compute."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

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


def test_readers_below_a_folder_are_told_once_and_together(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([["python3 (7)"], ["python3 (8)", "python3 (7)"]])
    monkeypatch.setattr(users, "readers_of", lambda *devices: next(looks) if devices == ("0:7",) else ["everybody (1)"])
    monkeypatch.setattr(users, "openers", lambda points, seconds: [f"{points[0]} ({seconds:g})"])
    own = {"point": "/mnt/own", "type": "ext4", "device": "8:1"}  # a folder that is made a shared mount
    fuse = {"point": "/mnt/own/set/data", "type": "fuse.alluxio-fuse", "device": "0:7"}
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


@pytest.fixture
def mount() -> Iterator[dict[str, str]]:
    """A folder on a filesystem of which no program runs, as if one of FUSE were mounted there."""
    with TemporaryDirectory(dir="/dev/shm") as folder:
        Path(folder, "file").write_bytes(b"x")
        device = mounts.mount_of(mounts.read_mounts(), folder)["device"]
        yield {"point": folder, "type": "fuse.alluxio-fuse", "device": device}


@contextmanager
def process(program: str, mount: dict[str, str]) -> Iterator[str]:
    """A process that runs `program`, its first line printed meaning that it has begun; gives "(its number)"."""
    with subprocess.Popen(
        [sys.executable, "-c", program, f"{mount['point']}/file"], stdout=subprocess.PIPE, cwd="/"
    ) as running:
        try:
            assert running.stdout is not None
            running.stdout.readline()
            yield f"({running.pid})"
        finally:
            running.kill()


def test_a_reader_that_has_a_file_open_for_microseconds_is_told(mount: dict[str, str]) -> None:
    program = """import sys, time
print(flush=True)
while True:
    with open(sys.argv[1], "rb") as file:
        file.read()
    time.sleep(0.1)"""
    with process(program, mount) as number:
        assert any(said.endswith(number) for said in users.readers_at(mount["point"], [mount], seconds=2))


def test_a_file_that_is_only_mapped_is_read(mount: dict[str, str]) -> None:
    program = """import mmap, os, sys, time
number = os.open(sys.argv[1], os.O_RDONLY)
held = mmap.mmap(number, 0, prot=mmap.PROT_READ)
os.closerange(3, 64)  # with the copy of Python's own that a mapping of Rust does not have
print(flush=True)
time.sleep(60)"""
    with process(program, mount) as number:
        assert any(said.endswith(number) for said in users.readers_of(mount["device"]))

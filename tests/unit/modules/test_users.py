"""Who reads is told by open files, whatever the path, and by GPUs that compute."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, repeat
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
    looks = chain([[], ["python3 (7)"], ["python3 (8)"], ["python3 (7)"]], repeat([]))
    asked: list[set[str]] = []

    class Look:
        def __init__(self, devices: set[str]) -> None:
            asked.append(devices)

        def users(self, _: object, *, mapped: bool = True) -> list[str]:
            return next(looks) if mapped else []

    monkeypatch.setattr(users, "_Look", Look)
    monkeypatch.setattr(users, "EVERYBODY_S", 0.1)
    own = {"point": "/mnt/own", "type": "ext4", "device": "8:1"}  # a folder that is made a shared mount
    fuse = {"point": "/mnt/own/set/data", "type": "fuse.alluxio-fuse", "device": "0:7"}
    assert users.readers_at("/mnt/own/set", [own, fuse], seconds=0.6) == ["python3 (7)", "python3 (8)"]
    assert users.readers_at("/mnt/ow", [own, fuse], seconds=0.3) == []
    assert asked[0] == {"0:7"}


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
    with subprocess.Popen([sys.executable, "-c", program, f"{mount['point']}/file"], stdout=subprocess.PIPE, cwd="/") as running:
        try:
            assert running.stdout is not None
            running.stdout.readline()
            yield f"({running.pid})"
        finally:
            running.kill()


def test_a_reader_that_has_a_file_open_one_moment_in_two_hundred_is_told(mount: dict[str, str]) -> None:
    program = """import sys, time
print(flush=True)
while True:
    with open(sys.argv[1], "rb") as file:
        file.read()
        time.sleep(0.0005)
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

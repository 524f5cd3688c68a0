"""Readers are told whatever a dataset's path is made of, in whatever container they are, and however they read."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table, namespaces, opens, users
from compositions import FILE, WAYS, composition

OPEN = "held = open(sys.argv[1], 'rb')"
MAPPED = """number = os.open(sys.argv[1], os.O_RDONLY)
held = mmap.mmap(number, 0, prot=mmap.PROT_READ)
os.closerange(3, 64)  # with the copy of Python's own that a mapping of Rust does not have"""
FOR_MICROSECONDS = """print(flush=True)
while True:
    open(sys.argv[1], "rb").close()
    time.sleep(0.1)"""
CONTAINER = ("unshare", "--mount", "--propagation", "slave")


@contextmanager
def reader(how: str, file: Path, *container: str) -> Iterator[str]:
    """A process that reads; gives how it is told."""
    program = f"import mmap, os, sys, time\n{how}\nprint(flush=True)\ntime.sleep(600)"
    command = [*container, sys.executable, "-c", program, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd="/") as running:
        try:
            assert running.stdout is not None
            running.stdout.readline()
            yield f"({running.pid})"
        finally:
            running.kill()


def told(point: Path, seconds: float = 0) -> str:
    return " ".join(users.readers_at(str(point), mount_table.read_mounts(), seconds))


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """How it is composed."""
    return str(request.param)


@pytest.fixture
def point(way: str, tmp_path: Path) -> Iterator[Path]:
    """Where a composition is mounted."""
    with composition(way, tmp_path) as made:
        yield made


@pytest.mark.parametrize("container", [(), CONTAINER], ids=["host", "container"])
@pytest.mark.parametrize("how", [OPEN, MAPPED], ids=["open", "mapped"])
def test_who_holds_a_file_is_told(point: Path, how: str, container: tuple[str, ...]) -> None:
    assert told(point) == ""
    with reader(how, point / FILE, *container) as number:
        assert number in told(point)
        assert number in told(point.parent)


def test_who_holds_one_for_microseconds_is_told(point: Path) -> None:
    with reader(FOR_MICROSECONDS, point / FILE, *CONTAINER) as number:
        assert number in told(point, seconds=1)


def test_who_looks_is_told_as_no_reader(tmp_path: Path) -> None:
    """Each event opens its file once more, also in the layers below, which are looked at, too."""
    with composition("data-only overlay", tmp_path) as point, reader(FOR_MICROSECONDS, point / FILE) as number:
        (found,) = opens.openers([str(point), str(tmp_path / "media")], 1, lambda _: True)
        assert number in found


def test_who_opened_while_others_were_looked_at_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel has told of it, and the look takes longer than it was to last."""
    pause, seconds = 0.25, 2.0
    monkeypatch.setattr(opens, "PAUSE_S", pause)
    with composition("tmpfs", tmp_path) as point, ExitStack() as begun:
        late: list[str] = []

        def read() -> None:
            for _ in range(int(seconds / pause) + 1):
                subprocess.run(["cat", point / FILE], stdout=subprocess.DEVNULL, check=True)
            late.append(begun.enter_context(reader(OPEN, point / FILE)))

        timer = threading.Timer(0.2, read)
        timer.start()
        found = opens.openers([str(point)], seconds, lambda _: True)
        timer.join()
        assert any(late[0] in one for one in found)


@pytest.mark.parametrize("how", [OPEN, MAPPED, FOR_MICROSECONDS], ids=["open", "mapped", "for microseconds"])
def test_who_reads_the_folder_beside_it_is_not_told(point: Path, how: str) -> None:
    with reader(how, point.parent / "media/neighbour" / FILE):
        assert told(point, seconds=0.5) == ""


@pytest.mark.parametrize("how", [OPEN, MAPPED], ids=["open", "mapped"])
def test_who_holds_a_file_of_what_was_mounted_before_is_told(point: Path, way: str, how: str, tmp_path: Path) -> None:
    with reader(how, point / FILE) as number:
        (tmp_path / "next").mkdir()
        with composition(way, tmp_path / "next") as after:
            subprocess.run(["umount", "--lazy", str(point)], check=True)
            subprocess.run(["mount", "--bind", str(after), str(point)], check=True)
            assert number in told(point)


def test_who_reads_in_a_container_that_has_just_begun_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mounts came after the look at all mounts, before that at all processes."""
    really, begun = namespaces.processes, ExitStack()

    def processes() -> list[Path]:
        begun.enter_context(reader(OPEN, shown / FILE, *CONTAINER))
        return really()

    with composition("tmpfs", tmp_path) as shown, begun:
        monkeypatch.setattr("ansible_collections.alluxio.fuse.plugins.module_utils.users.processes", processes)
        assert told(shown)

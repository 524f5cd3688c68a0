"""A path goes from one composition to the next under its readers, in every container, and shows right bytes alone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    compositions,
    mount_calls,
    mount_table,
    namespaces,
    staging,
)

PUBLICATIONS = 50
FILES = ("a/staged", "b/not staged", "c")
# Reads every file again and again, and one that it has open from the beginning; counts its rounds in a byte.
READER = f"""import mmap, signal, sys
from pathlib import Path
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
counted = open(sys.argv[2], "r+b")
rounds = mmap.mmap(counted.fileno(), 1)
held = open(sys.argv[1] + "/c", "rb")
print("reads", flush=True)
while True:
    rounds[0] = (rounds[0] + 1) % 256
    for name in {FILES!r}:
        assert Path(sys.argv[1], name).read_bytes() == name.encode() * 1000, name
    held.seek(0)
    assert held.read() == b"c" * 1000
"""
CONTAINER = ("unshare", "--mount", "--propagation", "slave")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """Where a dataset is read, below a folder that shares its mounts."""
    parent = tmp_path / "parent"
    (parent / "data").mkdir(parents=True)
    subprocess.run(["mount", "--bind", str(parent), str(parent)], check=True)
    subprocess.run(["mount", "--make-rshared", str(parent)], check=True)
    yield parent / "data"
    subprocess.run(["umount", "--lazy", "--recursive", str(parent)], check=True)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[[bool], str]]:
    """Makes a view of the next composition: of the whole dataset, or of a part that is staged before the rest."""
    views: list[str] = []
    slow = _folder(tmp_path / "fuse", FILES)

    def view(whole: bool) -> str:
        base = tmp_path / f"generation{len(views)}"
        views.append(str(base / "view"))
        (base / "view").mkdir(parents=True)
        marker = f"generation {len(views) - 1}"
        if whole:
            compositions.view_of_folder(_folder(base / "files", (*FILES, marker)), views[-1])
        else:
            names = (*FILES, marker)
            about = [compositions.Name(name, 1000 * len(name), 123456) for name in names]
            compositions.write_names(str(base / "names"), about, staging.Rights(7, 8, 0o755))
            layers = [_folder(base / "files", (FILES[0], marker)), slow]
            compositions.view_of_layers(str(base / "names"), layers, views[-1])
        return views[-1]

    yield view
    for one in views:
        mount_calls.detach(one)


def _folder(folder: Path, names: tuple[str, ...]) -> str:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode() * 1000)
    return str(folder)


class Reader:
    """A process that reads what is at a path."""

    def __init__(self, path: Path, rounds: Path, *where: str) -> None:
        rounds.write_bytes(b"\0")
        self._rounds = rounds
        command = [*where, sys.executable, "-c", READER, str(path), str(rounds)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout is not None
        self.process.stdout.readline()

    @property
    def root(self) -> str:
        """Where this process sees its files."""
        return f"/proc/{self.process.pid}/root"

    def go_round(self) -> None:
        """Wait until it has read everything once more, from beginning to end."""
        before = self._rounds.read_bytes()[0]
        while (self._rounds.read_bytes()[0] - before) % 256 < 2 and self.process.poll() is None:
            time.sleep(0.001)

    def end(self) -> tuple[int, str]:
        """Its exit status and what it complained about."""
        self.process.terminate()
        said = self.process.communicate()[1].decode()
        return self.process.returncode, said


@pytest.fixture
def readers(path: Path, made: Callable[[bool], str], tmp_path: Path) -> Iterator[list[Reader]]:
    """One on the host and one in a container, both begun with the first composition."""
    compositions.publish(made(True), str(path))
    running = [Reader(path, tmp_path / "host"), Reader(path, tmp_path / "container", *CONTAINER)]
    yield running
    for one in running:
        one.end()


def test_a_filesystem_is_asked_for_direct_reads(tmp_path: Path) -> None:
    """A disk's knows them, a ramfs does not."""
    assert compositions.opens_directly(sys.executable)
    subprocess.run(["mount", "-t", "ramfs", "ramfs", tmp_path], check=True)
    try:
        (tmp_path / "file").write_bytes(b"x")
        assert not compositions.opens_directly(str(tmp_path / "file"))
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_readers_see_right_bytes_through_fifty_publications(
    path: Path, made: Callable[[bool], str], readers: list[Reader]
) -> None:
    for number in range(1, PUBLICATIONS + 1):
        compositions.publish(made(number % 2 == 0), str(path))
        for one in readers:
            one.go_round()
            assert Path(f"{one.root}{path}/generation {number}").exists()
            table = mount_table.parse_mountinfo(Path(f"/proc/{one.process.pid}/mountinfo").read_text())
            assert sum(mount["point"] == str(path) for mount in table) == 1
    assert [one.end() for one in readers] == [(0, ""), (0, "")]


def test_a_kernel_that_cannot_mount_beneath_changes_nothing_under_readers(
    path: Path,
    made: Callable[[bool], str],
    readers: list[Reader],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    really = mount_calls.attach

    def attach(handle: int, point: str, beneath: bool = False) -> None:
        if beneath:
            raise OSError(22, "as before Linux 6.5")
        really(handle, point)

    monkeypatch.setattr(mount_calls, "attach", attach)
    before = mount_table.mount_at(mount_table.read_mounts(), str(path))
    with pytest.raises(compositions.InUseError, match=rf"is read by .*\({readers[0].process.pid}\)"):
        compositions.publish(made(False), str(path))
    assert mount_table.mount_at(mount_table.read_mounts(), str(path)) == before
    for one in readers:
        one.end()
    compositions.publish(made(False), str(path))
    assert (path / "b/not staged").stat().st_mtime == 123456


def test_nobody_writes_through_a_path(path: Path, made: Callable[[bool], str]) -> None:
    for whole in (True, False):
        compositions.publish(made(whole), str(path))
        with pytest.raises(OSError, match="Read-only file system"):
            (path / "new").write_bytes(b"")


def test_a_path_in_use_is_withdrawn_only_when_told_so(path: Path, readers: list[Reader]) -> None:
    with pytest.raises(compositions.InUseError, match=rf"\({readers[1].process.pid}\)"):
        compositions.withdraw(str(path))
    assert compositions.withdraw(str(path), in_use=True)
    assert not compositions.withdraw(str(path))
    shown = {mount["point"] for _, mount in namespaces.every_mount()}
    assert str(path) not in shown


def test_layers_are_tried_out_of_sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert compositions.can_layer()
    with monkeypatch.context() as changed:
        changed.setattr(compositions, "METACOPY", "user.overlay.metacopy")
        assert not compositions.can_layer()
    monkeypatch.setattr(compositions, "SOURCE", "x" * 5000)  # an overlay that the kernel refuses, as before Linux 6.5
    assert not compositions.can_layer()
    assert list(tmp_path.iterdir()) == []
    assert not [one for one in mount_table.read_mounts() if one["point"].startswith(str(tmp_path))]


def test_a_kernel_that_shows_no_parts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warm-up task that gives a copy up ends with this."""

    def older(kind: str, *_: str) -> None:
        raise OSError(22, f"mount of {kind}: Invalid argument")

    monkeypatch.setattr(mount_calls, "mount", older)
    with pytest.raises(OSError, match=r"Invalid argument: a part of a copy takes Linux 6\.5; `stage: off` gives up"):
        compositions.view_of_layers("/names", ["/files"], "/view")

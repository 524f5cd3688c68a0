"""Root follows no link that another user could have planted: real links, real users, a victim of our own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import immutable, speed, steps
from test_modules import run

READER = 5001
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to another user")


def state(path: Path) -> tuple[Any, ...]:
    """Owner, mode, flag and contents of a folder, with every byte."""
    about, handle = path.stat(), os.open(path, os.O_RDONLY)
    try:
        flag = immutable.get(handle)
    finally:
        os.close(handle)
    inside = sorted((str(one.relative_to(path)), one.read_bytes()) for one in path.rglob("*") if one.is_file())
    return about.st_uid, about.st_gid, about.st_mode, flag, inside


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder like /etc, and beside it `set`, a reader's own folder with the link `data` to it."""
    found = tmp_path / "victim"
    (found / "sub").mkdir(parents=True)
    (found / "sub/precious").write_text("bytes")
    (tmp_path / "set").mkdir()
    os.chown(tmp_path / "set", READER, READER)
    (tmp_path / "set/data").symlink_to(found)
    return found


ATTACKS: dict[str, tuple[str, dict[str, Any]]] = {
    "guard": ("folder", {"path": "set/data", "guard": True, "mode": "0555"}),
    "folder": ("folder", {"path": "set/data", "owner": READER}),
    "below": ("folder", {"path": "set/data/new", "owner": READER}),
    "remove": ("folder", {"path": "set/data/sub", "state": "absent", "contents": True}),
    "remove link": ("folder", {"path": "set/data", "state": "absent", "contents": True}),
    "give back": (
        "folder",
        {"path": "set/data", "state": "absent", "contents": True, "before": {"uid": 0, "gid": 0, "mode": "0777"}},
    ),
    "own": ("files", {"path": "set/data", "uid": READER, "mode": "0777"}),
    "write": ("files", {"path": "set/data/sub/precious", "content": "planted", "mode": "0666"}),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_planted_link_leads_nowhere(victim: Path, attack: str) -> None:
    module, given = ATTACKS[attack]
    arguments = {**given, "path": str(victim.parent / given["path"])}
    before = state(victim)
    answer = run(module, **({"items": [arguments]} if module == "files" else arguments))
    assert state(victim) == before
    assert answer["failed"]
    assert "symbolic link" in answer["msg"] or "belongs to 5001:5001" in answer["msg"]


def test_a_link_in_the_place_of_a_file_is_refused(victim: Path) -> None:
    link = victim.parent / "set/site"
    link.symlink_to(victim / "sub/precious")
    before = state(victim)
    answer = run("files", items=[{"path": str(link), "content": "planted", "mode": "0666"}])
    assert "is there and is no file" in answer["msg"]
    assert state(victim) == before


def test_what_is_removed_is_the_link(victim: Path) -> None:
    before = state(victim)
    assert run("folder", path=str(victim.parent / "set"), state="absent", contents=True)["changed"]
    assert not (victim.parent / "set").exists()
    assert state(victim) == before


@pytest.mark.parametrize(("owner", "mode"), [(READER, 0o755), (0, 0o777), (0, 0o1777)])
def test_a_mount_point_is_made_only_where_root_alone_writes(tmp_path: Path, owner: int, mode: int) -> None:
    parent = tmp_path / "set"
    parent.mkdir()
    os.chown(parent, owner, 0)
    parent.chmod(mode)
    arguments: dict[str, Any] = {"path": str(parent / "data"), "guard": True}
    answer = run("folder", **arguments)
    assert f"{parent} belongs to {owner}:0 with mode {mode:04o}" in answer["msg"]
    assert list(parent.iterdir()) == []
    os.chown(parent, 0, READER)
    parent.chmod(0o750)
    try:
        assert run("folder", **arguments)["changed"]
        assert (parent / "data").stat().st_mode & 0o7777 == 0
        assert not run("folder", **arguments)["changed"]
    finally:
        run("folder", path=str(parent / "data"), state="absent")


def test_a_link_of_roots_is_followed(tmp_path: Path) -> None:
    """A data disk that root has linked to is one's own affair; a chain of links ends."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    (tmp_path / "absolute").symlink_to(tmp_path / "link")
    assert run("folder", path=str(tmp_path / "absolute/tier"))["changed"]
    assert (tmp_path / "disk/tier").is_dir()
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"):
        steps.folder(tmp_path / "round/x")


def test_a_folder_swapped_for_a_link_meanwhile(victim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between looking and opening, the reader replaces a real folder by a link."""
    inner, real = victim.parent / "set/data", steps._step

    def swap(here: int, name: str) -> Any:
        if name == "data":
            inner.rmdir()
            inner.symlink_to(victim)
        return real(here, name)

    inner.unlink()
    inner.mkdir()
    monkeypatch.setattr(steps, "_step", swap)
    with pytest.raises(NotADirectoryError):
        steps.folder(inner / "sub")


@pytest.mark.skipif(not speed.fio(), reason="no fio")
def test_a_disk_is_measured_beside_what_others_planted(victim: Path) -> None:
    """fio writes over a file that is large enough, and root's fio would do so through a link."""
    folder, target = victim.parent / "set", victim / "large"
    with target.open("wb") as file:
        file.truncate(speed.SIZE)
    for name in (".speed", "speed"):
        (folder / name).symlink_to(target)
    assert speed.measure(str(folder))["read_mb_s"] > 0
    assert target.read_bytes().count(0) == speed.SIZE
    assert sorted(path.name for path in folder.iterdir()) == [".speed", "data", "speed"]

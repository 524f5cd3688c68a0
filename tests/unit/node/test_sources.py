"""Sources are seen as the service user will see them."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table, ownership, sources
from ansible_collections.alluxio.fuse.plugins.module_utils.filesystems import read_filesystems

ME = os.getuid()


def state(path: Path, uid: int = ME, budget: float = 5) -> tuple[str, str | None]:
    found = sources.read_source(f"file://{path}", uid, budget)
    return found["state"], found["detail"]


def test_counted(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b/one").write_bytes(b"x" * 10)
    (tmp_path / "two").write_bytes(b"x" * 5)
    (tmp_path / ".hidden").write_bytes(b"x" * 500)
    (tmp_path / "link").symlink_to("two")
    found = sources.read_source(f"file://{tmp_path}", ME, 5)
    device = tmp_path.stat().st_dev
    assert found == {
        "state": "ok",
        "detail": None,
        "files": 2,
        "bytes": 15,
        "sizes": [[8, 1, 5], [16, 1, 10]],
        "number": f"{os.major(device)}:{os.minor(device)}",
    }
    assert sources.read_source(f"file://{tmp_path}/a%20b", ME, 5)["bytes"] == 10


def test_a_source_and_its_filesystem_have_the_same_number(tmp_path: Path) -> None:
    mounts = mount_table.read_mounts()
    holding = mount_table.mount_of(mounts, str(tmp_path))["point"]
    (tmp_path / "one").write_bytes(b"x")
    (found,) = [one for one in read_filesystems(mounts, ownership.empty("")) if one["mount"] == holding]
    assert sources.read_source(f"file://{tmp_path}", ME, 5)["number"] == found["number"]


def test_a_folder_that_takes_longer_than_allowed_is_not_counted_and_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        (tmp_path / str(number)).write_bytes(b"x")
    monkeypatch.setattr(sources, "hidden_name", lambda _: time.sleep(0.1))
    assert state(tmp_path, budget=0.2) == ("ok", "not counted: too many files for the time allowed")


def test_empty_folders_that_take_longer_than_allowed_are_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.scandir

    def slow(folder: str) -> Any:
        time.sleep(0.1)
        return really(folder)

    for number in range(20):
        (tmp_path / str(number)).mkdir()
    monkeypatch.setattr(os, "scandir", slow)
    assert state(tmp_path, budget=0.5) == ("ok", "not counted: too many files for the time allowed")


def test_a_file_that_a_user_cannot_read_is_told(tmp_path: Path) -> None:
    for name, text in (("right", "key"), ("empty", "")):
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in ("right", "empty", "none", "")]
    assert sources.unreadable(paths, ME) == {
        str(tmp_path / "empty"): "it is empty",
        str(tmp_path / "none"): "No such file or directory",
        str(tmp_path): "Is a directory",
    }


@pytest.mark.skipif(ME != 0, reason="only root can ask for another user")
def test_a_file_is_read_as_its_reader(tmp_path: Path) -> None:
    (tmp_path / "closed").write_text("key")
    (tmp_path / "closed").chmod(0o600)
    assert sources.unreadable([str(tmp_path / "closed")], 1000) == {str(tmp_path / "closed"): "Permission denied"}


def test_without_its_marker_a_source_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x")
    (tmp_path / ".dataset").write_bytes(b"imagenet\n")
    marker = {"file": ".dataset", "sha256": hashlib.sha256(b"imagenet\n").hexdigest()}

    def look(**change: str) -> tuple[str, str | None]:
        found = sources.read_source(f"file://{tmp_path}", ME, 5, {**marker, **change})
        return found["state"], found["detail"]

    assert look() == ("ok", None)
    assert look(file="other") == ("foreign", f"the marker {tmp_path}/other is missing")
    assert look(sha256="0" * 64) == ("foreign", f"the marker {tmp_path}/.dataset has another digest")


def test_missing_and_empty(tmp_path: Path) -> None:
    assert state(tmp_path)[0] == "empty"
    assert state(tmp_path / "nope")[0] == "missing"
    (tmp_path / "file").touch()
    assert state(tmp_path / "file/below")[0] == "missing"


def test_too_many_to_count(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "one").touch()
    found = sources.read_source(f"file://{tmp_path}", ME, 0)
    assert (found["state"], found["files"], found["sizes"]) == ("ok", None, None)


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_the_service_user_may_not_read_is_denied(what: str) -> None:
    if ME != 0:
        return  # only root can look with another user's eyes
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        folder = Path(root, "data")
        folder.mkdir(mode=0o755)
        (folder / "secret").write_bytes(b"x")
        assert state(folder, uid=1000)[0] == "ok"
        (folder if what == "folder" else folder / "secret").chmod(0o700)
        assert state(folder, uid=1000) == (
            "denied",
            f"uid 1000 may not read {folder if what == 'folder' else folder / 'secret'}",
        )

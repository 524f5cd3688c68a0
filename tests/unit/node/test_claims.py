"""What was on the node before the deployment is refused, or left; what the deployment made is its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import claims, ownership
from test_modules import run


@pytest.fixture
def where(tmp_path: Path) -> dict[str, Any]:
    return {"name": "a", "state_dir": str(tmp_path / "state")}


def item(path: Path, kind: str = "directory", **data: Any) -> dict[str, Any]:
    return {"kind": kind, "id": str(path), "data": {"role": "r", **data}}


def recorded(where: dict[str, Any]) -> list[dict[str, Any]]:
    path = Path(where["state_dir"], "owned.json")
    return list(json.loads(path.read_text())["items"]) if path.exists() else []


@pytest.mark.parametrize("data", [{"contents": True}, {"new": True}])
@pytest.mark.parametrize("check", [False, True])
def test_a_folder_of_others_is_never_recorded(
    tmp_path: Path, where: dict[str, Any], data: dict[str, Any], check: bool
) -> None:
    theirs = tmp_path / "alluxio"
    theirs.mkdir()
    (theirs / "jar").write_bytes(b"bytes")
    other = item(tmp_path / "other", contents=True)
    answer = run("owned", check=check, items=[other, item(theirs, **data)], **where)
    assert f"{theirs} holds jar, and this deployment did not make it" in answer["msg"]
    assert recorded(where) == []


@pytest.mark.parametrize("made", ["file", "link", "nothing"])
def test_what_is_no_folder_is_refused(tmp_path: Path, where: dict[str, Any], made: str) -> None:
    theirs = tmp_path / "theirs"
    if made == "file":
        theirs.touch()
    if made == "link":
        theirs.symlink_to(tmp_path / "gone")
    for kind in ("directory", "file"):
        answer = run("owned", items=[item(theirs, kind, new=True)], **where)
        assert answer.get("failed", False) is (made != "nothing")
    assert bool(recorded(where)) is (made == "nothing")


def test_an_interrupted_run_is_run_again(tmp_path: Path, where: dict[str, Any]) -> None:
    """It ended after the record was written, and again after the folder was filled."""
    mine = item(tmp_path / "mine", contents=True)
    assert run("owned", items=[mine], **where)["changed"]
    assert not run("owned", items=[mine], **where)["changed"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/half").touch()
    assert not run("owned", items=[mine], **where)["changed"]
    assert recorded(where) == [mine]


def test_a_folder_in_one_that_was_recorded_whole_is_ours(tmp_path: Path, where: dict[str, Any]) -> None:
    """The record of the release before names /opt/NAME with its contents."""
    home = tmp_path / "opt"
    run("owned", items=[item(home, contents=True)], **where)
    (home / "0a1b").mkdir(parents=True)
    (home / "0a1b/complete").touch()
    assert run("owned", items=[item(home, new=True), item(home / "0a1b", contents=True)], **where)["changed"]
    assert recorded(where) == [item(home, contents=True), item(home / "0a1b", contents=True)]


def test_what_is_recorded_with_it_does_not_count(tmp_path: Path, where: dict[str, Any]) -> None:
    above = tmp_path / "set"
    (above / "data").mkdir(parents=True)
    (above / ".owner").touch()
    answer = run("owned", items=[item(above, new=True), item(above / ".owner", "file"), item(above / "data")], **where)
    assert answer["changed"]


def test_an_empty_folder_that_was_there_gets_its_owner_back(tmp_path: Path, where: dict[str, Any]) -> None:
    """Made, filled, taken away: as it was before."""
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o751)
    was = theirs.stat()
    (answer,) = run("owned", items=[item(theirs, contents=True)], **where)["owned"]
    assert answer["data"]["before"] == {"uid": was.st_uid, "gid": was.st_gid, "mode": "0751"}
    assert run("folder", path=str(theirs), owner=os.geteuid(), mode="0700")["changed"]
    (theirs / "ours").mkdir()
    (theirs / "ours/file").touch()
    gone = {"path": str(theirs), "state": "absent", "contents": True, "before": answer["data"]["before"]}
    assert run("folder", **gone)["changed"]
    about = theirs.stat()
    assert (about.st_uid, about.st_gid, about.st_mode) == (was.st_uid, was.st_gid, was.st_mode)
    assert list(theirs.iterdir()) == []
    assert not run("folder", **gone)["changed"]


def test_what_others_put_in_a_folder_stays(tmp_path: Path, where: dict[str, Any]) -> None:
    """Things that were made are taken away one by one; a folder that then holds something is another's."""
    home = tmp_path / "opt"
    run("owned", items=[item(home, new=True), item(home / "ours", contents=True)], **where)
    (home / "ours").mkdir(parents=True)
    (home / "ours/file").touch()
    (home / "theirs").write_bytes(b"bytes")
    for one in reversed(recorded(where)):
        run("folder", path=one["id"], state="absent", contents=bool(one["data"].get("contents")))
    assert [(path.name, path.read_bytes()) for path in home.iterdir()] == [("theirs", b"bytes")]


def test_facts_tell_what_is_taken(tmp_path: Path, where: dict[str, Any]) -> None:
    for name in ("full", "ours", "empty"):
        (tmp_path / name).mkdir()
    run("owned", items=[item(tmp_path / "ours", contents=True)], **where)
    for name in ("full", "ours"):
        for number in range(5):
            (tmp_path / name / str(number)).touch()
    (tmp_path / "set/data").mkdir(parents=True)
    claims = [str(tmp_path / name) for name in ("full", "ours", "empty", "absent", "set")]
    answer = run("node_facts", claims=claims, mount_points=[f"{tmp_path}/set/data"], **where)
    assert answer["facts"]["taken"] == [{"path": f"{tmp_path}/full", "holds": ["0", "1", "2"]}]


def test_a_unit_of_others_is_refused_and_one_of_ours_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "UNITS", str(tmp_path))
    unit: dict[str, Any] = {"kind": "unit", "id": "a-stage.service", "data": {"role": "stage"}}
    assert claims.claimed({"items": []}, [unit]) == [unit]
    (tmp_path / unit["id"]).touch()
    with pytest.raises(ownership.RecordError, match=r"a-stage\.service is there, and this deployment did not make it"):
        claims.claimed({"items": []}, [unit])
    assert claims.claimed({"items": [unit]}, [unit]) == [unit]

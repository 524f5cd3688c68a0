"""Module stage, from the first copy to the one after the node was started again, on real mounts."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.action import stage as stage_action
from ansible_collections.alluxio.fuse.plugins.module_utils import assignments, staging
from ansible_collections.alluxio.fuse.plugins.modules import stage
from bundle import until
from manifests import save


@pytest.fixture
def said(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What a task says; the source is a mount, as FUSE's is."""
    source, path = tmp_path / "source", tmp_path / "path"
    (source / "train").mkdir(parents=True)
    path.mkdir()
    for number in range(20):
        (source / f"train/{number}").write_bytes(bytes([number]) * 100)
    manifest = save(source, tmp_path / "manifest.jsonl")
    subprocess.run(["mount", "--bind", str(source), str(source)], check=True)
    rights = {"uid": os.geteuid(), "gid": os.getegid(), "mode": "0755", "processes": 2, "seconds": 0.0}
    places = {"manifest": str(manifest), "source": str(source), "folder": str(tmp_path / "stage"), "path": str(path)}
    part = {"budget": 0, "per_file": 100, "assignments": str(tmp_path / "assignments"), "in_use": False}
    yield {**rights, **places, **part}
    subprocess.run(["umount", "--lazy", "--quiet", str(path)], check=False)
    subprocess.run(["umount", "--lazy", str(source)], check=True)


def present(said: dict[str, Any], *, check_mode: bool = False) -> dict[str, Any]:
    module: Any = SimpleNamespace(params=said, check_mode=check_mode)
    return stage.present(module)


def test_a_copy_is_made_once_and_compared_after_a_restart(said: dict[str, Any]) -> None:
    assert present(said, check_mode=True)["changed"]
    first = present(said)
    assert (first["complete"], first["staged"]["files"], first["former"]) == (True, 20, {"kept": [], "open": []})
    assert not present(said)["changed"]
    assert not present(said, check_mode=True)["changed"]
    file = next(Path(said["folder"]).glob("*/files/train/7"))
    file.write_bytes(b"x" * 100)
    subprocess.run(["umount", "--lazy", said["path"]], check=True)  # as a restart does
    assert present(said)["changed"]
    assert (Path(said["path"]) / "train/7").read_bytes() == bytes([7]) * 100
    assert staging.digest_of(str(file)) is not None
    assert not present(said)["changed"]


def test_who_waits_for_ever_stands_in_line(tmp_path: Path) -> None:
    """The kernel wakes it between two slices of another. One that only looks now and then would hardly ever get in."""
    folder = str(tmp_path)
    inode = f":{tmp_path.stat().st_ino} "

    def waits() -> bool:
        return any("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines())

    def wait() -> None:
        with assignments.alone(folder):
            pass

    with ThreadPoolExecutor() as pool, assignments.alone(folder):
        waiter = pool.submit(wait)
        until("it stands in line", waits, 30)
        assert not waiter.done()


def test_who_removes_a_copy_says_that_it_waits(said: dict[str, Any]) -> None:
    Path(said["assignments"]).mkdir()
    module: Any = SimpleNamespace(params={**said, "seconds": 0.1}, check_mode=False)
    with assignments.alone(said["assignments"]), pytest.raises(assignments.BusyError):
        stage.absent(module)
    assert not stage.absent(module)["changed"]


@pytest.mark.parametrize("window", [None, {"place": 0, "windows": 2}])
def test_a_run_that_waits_for_another_program_says_so(
    said: dict[str, Any], window: dict[str, int] | None, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The module answers after a while, and the action tells it and asks again."""
    asked = {**said, "seconds": 0.3, "state": "present", "window": window, "lacking": ""}
    Path(said["assignments"]).mkdir()
    told: list[str] = []
    monkeypatch.setattr(stage_action, "progress", told.append)
    monkeypatch.setattr(stage_action, "heading", lambda _: None)
    held = ExitStack()
    held.enter_context(assignments.alone(said["assignments"]))

    def module(**_: Any) -> dict[str, Any]:
        if told:
            held.close()
        with patch_module_args(asked), pytest.raises(SystemExit):
            stage.main()
        return dict(json.loads(capsys.readouterr().out))

    action = stage_action.ActionModule.__new__(stage_action.ActionModule)
    action._task = SimpleNamespace(args={}, check_mode=False)
    monkeypatch.setattr(action, "_execute_module", module)
    monkeypatch.setattr(ActionBase, "run", lambda *_: {})
    answer = action.run(task_vars={"inventory_hostname": "node1"})
    assert told[0] == f"node1: {stage_action.BUSY}"
    assert answer["changed"]
    assert answer["complete"]
    assert answer["staged"]["files"] > 0


def test_windows_bring_every_file_once_before_the_copy_is_shown(said: dict[str, Any], tmp_path: Path) -> None:
    """Of a window only what the node lacks is listed; the path shows the source until the copy is whole."""
    listed, windows = tmp_path / "listed", 3
    names = []
    for place in range(windows):
        window = said | {"window": {"place": place, "windows": windows}, "lacking": "", "most": 2000}
        told = present(window | {"lacking": str(listed)})
        lines = listed.read_text().split()
        assert told == {"changed": False, "lacking": len(lines)}
        names += lines
        assert present(window, check_mode=True)["changed"]
        Path(said["assignments"]).mkdir(exist_ok=True)
        brought = present(window)
        assert (brought["complete"], brought["staged"]["files"]) == (True, len(lines))
        assert not present(window)["changed"]
        assert present(window | {"lacking": str(listed)})["lacking"] == 0
        assert (Path(said["path"]) / "train/7").samefile(Path(said["source"]) / "train/7")
    assert sorted(names) == sorted(f"train/{number}" for number in range(20))
    assert list(Path(said["assignments"]).iterdir()) == []  # the keeper copies nothing meanwhile
    whole = present(said)
    assert (whole["changed"], whole["staged"]["files"]) == (True, 20)
    assert not (Path(said["path"]) / "train/7").samefile(Path(said["source"]) / "train/7")


def test_a_window_lists_no_more_than_workers_hold(said: dict[str, Any], tmp_path: Path) -> None:
    """The rest each node reads itself."""
    window = {"window": {"place": 0, "windows": 1}, "lacking": str(tmp_path / "listed"), "most": 1050}
    assert present(said | window)["lacking"] == 10
    assert len((tmp_path / "listed").read_text().split()) == 10


def test_a_name_with_two_lines_is_on_no_list_and_is_copied(said: dict[str, Any], tmp_path: Path) -> None:
    Path(said["assignments"]).mkdir()
    (Path(said["source"]) / "train/two\nlines").write_bytes(b"two")
    save(Path(said["source"]), Path(said["manifest"]))
    window = said | {"window": {"place": 0, "windows": 1}, "lacking": "", "most": 1 << 20}
    assert present(window | {"lacking": str(tmp_path / "listed")})["lacking"] == 20
    assert present(window)["staged"]["files"] == 21


def test_a_window_with_other_bytes_is_refused(said: dict[str, Any]) -> None:
    Path(said["assignments"]).mkdir()
    (Path(said["source"]) / "train/7").write_bytes(b"x" * 100)
    failures = []

    class Module(SimpleNamespace):
        def fail_json(self, **answer: Any) -> None:
            failures.append(answer["msg"])

    for place in range(2):
        window = {"window": {"place": place, "windows": 2}, "lacking": ""}
        module: Any = Module(params=said | window, check_mode=False)
        stage.present(module)
    assert len(failures) == 1
    assert "train/7: its bytes are not those of the manifest" in failures[0]


def test_windows_of_a_copy_that_is_not_wanted_any_more_are_removed(said: dict[str, Any]) -> None:
    present(said)
    new = Path(said["source"]) / "train/new"
    new.write_bytes(b"new")
    save(Path(said["source"]), Path(said["manifest"]))
    present(said | {"window": {"place": 0, "windows": 1}, "lacking": ""})
    assert len(list(Path(said["folder"]).glob("*/files"))) == 2
    new.unlink()
    save(Path(said["source"]), Path(said["manifest"]))
    assert present(said)["changed"]
    assert len(list(Path(said["folder"]).glob("*/files"))) == 1
    assert not present(said)["changed"]

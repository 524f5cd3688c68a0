"""Modules as Ansible runs them: arguments in, JSON out, the same on every Python that a node may have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table
from ansible_collections.alluxio.fuse.plugins.modules import files, shared_mount

from alluxio_fuse.plan.facts import Facts

ROOT = Path(__file__).parents[3]


def run(module: str, check: bool = False, **arguments: Any) -> dict[str, Any]:
    """Run a module of the collection in a process of its own."""
    given = {"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_check_mode": check, "_ansible_remote_tmp": "/tmp"}}
    answer = subprocess.run(
        [sys.executable, "-m", f"ansible_collections.alluxio.fuse.plugins.modules.{module}"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "collections"), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        check=False,
    )
    assert answer.stdout, answer.stderr
    return dict(json.loads(answer.stdout))


@pytest.fixture
def source() -> Iterator[Path]:
    """A folder with one file that the services' user reads, too; others' temporary folders it does not enter."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "one").write_bytes(b"x")
        yield Path(folder)


def test_facts_are_what_the_planner_reads(tmp_path: Path, source: Path) -> None:
    answer = run(
        "node_facts",
        state_dir=str(tmp_path / "state"),
        mount_points=["/nope", str(source)],
        sources=[f"file://{source}", "s3://bucket"],
        ports=[1],
    )
    facts = Facts.model_validate(answer["facts"])
    assert facts.cpus > 0
    assert facts.memory.total > 2**28
    states = {path: point.state for path, point in facts.mount_points.items()}
    assert states == {"/nope": "absent", str(source): "files"}
    assert list(facts.sources) == [f"file://{source}"]
    assert facts.sources[f"file://{source}"].sizes == [(1, 1, 1)]
    assert any(filesystem.mount == "/" for filesystem in facts.filesystems)


def test_owned(tmp_path: Path) -> None:
    where: dict[str, Any] = {"name": "a", "state_dir": str(tmp_path / "state")}
    mine = {"kind": "mount", "id": "/x", "data": {"role": "mine"}}
    theirs = {"kind": "mount", "id": "/y", "data": {"role": "theirs"}}
    assert run("owned", check=True, items=[mine], **where)["changed"]
    assert not (tmp_path / "state").exists()
    assert run("owned", items=[mine, theirs], **where)["changed"]
    assert not run("owned", items=[mine], **where)["changed"]
    assert run("owned", role="mine", **where)["owned"] == [mine]
    assert run("owned", items=[mine, theirs], state="absent", **where)["changed"]
    assert not (tmp_path / "state").exists()
    assert run("owned", items=[{"kind": "planet", "id": "x"}], **where)["failed"]


def test_runs_at_once_lose_nothing_of_the_record(tmp_path: Path) -> None:
    """Many processes that each add what is theirs, and then strike it out, whoever is first."""
    where: dict[str, Any] = {"name": "a", "state_dir": str(tmp_path / "state")}
    items = [{"kind": "mount", "id": f"/{number}", "data": {}} for number in range(12)]

    def at_once(state: str) -> None:
        with ThreadPoolExecutor(len(items)) as pool:
            answers = list(pool.map(lambda item: run("owned", items=[item], state=state, **where), items))
        assert all(answer["changed"] for answer in answers), answers

    at_once("present")
    assert sorted(item["id"] for item in run("owned", **where)["owned"]) == sorted(str(item["id"]) for item in items)
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["owned.json"]
    at_once("absent")
    assert not (tmp_path / "state").exists()


def test_folder(tmp_path: Path) -> None:
    path = tmp_path / "a"
    me: dict[str, Any] = {"path": str(path), "owner": tmp_path.stat().st_uid, "mode": "0750"}
    assert run("folder", check=True, **me)["changed"]
    assert not path.exists()
    assert run("folder", **me)["changed"]
    assert not run("folder", **me)["changed"]
    assert path.stat().st_mode & 0o7777 == 0o750
    (path / "file").touch()
    assert not run("folder", path=str(path), state="absent")["changed"]
    assert (path / "file").exists()
    before = {"uid": tmp_path.stat().st_uid, "gid": tmp_path.stat().st_gid, "mode": "0700"}
    assert run("folder", path=str(path), state="absent", contents=True, before=before)["changed"]
    assert list(path.iterdir()) == []
    assert run("folder", path=str(path), state="absent", contents=True)["changed"]
    assert not path.exists()
    assert not run("folder", path=str(path), state="absent", contents=True)["changed"]


def test_folder_never_crosses_into_a_mount() -> None:
    answer = run("folder", path="/proc", state="absent", contents=True)
    assert answer["failed"]
    assert "still mounted" in answer["msg"]


def test_check_mode_takes_what_serves_a_mount_as_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is served is about to go, in the run as it would be."""
    assert run("folder", check=True, path="/proc", state="absent")["changed"]
    served = {"point": "/a/data", "type": "fuse.alluxio-fuse", "source": "alluxio-fuse", "shared": True}
    table = [{**served, "point": "/a", "type": "ext4"}, served]
    monkeypatch.setattr(mount_table, "mount_point_state", lambda *_: {"state": "mounted"})
    assert shared_mount.absent("/a", table, check=True) == [["umount", "/a"]]
    with pytest.raises(ValueError, match="/a/data is still mounted"):
        shared_mount.absent("/a", table, check=False)


@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/comm"])
def test_kernel_setting_is_one(path: str) -> None:
    assert "no kernel setting" in run("kernel_setting", path=path, value="x")["msg"]


def test_kernel_setting_reads() -> None:
    answer = run("kernel_setting", check=True, path="/proc/sys/kernel/ostype", value="Linux")
    assert (answer["changed"], answer["before"]) == (False, "Linux")


def test_files_are_written_once_and_never_shown(tmp_path: Path) -> None:
    folder, path = tmp_path / "conf", tmp_path / "conf/site"
    mine = {"uid": os.getuid(), "gid": os.getgid()}
    items = [
        {"path": str(folder), "mode": "0755", **mine},
        {"path": str(path), "content": "key=canary-value\n", "mode": "0600", **mine},
    ]
    assert run("files", check=True, items=items)["paths"] == [str(folder), str(path)]
    assert not folder.exists()
    answer = run("files", items=items)
    assert answer["changed"]
    assert "canary-value" not in json.dumps(answer)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("key=canary-value\n", 0o600)
    assert not run("files", items=items)["changed"]
    path.chmod(0o644)
    (told,) = run("files", items=items)["differences"]
    assert (told["what"], told["now"][-4:], told["planned"][-4:]) == (str(path), "0644", "0600")
    path.write_text("key=other\n")
    assert run("files", items=items)["paths"] == [str(path)]
    assert path.read_text() == "key=canary-value\n"
    assert "is no folder" in run("files", items=[{"path": str(path), "mode": "0755"}])["msg"]


def test_a_file_has_its_mode_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are in it: `copy` sets owner and mode of a new file only after it is in place."""
    seen: list[int] = []
    replace = os.replace

    def noted(new: str, name: str, src_dir_fd: int, dst_dir_fd: int) -> None:
        seen.append((tmp_path / new).stat().st_mode & 0o777)
        replace(new, name, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "replace", noted)
    mine = {"uid": os.getuid(), "gid": os.getgid()}
    files.write({"path": str(tmp_path / "site"), "content": "key", "mode": "0640", **mine})
    assert seen == [0o640]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]

"""What a bundle holds, what is said of what it does not, and who can read it."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.action import diagnosis_bundle
from ansible_collections.alluxio.fuse.plugins.module_utils import diagnosis
from fleets import local
from planned import value

from alluxio_fuse.diagnosis import bundle, parts
from alluxio_fuse.diagnosis.parts import Part
from alluxio_fuse.diagnosis.redaction import Redactor
from alluxio_fuse.plan import Plan, plan


def read(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        members = {one.name: archive.extractfile(one) for one in archive}
        assert {one.mode for one in archive} == {0o600}
        return {name.partition("/")[2]: file.read().decode() for name, file in members.items() if file}


def test_a_bundle_is_its_owner_s_and_tells_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "diagnosis.tar.gz"
    told = [
        Part(path="plan.json", text='{"a": "hidden-one"}'),
        Part(path="log.txt", text="key hidden-one\n", cut=True),
        Part(path="nodes/n2", why="no route with hidden-one"),
    ]
    index = bundle.write(path, "fuse", told, Redactor(["hidden-one"]))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["diagnosis.tar.gz"]
    files = read(path)
    assert json.loads(files["index.json"]) == index
    assert set(files) == {"index.json", "plan.json", "log.txt"}
    assert not [text for text in files.values() if "hidden-one" in text]
    assert [(one["path"], one["cut"]) for one in index["parts"]] == [("plan.json", False), ("log.txt", True)]
    assert index["missing"] == [{"path": "nodes/n2", "why": "no route with [redacted]"}]
    assert "not in it  nodes/n2: no route" in bundle.lines(str(path), index)
    bundle.write(path, "fuse", told, Redactor([]))


def test_what_a_node_cannot_tell_keeps_nothing_else_back(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("there")
    found = diagnosis.gather(
        [
            {"path": "a", "argv": ["no-such-program"]},
            {"path": "b", "argv": ["false"]},
            {"path": "c", "argv": ["uname"]},
        ],
        [{"path": "d", "file": str(file)}, {"path": "e", "file": str(tmp_path / "none")}],
        [{"path": "f", "address": "127.0.0.1:1", "page": "x"}],
        node=False,
    )
    told = {one["path"]: one for one in found}
    assert {path for path, one in told.items() if one["why"]} == {"a", "b", "e", "f"}
    assert told["c"]["text"] == "Linux\n"
    assert told["d"]["text"] == "there"
    assert "false ended with 1" in told["b"]["why"]


def test_a_command_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "COMMAND_S", 0.1)
    [part] = diagnosis.gather([{"path": "a", "argv": ["sleep", "60"]}], [], [], node=False)
    assert part["why"] == "sleep has not ended within 0.1 s"


def test_a_long_log_keeps_its_last_whole_lines() -> None:
    assert diagnosis.ending("one\ntwo\nthree\n", 8) == ("three\n", True)
    assert diagnosis.ending("one\n", 8) == ("one\n", False)
    assert diagnosis.ending("password=half-a-secret", 8) == ("", True)


def test_processes_of_alluxio_are_told_with_their_flags(tmp_path: Path) -> None:
    for pid, command in {"7": "/jdk/bin/java\0-Xmx1g\0alluxio.worker.AlluxioWorker\0", "8": "bash\0alluxio\0"}.items():
        folder = tmp_path / pid
        (folder / "fd").mkdir(parents=True)
        (folder / "fd" / "0").touch()
        for name, text in {"cmdline": command, "status": "Threads: 1", "limits": "", "cgroup": ""}.items():
            (folder / name).write_text(text)
    [one] = diagnosis.processes(str(tmp_path))
    assert (one["pid"], one["command"][1], one["open_files"]) == (7, "-Xmx1g", 1)


@pytest.fixture(scope="module")
def example() -> Plan:
    return plan(local())


def test_every_service_is_asked_for_its_log_and_for_what_it_runs_with(example: Plan) -> None:
    host = next(iter(example.nodes))
    asked = parts.questions(example, host)
    logs = [one for one in asked["commands"] if one["path"].endswith("/log.txt")]
    assert logs
    assert all(str(parts.LINES) in one["argv"] for one in logs)
    assert {one["path"].partition("/")[0] for one in logs} == {
        one["path"].partition("/")[0] for one in asked["files"] if one["path"].endswith(parts.SITE_FILE)
    }
    pages = parts.addresses(example, host, {}, asks_for_all=True)
    assert {one["path"].rpartition("-")[2] for one in pages} == {"metrics.json", "report.json"}
    mount_points = [one.mount_point for one in example.fleet["datasets"].amount]
    assert not [one for one in asked["commands"] if set(one["argv"]) & {*mount_points}]


def test_nobody_is_asked_where_a_scheduler_does_not_say_who(example: Plan) -> None:
    there = replace(example, fleet={**example.fleet, "platform": value("kubernetes")})
    host = next(iter(example.nodes))
    assert parts.addresses(there, host, {}, asks_for_all=True) == []
    assert not [one for one in parts.questions(there, host)["commands"] if "podman" in one["argv"]]


def test_a_node_that_is_not_reached_is_an_entry(example: Plan) -> None:
    told: dict[str, Mapping[str, Any]] = {
        "n1": {"node": {"parts": [{"path": "a", "text": "x"}]}, "untold": "Ask the engine: no podman"},
        "n2": {"reached": {"unreachable": True, "msg": "timed out"}},
    }
    found = {one.path: one for one in parts.assemble(example, told)}
    assert found["nodes/n1/a"].text == "x"
    assert found["nodes/n2"].why == "timed out"
    assert found["status.txt"].why == "Ask the engine: no podman"
    assert {"plan.json", "plan.txt", "versions.json"} <= found.keys()


def test_secrets_of_every_host_are_known() -> None:
    hosts = {
        "n1": {"alluxio_credentials": {"a": {"secret_key": "one"}}, "other": "no"},
        "n2": {"ansible_become_password": "two", "vault_alluxio_credentials": {"b": "three"}},
    }
    assert sorted(diagnosis_bundle.known(hosts)) == ["one", "three", "two"]

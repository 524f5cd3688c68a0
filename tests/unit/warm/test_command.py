"""The command of a node tells how a task ended by its exit code, and refuses in words."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import users, warm_command, warm_tasks, warm_workers, warmer
from warmed import Warmed, describe

MOUNT = "/mnt/warmed/set/data"


@pytest.fixture
def run(warmed: Warmed, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """The command; its exit code, and what it said."""

    def command(*arguments: str) -> tuple[int, str]:
        code = warm_command.main(warmed.folder, arguments)
        said = capsys.readouterr()
        return code, said.out + said.err

    return command


def carried_out(warmed: Warmed) -> None:
    """Somebody carries one task out, as soon as there is one."""

    def work() -> None:
        while not warmed.go():
            time.sleep(0.02)

    warm_tasks.touch(warmed.folder)
    threading.Thread(target=work, daemon=True).start()


def test_a_prolog_waits_until_its_files_are_there(warmed: Warmed, run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    files = tmp_path / "list"
    files.write_text(f"{MOUNT}/class-0/000.bin\nclass-1/001.bin\n")
    carried_out(warmed)
    code, said = run("start", "--filelist", str(files), "--wait", "60", "--verify", "--quiet")
    assert code == 0
    assert "load workers" in said
    assert "done        2 of 2 files" in said
    assert warmed.held() == {"class-0/000.bin", "class-1/001.bin"}


def test_incomplete_is_1_and_tells_what_is_left(warmed: Warmed, run) -> None:  # type: ignore[no-untyped-def]
    (warmed.store / "class-0/003.bin").write_bytes(b"changed")
    carried_out(warmed)
    code, said = run("start", "--path", "class-0", "--quiet")
    assert code == 1
    assert "class-0/003.bin: it has 7 bytes, and the manifest says 1003" in said
    (listed,) = [line.rpartition(" ")[2] for line in said.splitlines() if "what is left" in line]
    assert Path(listed).read_text() == f"{MOUNT}/class-0/003.bin\n"


def test_refused_is_2_with_every_line(warmed: Warmed, run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    files = tmp_path / "list"
    files.write_text("class-0/000.bin\nnone\n/elsewhere\n")
    code, said = run("start", "--filelist", str(files))
    assert code == 2
    assert said.startswith("alluxio-warm: is below none of /mnt/warmed/set/data:\n  line 3: '/elsewhere'\n")
    assert "line 2: 'none'" in said
    assert run("start", "--bandwidth", "200M")[0] == 2
    assert run("start", "--filelist", str(tmp_path / "away"))[0] == 2
    assert run("start", "--filelist", str(tmp_path / "away"), "--carry-out")[0] == 1, "a Job makes another pod"
    assert run("start", "--share", "3/3")[0] == 2
    assert run("start", "--when-idle", "9", "--carry-out") == (2, f"alluxio-warm: {warm_command.NOT_IN_A_POD}\n")
    assert run("start", "--dataset", "other")[1] == "alluxio-warm: datasets: other: here mounts set\n"
    assert run("watch", "20260101-000000-abcd")[1].startswith("alluxio-warm: there is no task")
    assert warm_tasks.listed(warmed.folder) == []


def test_without_anybody_it_is_5_and_not_in_time_4(warmed: Warmed, run) -> None:  # type: ignore[no-untyped-def]
    code, said = run("start", "--path", "class-0")
    assert (code, "podman start warmed-warm" in said) == (5, True)
    warm_tasks.touch(warmed.folder)
    task = warm_tasks.listed(warmed.folder)[0][0]
    assert run("watch", task.id, "--wait", "0")[0] == 4
    assert run("cancel", task.id)[0] == 0
    warmed.go()
    assert run("watch", task.id)[0] == 3


def test_background_prints_the_name_alone(warmed: Warmed, run) -> None:  # type: ignore[no-untyped-def]
    warm_tasks.touch(warmed.folder)
    code, said = run("start", "--path", "class-0", "--background")
    (task, state), *_ = warm_tasks.listed(warmed.folder)
    assert (code, said, state.state) == (0, f"{task.id}\n", "waiting")
    warmed.go()
    assert f"{task.id}  load workers" in run("list")[1]
    assert json.loads(run("list", "--json")[1])[0]["done_files"] == 20


def test_dry_run_tells_and_does_nothing(warmed: Warmed, run) -> None:  # type: ignore[no-untyped-def]
    assert run("start", "--dry-run", "--path", "class-0") == (
        0,
        "20 files, 0.0 MB\n"
        "requests to the store: 20 at most, and none for what workers hold already\n"
        "it fits: it takes 0.0 MB, and all workers together hold 1.0 MB\n"
        "time: not known, as no bandwidth was said and none was measured here\n",
    )
    assert "time: 10 s, by the bandwidth, 1.6 MB/s" in run("start", "--dry-run", "--bandwidth", "1.5Mi")[1]
    assert (warm_tasks.listed(warmed.folder), warmed.reads()) == ([], [])
    warmed.start(paths=["class-1"])
    warmed.go()
    assert "by the last load here" in run("start", "--dry-run")[1]
    node = warm_tasks.node(warmed.folder)
    describe(warmed.folder, replace(node, tiers=[{"host": "here", "bytes": 1000}]))
    code, said = run("start", "--dry-run")
    assert (code, "it does not fit" in said) == (1, True)


def test_resume_goes_on(warmed: Warmed, run) -> None:  # type: ignore[no-untyped-def]
    task = warmed.start(paths=["class-2"])
    warm_tasks.ask(warmed.folder, task.id, "cancel")
    warmed.go()
    carried_out(warmed)
    assert run("resume", task.id)[0] == 0
    assert len(warmed.held()) == 20


@pytest.fixture
def in_process(warmed: Warmed, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command carries out itself asks the stand-in."""
    go_round = warmer.go_round
    monkeypatch.setattr(warmer, "go_round", lambda folder: go_round(folder, warmed.client))
    monkeypatch.setattr(warm_workers, "FIRST_REST_S", 0.01)


@pytest.mark.usefixtures("in_process")
def test_a_pod_carries_its_task_out_and_goes_on_under_its_name(warmed: Warmed, run) -> None:  # type: ignore[no-untyped-def]
    name = ("--task=warm-set", "--carry-out", "--quiet")
    (warmed.store / "class-0/003.bin").rename(warmed.store / "away")
    assert run("start", "--path", "class-0", *name)[0] == 1
    (warmed.store / "away").rename(warmed.store / "class-0/003.bin")
    before = len(warmed.reads())
    assert run("start", "--path", "class-0", *name)[0] == 0
    assert (len(warmed.held()), len(warmed.reads()) - before) == (20, 1)
    assert [task.id for task, _ in warm_tasks.listed(warmed.folder)] == ["warm-set"]
    with pytest.raises(SystemExit):
        run("start", "--task", "../else")


@pytest.mark.usefixtures("in_process")
def test_a_pod_that_is_made_anew_does_not_undo_a_cancel(warmed: Warmed, run) -> None:  # type: ignore[no-untyped-def]
    warm_tasks.touch(warmed.folder)
    assert run("start", "--task=warm-set", "--background")[0] == 0
    assert run("cancel", "warm-set")[0] == 0
    assert run("start", "--task=warm-set", "--carry-out", "--quiet")[0] == 3
    assert run("start", "--task=warm-set", "--carry-out", "--quiet")[0] == 3
    assert warmed.held() == set()


@pytest.mark.usefixtures("in_process")
def test_it_waits_for_who_is_at_work(warmed: Warmed, run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    looks = [["python (7)"], [], []]
    monkeypatch.setattr(users, "readers_at", lambda path, *_: looks.pop(0) if path == MOUNT else [])
    monkeypatch.setattr(warm_command, "LOOK_S", 0.01)
    code, said = run("start", "--when-idle", "0.001", "--path", "class-0")
    assert (code, said) == (2, "alluxio-warm: at work after 0 s: python (7)\n")
    assert warm_tasks.listed(warmed.folder) == []
    looks.insert(0, ["python (7)"])
    warm_tasks.touch(warmed.folder)
    assert run("start", "--when-idle", "60", "--path", "class-0", "--background")[0] == 0
    assert (len(looks), len(warm_tasks.listed(warmed.folder))) == (1, 1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_pod_does_not_wait_for_a_runner_that_died(warmed: Warmed, run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def dies(folder: str) -> str:
        raise MemoryError(folder)

    monkeypatch.setattr(warmer, "go_round", dies)
    assert run("start", "--carry-out", "--quiet")[0] == 5
    with pytest.raises(SystemExit):
        run("start", "--carry-out", "--background")


@pytest.mark.usefixtures("in_process")
def test_pods_share_the_files_by_their_index(warmed: Warmed, run) -> None:  # type: ignore[no-untyped-def]
    """Those of the second Job begin where the first one's end."""
    for share in ("0+0/3", "0+1/3"):
        assert run("start", "--share", share, "--carry-out", "--quiet")[0] == 0
    assert 0 < len(warmed.held()) < 60
    assert run("start", "--share", "1+1/3", "--carry-out", "--quiet")[0] == 0
    assert len(warmed.held()) == len(warmed.reads()) == 60
    assert run("start", "--share", "1+2/3", "--carry-out")[0] == 2


def test_one_runner_waits_for_another(warmed: Warmed) -> None:
    task = warmed.start(paths=["class-1"])
    second = threading.Thread(target=warmer.main, args=(warmed.folder,), kwargs={"ends": True}, daemon=True)
    with warm_tasks.only_runner(warmed.folder):
        second.start()
        second.join(0.3)
        assert second.is_alive()
        assert warmed.state(task).state == "waiting"
        warmed.go()
    second.join(10)
    assert not second.is_alive()
    assert len(warmed.reads()) == 20


@pytest.fixture
def policy_afterwards() -> Iterator[None]:
    """What runs in the thread of the tests leaves them the policy that they had."""
    yield
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@pytest.mark.usefixtures("policy_afterwards")
def test_the_runner_says_that_it_runs(warmed: Warmed, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []

    def go_round(folder: str) -> str:
        rounds.append(folder)
        if len(rounds) == 3:
            raise KeyboardInterrupt
        return ""

    monkeypatch.setattr(warmer, "go_round", go_round)
    monkeypatch.setattr(warmer, "REST_S", 0.01)
    assert not warm_tasks.is_alive(warmed.folder)
    with pytest.raises(KeyboardInterrupt):
        warmer.main(warmed.folder, ends=False)
    assert warm_tasks.is_alive(warmed.folder)

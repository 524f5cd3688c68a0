"""A task whose files are to be in the workers ends with all of them there, or says which are not, whatever happens."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import warm_progress, warm_tasks, warm_workers
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_tasks import TaskError
from manifests import KINDS, save
from warmed import Warmed, describe

FILES = {f"class-{number % 3}/{number:03}.bin": 1000 + number for number in range(60)}
MOUNT = "/mnt/warmed/set/data"


def test_a_part_is_loaded_and_nothing_twice(warmed: Warmed) -> None:
    task = warmed.start(paths=["class-0"])
    assert (task.files, warmed.state(task).state) == (20, "waiting")
    warmed.go()
    state = warmed.state(task)
    wanted = {name for name in FILES if name.startswith("class-0/")}
    assert (state.state, state.files, state.bytes) == ("done", 20, sum(FILES[name] for name in wanted))
    assert state.read == state.bytes
    assert warmed.held() == wanted
    again = warmed.start()
    warmed.go()
    assert (warmed.state(again).state, warmed.state(again).files) == ("done", 60)
    assert warmed.state(again).read == sum(FILES.values()) - state.bytes
    assert sorted(warmed.reads()) == sorted(f"set/{name}" for name in FILES)
    assert warmed.go() == ""


def test_a_store_that_is_away(warmed: Warmed, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for a few files, several times, and the list of what is left can be given again."""
    monkeypatch.setattr(warm_workers, "IN_A_ROW", 7)
    rests: list[float] = []
    monkeypatch.setattr(warm_progress.Progress, "rest", lambda _, seconds, *__: rests.append(seconds))
    (warmed.alluxio / "away").touch()
    task = warmed.start(paths=["class-1", "class-2"])
    warmed.go()
    state = warmed.state(task)
    assert (state.state, state.left) == ("incomplete", 40)
    assert state.problems[0] == "class-1/001.bin: the store does not answer"
    assert rests == [5.0, 10.0, 20.0, 40.0]
    assert warmed.left(task) == sorted(f"{MOUNT}/{name}" for name in FILES if not name.startswith("class-0"))
    (warmed.alluxio / "away").unlink()
    again = warmed.start(filelist=str(warm_tasks.left(warmed.folder, task.id)))
    warmed.go()
    assert (warmed.state(again).state, warmed.state(again).files) == ("done", 40)


def test_what_comes_back_meanwhile_is_gone_on_with(warmed: Warmed, monkeypatch: pytest.MonkeyPatch) -> None:
    (warmed.alluxio / "away").touch()
    monkeypatch.setattr(warm_progress.Progress, "rest", lambda *_: (warmed.alluxio / "away").unlink(missing_ok=True))
    task = warmed.start()
    warmed.go()
    assert warmed.state(task).state == "done"


def test_a_file_that_changed_is_named_and_not_tried_again(warmed: Warmed) -> None:
    (warmed.store / "class-0/003.bin").write_bytes(b"shorter")
    task = warmed.start()
    warmed.go()
    state = warmed.state(task)
    assert (state.state, state.files, state.left) == ("incomplete", 59, 1)
    assert state.problems == ["class-0/003.bin: it has 7 bytes, and the manifest says 1003"]
    assert warmed.left(task) == [f"{MOUNT}/class-0/003.bin"]


@pytest.mark.parametrize("kind", KINDS)
def test_verify_needs_bytes_in_the_workers_that_are_right(warmed: Warmed, kind: str) -> None:
    save(warmed.store, Path(warmed.folder).parent / "set.jsonl", kind)
    task = warmed.start("verify", paths=["class-0"])
    warmed.go()
    assert warmed.state(task).problems[0] == "class-0/000.bin: workers hold 0 of 1000 bytes"
    assert warmed.reads() == []
    task = warmed.start(paths=["class-0"], verify=True)
    warmed.go()
    assert (warmed.state(task).state, warmed.state(task).phase) == ("done", "compare")
    planted = warmed.workers / "class-0/003.bin"
    planted.write_bytes(bytes(len(planted.read_bytes())))
    task = warmed.start("verify")
    warmed.go()
    state = warmed.state(task)
    assert (state.state, state.left) == ("incomplete", 41)
    assert "class-0/003.bin: workers hold other bytes than the manifest has the digest of" in state.problems


def test_evict_gives_a_list_up(warmed: Warmed) -> None:
    warmed.start()
    warmed.go()
    task = warmed.start("evict", paths=["class-0", "class-1/*4.bin"])
    warmed.go()
    assert warmed.state(task).state == "done"
    gone = {name for name in FILES if name.startswith("class-0") or (name[6] == "1" and name.endswith("4.bin"))}
    assert warmed.held() == FILES.keys() - gone


def running(warmed: Warmed) -> threading.Thread:
    """Somebody who carries the next task out, slowly, until some files are there."""
    (warmed.alluxio / "slow").write_text("0.02")
    thread = threading.Thread(target=warmed.go)
    thread.start()
    while len(warmed.reads()) < 5:
        time.sleep(0.01)
    return thread


def test_cancel_while_it_runs_and_resume(warmed: Warmed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_progress, "NOTE_S", 0.05)
    task = warmed.start()
    thread = running(warmed)
    assert warm_tasks.ask(warmed.folder, task.id, "cancel")
    thread.join(20)
    assert warmed.state(task).state == "canceled"
    assert 5 <= len(warmed.reads()) < 60
    assert warmed.go() == ""
    (warmed.alluxio / "slow").unlink()
    assert warm_tasks.ask(warmed.folder, task.id, "run")
    warmed.go()
    assert (warmed.state(task).state, warmed.state(task).attempt) == ("done", 2)
    assert sorted(warmed.reads()) == sorted(f"set/{name}" for name in FILES)


def test_a_task_that_waits_can_be_cancelled(warmed: Warmed) -> None:
    task = warmed.start()
    assert warm_tasks.ask(warmed.folder, task.id, "cancel")
    assert not warm_tasks.ask(warmed.folder, task.id, "cancel")
    warmed.go()
    assert (warmed.state(task).state, warmed.reads()) == ("canceled", [])
    assert not warm_tasks.ask(warmed.folder, task.id, "cancel")


def test_a_cancel_that_was_not_heard_yet_is_taken_back(warmed: Warmed) -> None:
    task = warmed.start(paths=["class-0"])
    assert warm_tasks.ask(warmed.folder, task.id, "cancel")
    assert warm_tasks.ask(warmed.folder, task.id, "run")
    assert not warm_tasks.ask(warmed.folder, task.id, "run")
    warmed.go()
    assert (warmed.state(task).state, warmed.state(task).attempt) == ("done", 1)


def test_tasks_are_carried_out_in_turn(warmed: Warmed) -> None:
    first, second = warmed.start(paths=["class-0"]), warmed.start(paths=["class-1"])
    order = [first.id, second.id]
    assert warmed.go().startswith(order[0])
    assert warmed.go().startswith(order[1])
    assert [task.id for task, _ in warm_tasks.listed(warmed.folder)] == order


def test_a_dataset_that_is_mounted_no_more_ends_its_task_and_no_other(warmed: Warmed) -> None:
    node = warm_tasks.node(warmed.folder)
    describe(warmed.folder, replace(node, datasets={**node.datasets, "gone": node.datasets["set"]}))
    gone = warmed.start(paths=["class-0"], datasets=["gone"])
    describe(warmed.folder, node)
    after = warmed.start(paths=["class-1"])
    assert warmed.go() == f"{gone.id}: incomplete, gone: not mounted on here any more"
    assert warmed.go().startswith(f"{after.id}: done")


def test_a_program_that_ends_is_started_again(warmed: Warmed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that kills it must not count as loaded, nor may its death."""
    monkeypatch.setattr(warm_progress.Progress, "rest", lambda *_: None)
    began = []

    class Mortal(Warmed):
        def client(self, verb: str, threads: int, bandwidth: int):  # type: ignore[no-untyped-def]
            began.append(verb)
            client = super().client(verb, threads, bandwidth)
            if len(began) == 1:
                client._process.kill()
            return client

    mortal = Mortal(warmed.folder, warmed.alluxio)
    task = mortal.start()
    mortal.go()
    assert began == ["load", "load"]
    assert mortal.state(task).state == "done"


def test_only_the_newest_that_ended_are_kept(warmed: Warmed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_tasks, "KEPT", 2)
    for _ in range(4):
        warmed.start(paths=["class-0/000.bin"])
        warmed.go()
    assert len(warm_tasks.listed(warmed.folder)) == 3


def test_what_the_workers_cannot_hold_is_refused(warmed: Warmed) -> None:
    for name in ("a", "b"):
        (warmed.store / name).write_bytes(bytes(600_000))
    save(warmed.store, Path(warmed.folder).parent / "set.jsonl")
    with pytest.raises(TaskError, match=r"it takes 1\.2 MiB, and all workers together hold 1\.0 MiB"):
        warmed.start()
    assert warm_tasks.listed(warmed.folder) == []
    assert list(Path(warmed.folder, "tasks").iterdir()) == []

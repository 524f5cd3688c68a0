"""Warm-up tasks of a real deployment: lists, limits, kills at random moments, proofs, and what is given up."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from bundle import kill, playbook, podman, stages, succeed, until
from staged import DEPLOYED, Staged

NAME = "warmed"
IMAGE = {"alluxio_image": os.environ["WARM_IMAGE"]} if "WARM_IMAGE" in os.environ else {}
SMALL = [name for name in trees.FILES if name.startswith("class-")]


class Warmed(Staged):
    """A deployment whose dataset is staged, and its tasks."""

    command = f"/var/lib/{NAME}/warm/alluxio-warm"
    container = f"{NAME}-warm"

    def play(self, action: str = "", task: str = "", **wish: Any) -> Any:
        """`playbooks/warm.yml` with what is wanted of tasks."""
        asked: dict[str, Any] = {"alluxio_warm": wish} if wish else {"alluxio_warm_action": action}
        return playbook("playbooks/warm.yml", **self.said("require"), **asked, alluxio_warm_task=task)

    def on_node(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command of the node."""
        return subprocess.run([self.command, *arguments], capture_output=True, text=True, timeout=300, check=False)

    def tasks(self) -> list[dict[str, Any]]:
        """All tasks, as the node tells."""
        found: list[dict[str, Any]] = json.loads(self.on_node("list", "--json").stdout)
        return found

    def last(self) -> dict[str, Any]:
        """The newest one."""
        return self.tasks()[-1]

    def copies(self) -> set[str]:
        """Files that are staged."""
        found = max(self.stage.glob("*/files"), key=lambda path: path.stat().st_ctime)
        return {str(path.relative_to(found)) for path in found.rglob("*.bin")}

    def numbers(self, paths: set[str]) -> dict[str, int]:
        """Inode numbers of staged files: one that was copied again has another."""
        return {path: next(self.stage.glob(f"*/files/{path}")).stat().st_ino for path in paths}


@pytest.fixture(scope="module")
def warmed() -> Iterator[Warmed]:
    """A deployment that nothing was warmed in."""
    with trees.source(NAME) as folder:
        deployed = Warmed(NAME, folder, **IMAGE)
        with leftovers.deployment(deployed.said("require")):
            succeed(stages(*DEPLOYED[:-1], **deployed.said("require")))
            yield deployed


def test_a_dry_run_brings_nothing_to_the_node(warmed: Warmed) -> None:
    run = succeed(warmed.play(dry_run=True, paths=["class-0"]))
    assert "30 files" in run.output
    assert "time: not known" in run.output
    assert run.changed == 0
    assert not Path(warmed.command).exists()


def test_a_task_may_come_before_the_planned_warm_up(warmed: Warmed) -> None:
    succeed(warmed.play(paths=[SMALL[0]]))
    assert (warmed.last()["state"], warmed.last()["done_files"]) == ("done", 1)
    refused = warmed.play(paths=[SMALL[0]], into="stage")
    assert refused.status != 0
    assert "set is not staged on" in refused.output
    succeed(stages(DEPLOYED[-1], **warmed.said("require")))
    assert warmed.copies() == trees.FILES.keys()


def test_evict_and_load_again_with_proof(warmed: Warmed) -> None:
    """What the workers gave up, they read again once, and what is in them is compared."""
    succeed(warmed.play(evict=True))
    run = succeed(warmed.play(verify=True, bandwidth="100Mi"))
    task = warmed.last()
    assert (task["state"], task["done_files"]) == ("done", len(trees.FILES)), run.output[-2000:]
    assert task["read"] == sum(trees.FILES.values())
    succeed(warmed.play(paths=["class-1"]))
    assert warmed.last()["read"] == 0
    succeed(warmed.play(verify="only", include=["*.bin"]))
    assert f"{task['id']}  load workers" in succeed(warmed.play("list")).output


def test_a_list_is_refused_with_its_lines(warmed: Warmed, tmp_path: Path) -> None:
    before = len(warmed.tasks())
    file = tmp_path / "list"
    file.write_bytes(f"{SMALL[0]}\r\n{SMALL[0]}\nnone\n/elsewhere/x\n{warmed.path}/{SMALL[1]}".encode())
    refused = warmed.play(filelist=str(file))
    assert refused.status != 0
    assert "line 3: 'none'" in refused.output
    assert "line 4: '/elsewhere/x'" in refused.output
    assert len(warmed.tasks()) == before
    file.write_bytes(f"{SMALL[0]}\r\n{warmed.path}/{SMALL[1]}".encode())
    succeed(warmed.play(filelist=str(file)))
    assert warmed.last()["done_files"] == 2
    done = warmed.on_node("start", "--filelist", str(file), "--quiet")
    assert (done.returncode, "done" in done.stdout) == (0, True), done


def test_a_task_waits_for_an_idle_node(warmed: Warmed) -> None:
    """Whoever reads is named, and nothing is begun while they do."""
    before = len(warmed.tasks())
    with (warmed.path / SMALL[0]).open("rb"):
        refused = warmed.play(paths=[SMALL[0]], when_idle=5)
        assert refused.status != 0
        assert f"({os.getpid()})" in refused.output
        done = warmed.on_node("start", "--path", SMALL[0], "--when-idle", "1", "--quiet")
        assert (done.returncode, f"({os.getpid()})" in done.stderr) == (2, True), done
    assert len(warmed.tasks()) == before
    succeed(warmed.play(paths=[SMALL[0]], when_idle=60))
    assert warmed.last()["state"] == "done"


def test_killed_at_random_moments_nothing_is_read_twice(warmed: Warmed) -> None:
    succeed(warmed.play(evict=True))
    succeed(warmed.play(background=True, bandwidth="1Mi"))
    moments = random.Random(27)
    for _ in range(10):
        time.sleep(moments.uniform(1, 4))
        assert not warmed.last()["ended"]
        kill(warmed.container)
        until(
            "it runs again", lambda: podman("inspect", "--format", "{{.State.Running}}", warmed.container) == "true\n"
        )
    done = warmed.on_node("watch", warmed.last()["id"], "--quiet")
    assert done.returncode == 0, done
    assert warmed.last()["done_files"] == len(trees.FILES)
    assert warmed.last()["read"] <= sum(trees.FILES.values())


def test_cancel_while_it_runs_and_resume(warmed: Warmed) -> None:
    """Between two files: the large ones, which take seconds each, are not among them."""
    succeed(warmed.play(evict=True, into="stage"))
    assert warmed.copies() == set()
    begun = warmed.on_node("start", "--into", "stage", "--include", "class-*", "--bandwidth", "512Ki", "--background")
    assert begun.returncode == 0, begun
    name = warmed.last()["id"]
    until("it copies", lambda: warmed.last()["done_files"] > 10)
    assert warmed.on_node("cancel", name).returncode == 0
    assert warmed.on_node("watch", name, "--quiet").returncode == 3
    assert succeed(warmed.play("cancel", name)).changed == 0
    there = warmed.copies()
    wanted = {name for name in trees.FILES if name.startswith("class-")}
    assert 10 < len(there) < len(wanted)
    assert trees.digests(warmed.path) == trees.digests(warmed.source)
    before = warmed.numbers(there)
    succeed(warmed.play("resume", name))
    assert warmed.copies() == wanted
    assert warmed.numbers(there) == before
    succeed(warmed.play(into="stage"))
    assert warmed.copies() == trees.FILES.keys()


def test_a_wrong_byte_on_the_medium_is_found(warmed: Warmed) -> None:
    (file,) = warmed.stage.glob(f"*/files/{SMALL[0]}")
    before = file.read_bytes()
    podman("stop", "--time", "5", warmed.keeper)
    file.write_bytes(os.urandom(len(before)))
    try:
        refused = warmed.play(verify="only", into="stage")
        assert refused.status != 0
        assert f"{SMALL[0]}: its bytes are not those of the manifest" in refused.output
        assert Path(warmed.last()["list"]).read_text() == f"{warmed.path}/{SMALL[0]}\n"
    finally:
        file.write_bytes(before)
        podman("start", warmed.keeper)


def test_a_wrong_byte_in_a_worker_is_found(warmed: Warmed) -> None:
    size = trees.FILES[SMALL[0]]
    same = [name for name, other in trees.FILES.items() if other == size]
    tiers = [path for path in Path(f"/var/lib/{NAME}").rglob("alluxioworker/*") if path.stat().st_size == size]
    assert len(tiers) == len(same)
    before = tiers[0].read_bytes()
    tiers[0].write_bytes(bytes([before[0] ^ 1]) + before[1:])
    try:
        refused = warmed.play(verify="only")
        assert refused.status != 0
        assert "workers hold other bytes than the manifest has the digest of" in refused.output
        assert warmed.last()["left"] == 1
    finally:
        tiers[0].write_bytes(before)


def test_a_file_that_changed_leaves_a_list(warmed: Warmed) -> None:
    """A list that can be given again, once the source is as it was."""
    file = warmed.source / SMALL[1]
    before = file.read_bytes()
    succeed(warmed.play(evict=True, paths=[SMALL[1]]))
    file.rename(file.with_suffix(".away"))
    try:
        done = warmed.on_node("start", "--path", SMALL[1], "--quiet")
        assert done.returncode == 1, done
        left = Path(warmed.last()["list"])
        assert left.read_text() == f"{warmed.path}/{SMALL[1]}\n"
    finally:
        file.with_suffix(".away").rename(file)
    assert file.read_bytes() == before
    assert warmed.on_node("start", "--filelist", str(left), "--verify", "--quiet").returncode == 0

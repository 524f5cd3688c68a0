"""A staged dataset serves right bytes whatever becomes of FUSE, and only where the copy is the source's."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from bundle import C1_ALONE, kill, latest, main_pid, playbook, podman, stages, succeed, until
from staged import DEPLOYED, Staged, goes_on, mount_types

NAME = "staged"


@pytest.fixture(scope="module")
def whole() -> Iterator[Staged]:
    """A deployment whose dataset is staged."""
    with trees.source(NAME) as folder:
        deployed = Staged(NAME, folder)
        with leftovers.deployment(deployed.said("require")):
            succeed(stages(*DEPLOYED, **deployed.said("require")))
            yield deployed


def test_the_kernel_serves_every_byte(whole: Staged) -> None:
    assert mount_types(whole.path) == ["tmpfs"]
    assert mount_types(whole.hidden) == ["fuse.alluxio-fuse"]
    assert trees.digests(whole.path) == trees.digests(whole.source)
    assert trees.of_another_time(NAME, "set") == []
    run = succeed(stages(*DEPLOYED, **whole.said("require")))
    assert run.changed == 0, run.tasks("changed")


def test_the_check_proves_the_copy(whole: Staged) -> None:
    succeed(playbook("playbooks/check.yml", **whole.said("require")))
    (dataset,) = latest("check")["datasets"]
    rows = {(row["path"], row["state"], row["kind"]): row for row in dataset["rows"]}
    for kind in ("small", "large"):
        assert rows["mount", "staged", kind]["established"], rows["mount", "staged", kind]["why"]
        assert rows["mount", "staged", kind]["origins"]["stage"] == 1.0
        assert rows["mount", "worker", kind]["established"], rows["mount", "worker", kind]["why"]
    assert dataset["wrong"] == 0


def test_readers_notice_nothing_of_fuse(whole: Staged, tmp_path: Path) -> None:
    """It is killed, and started again with other options while they read."""
    with whole.reader(tmp_path) as record:
        kill(whole.fuse)
        goes_on(record)
        until("FUSE is back", lambda: mount_types(whole.hidden))
        former = main_pid(whole.fuse)
        options = {"alluxio_overrides": {**C1_ALONE["alluxio_overrides"], "fuse.heap": "700Mi"}}
        succeed(stages(*DEPLOYED, **whole.said("require") | options))
        assert main_pid(whole.fuse) != former
        goes_on(record)


def test_what_is_read_is_not_taken_away(whole: Staged, tmp_path: Path) -> None:
    with whole.reader(tmp_path) as record:
        for refused in (
            playbook("playbooks/teardown.yml", **whole.said("require")),
            stages(*DEPLOYED, **whole.said("off")),
        ):
            assert refused.status != 0
            assert "is read by python" in refused.output.replace("\n", " "), refused.output[-3000:]
        goes_on(record)


def other_bytes(file: Path) -> None:
    file.write_bytes(os.urandom(file.stat().st_size))


def truncated(file: Path) -> None:
    os.truncate(file, 100)


def the_same(_: Path) -> None:
    pass


@contextmanager
def in_the_copy(whole: Staged, lie: Callable[[Path], None]) -> Iterator[None]:
    """A file of the copy is another one."""
    (file,) = whole.stage.glob("*/files/class-0/0000.bin")
    before = file.read_bytes()
    lie(file)
    try:
        yield
    finally:
        file.write_bytes(before)


@contextmanager
def over_the_copy(whole: Staged, lie: Callable[[Path], None], medium: str = "/dev/shm") -> Iterator[None]:
    """The path shows files of the same names and sizes from elsewhere."""
    (copy,) = whole.stage.glob("*/files")
    with leftovers.folder(Path(medium, f"{NAME}-lie")) as other:
        shutil.copytree(copy, other, dirs_exist_ok=True)
        for file in other.rglob("*.bin"):
            lie(file)
        with leftovers.mounted(whole.path, "--bind", other):
            yield


def check_of(whole: Staged, lie: AbstractContextManager[None]) -> dict[str, Any]:
    """What a check says meanwhile; the keeper would find a lie, too, and mend it."""
    succeed(stages(*DEPLOYED, **whole.said("require")))  # the last plan may be one that was refused
    podman("stop", "--time", "5", whole.keeper)
    try:
        with lie:
            playbook("playbooks/check.yml", **whole.said("require"))
    finally:
        podman("start", whole.keeper)
    judged: dict[str, Any] = latest("check")
    return judged


@pytest.mark.parametrize(
    ("plant", "lie", "found"),
    [
        (in_the_copy, other_bytes, "class-0/0000.bin: wrong digest"),
        (in_the_copy, truncated, "class-0/0000.bin: 100 of "),
        (over_the_copy, other_bytes, ": wrong digest"),
    ],
    ids=["another file", "a shorter file", "another dataset"],
)
def test_other_bytes_at_the_path_are_found(
    whole: Staged,
    plant: Callable[[Staged, Callable[[Path], None]], AbstractContextManager[None]],
    lie: Callable[[Path], None],
    found: str,
) -> None:
    """A lie: somebody who may, root, changes the copy, or mounts another one at the path."""
    judged = check_of(whole, plant(whole, lie))
    assert judged["verdict"] == "FAIL"
    mistakes = judged["datasets"][0]["mistakes"]
    assert any(found in one for one in mistakes), mistakes


def test_a_slower_medium_is_no_copy_in_memory(whole: Staged) -> None:
    """A lie: the right bytes, from a disk where the plan says memory."""
    judged = check_of(whole, over_the_copy(whole, the_same, "/var/lib"))
    assert judged["verdict"] == "CANNOT TELL"
    rows = {row["kind"]: row for row in judged["datasets"][0]["rows"] if row["state"] == "staged"}
    staged = [rows["small"], rows["large"]]
    assert not [one for one in staged if one["established"]]
    assert all("not in memory" in one["why"] for one in staged), staged


def test_what_is_staged_is_shown(whole: Staged) -> None:
    run = succeed(playbook("playbooks/status.yml", **whole.said("require")))
    assert "76.7Mi of 76.7Mi, 100%" in run.output, run.output[-2000:]
    assert re.search(r"of set  [1-9][\d.]*Mi of 76.7Mi, \d+%", run.output), run.output[-2000:]
    assert "O_DIRECT" not in run.output


def test_a_source_that_changed_is_not_staged(whole: Staged) -> None:
    """The copy that is there stays, and the next run, with the source as listed, puts another in its place."""
    file = whole.source / "class-1/0001.bin"
    before = file.read_bytes()
    manifest = Path(f"/var/lib/{NAME}/manifests/set.jsonl")
    (whole.source / "added.bin").write_bytes(b"new")
    succeed(stages("preflight", "plan", "nodes", **whole.said("require")))
    listed = manifest.read_text()
    manifest.write_text(listed.replace(f'"size": {len(before)}', f'"size": {len(before) + 1}', 1))
    refused = playbook("playbooks/warm.yml", **whole.said("require"))
    assert refused.status != 0
    assert "not staged, as these files are not what the manifest says" in refused.output.replace("\n", " ")
    assert not (whole.path / "added.bin").exists()
    manifest.write_text(listed)
    succeed(playbook("playbooks/warm.yml", **whole.said("require")))
    assert trees.digests(whole.path) == trees.digests(whole.source)
    assert [folder.name for folder in whole.stage.iterdir() if folder.name != "view"] == [
        json.loads(listed.splitlines()[0])["id"]
    ]


def test_what_is_no_longer_staged_comes_through_fuse(whole: Staged) -> None:
    succeed(stages(*DEPLOYED, **whole.said("off")))
    assert mount_types(whole.path) == ["fuse.alluxio-fuse"]
    assert not whole.stage.exists()
    assert trees.digests(whole.path) == trees.digests(whole.source)

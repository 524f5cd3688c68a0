"""A dataset that is staged in part: what a reader sees of it while FUSE, the keeper and the node come and go."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import leftovers
import pytest
import trees
from bundle import kill, latest, main_pid, playbook, podman, stages, succeed, until
from readers import Read, recorded
from staged import DEPLOYED, Staged, goes_on, mount_types

NAME = "part"


@pytest.fixture(scope="module")
def part() -> Iterator[Staged]:
    """A deployment whose memory holds the small files and some of the large ones."""
    with trees.source(NAME) as folder:
        deployed = Staged(NAME, folder, alluxio_cache_tiers=[{"medium": "memory", "budget": "300Mi"}])
        with leftovers.deployment(deployed.said("auto")):
            succeed(stages(*DEPLOYED, **deployed.said("auto")))
            yield deployed


def staged_files(part: Staged) -> set[str]:
    (files,) = part.stage.glob("*/files")
    return {str(file.relative_to(files)) for file in files.rglob("*") if file.is_file()}


def test_the_kernel_serves_what_is_staged_and_fuse_the_rest(part: Staged) -> None:
    assert mount_types(part.path) == ["overlay"]
    large = {name for name in trees.FILES if name.startswith("big/")}
    assert staged_files(part) > trees.FILES.keys() - large
    assert 0 < len(staged_files(part) & large) < len(large)
    assert trees.digests(part.path) == trees.digests(part.source)
    run = succeed(stages(*DEPLOYED, **part.said("auto")))
    assert run.changed == 0, run.tasks("changed")


def test_the_check_proves_what_is_staged(part: Staged) -> None:
    succeed(playbook("playbooks/check.yml", **part.said("auto")))
    (dataset,) = latest("check")["datasets"]
    rows = {(row["path"], row["state"], row["kind"]): row for row in dataset["rows"]}
    for kind in ("small", "large"):
        assert rows["mount", "staged", kind]["established"], rows["mount", "staged", kind]["why"]
        assert rows["mount", "staged", kind]["origins"]["stage"] == 1.0
        assert rows["mount", "worker", kind]["established"], rows["mount", "worker", kind]["why"]
    assert dataset["wrong"] == 0


def test_fuse_dies_and_the_rest_is_back_without_a_run(part: Staged, tmp_path: Path) -> None:
    with part.reader(tmp_path) as record:
        goes_on(record)
        before = len(recorded(record))
        kill(part.fuse)
        until("FUSE is back", lambda: mount_types(part.hidden))
        until("all is read", lambda: trees.digests(part.path) == trees.digests(part.source))
        after = len(recorded(record))
        until("it goes on", lambda: len(recorded(record)) > after + len(trees.FILES))
        seen: list[Read] = recorded(record)[before:]
    assert "wrong" not in {one.outcome for one in seen}
    assert {one.outcome for one in seen[after - before :]} == {"ok"}
    assert mount_types(part.path) == ["overlay"]


def test_a_dead_fuse_takes_nothing_that_is_staged(part: Staged) -> None:
    podman("stop", "--time", "20", part.fuse)
    try:
        assert sorted(str(one.relative_to(part.path)) for one in part.path.rglob("*") if one.is_file()) == sorted(
            trees.FILES
        )
        expected = trees.digests(part.source)
        for name in staged_files(part):
            assert trees.digest(part.path / name) == expected[name]
        for name in trees.FILES.keys() - staged_files(part):
            with pytest.raises(OSError, match="Transport endpoint is not connected"):
                (part.path / name).read_bytes()
    finally:
        podman("start", part.fuse)
    until("all is read", lambda: trees.digests(part.path) == expected)


def test_after_a_restart_of_the_node_it_is_staged_again(part: Staged) -> None:
    """What a restart leaves: no mount at the path, nothing in memory, and containers that begin."""
    podman("stop", "--time", "5", part.keeper)
    subprocess.run(["umount", "--lazy", str(part.path)], check=True)
    for left in part.stage.iterdir():
        shutil.rmtree(left)
    podman("start", part.keeper)
    until("it is staged", lambda: mount_types(part.path) == ["overlay"])
    assert trees.digests(part.path) == trees.digests(part.source)


def test_the_keeper_is_killed(part: Staged, tmp_path: Path) -> None:
    with part.reader(tmp_path) as record:
        former = main_pid(part.keeper)
        kill(part.keeper)
        until("it is back", lambda: main_pid(part.keeper) not in {0, former})
        goes_on(record)

"""Staged datasets under Linux 6.1, in a guest: whole copies, and no parts.

A node's kernel cannot layer a copy and FUSE there.
The order matters: the first test deploys, the last one tears down.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from bundle import Run, succeed
from guest import Guest, differences, guest
from staged import DEPLOYED, PART, WHOLE

NAME, SOURCE = "alluxio-fuse", "/srv/sets"
FILES = {f"class-{n % 3}/{n:02}.bin": 20_000 + 997 * n for n in range(40)} | {
    f"shard-{n}.bin": 8 << 20 for n in range(2)
}
#: Memory holds one of the sets, and not the other.
SAID: dict[str, Any] = {
    "alluxio_datasets": [
        {"name": name, "source": f"file://{SOURCE}/{name}", "through": "under_store", "stage": stage}
        for name, stage in ((WHOLE, "require"), (PART, "auto"))
    ],
    "alluxio_cache_tiers": [{"medium": "memory", "budget": "32Mi"}],
}
#: sshd: who looks.
OF_OURS = re.compile(r"processes: sshd: |processes: \(udev-worker\): ")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("set")
    trees.fill(folder, FILES)
    return folder


@pytest.fixture(scope="module")
def node(source: Path) -> Iterator[Guest]:
    with leftovers.folder(Path("/var/lib/alluxio-fuse-test-guest")) as folder, guest(folder) as running:
        archive = subprocess.run(
            ["tar", "--create", "--directory", source, "."], stdout=subprocess.PIPE, check=True
        ).stdout
        for name in (WHOLE, PART):
            unpack = [*running.reach, f"mkdir --parents {SOURCE}/{name} && tar --extract --directory {SOURCE}/{name}"]
            subprocess.run(unpack, input=archive, check=True)
        running.said(f"chmod --recursive a+rX {SOURCE}")
        yield running


@pytest.fixture(scope="module")
def before(node: Guest) -> Path:
    """The guest as it was."""
    return node.snapshot(node.folder / "before.json")


@pytest.fixture(scope="module")
def deployed(node: Guest, before: Path) -> Run:
    return succeed(play(node, *DEPLOYED))


def play(node: Guest, *stages: str, **more: Any) -> Run:
    first, *others = (f"playbooks/{stage}.yml" for stage in stages)
    return node.play(first, *others, **SAID, **more)


def path(dataset: str) -> str:
    return f"/mnt/{NAME}/{dataset}/data"


def kind(node: Guest, dataset: str) -> str:
    """The filesystem that is mounted at a dataset's path last."""
    return node.said(f"findmnt --noheadings --output FSTYPE {path(dataset)} | tail --lines 1")


def test_what_fits_is_staged_whole_and_the_rest_is_left_to_fuse(node: Guest, deployed: Run, source: Path) -> None:
    assert (kind(node, WHOLE), kind(node, PART).partition(".")[0]) == ("tmpfs", "fuse")
    assert node.digests(path(WHOLE)) == node.digests(path(PART)) == trees.digests(source)


def test_the_plan_says_why(node: Guest, deployed: Run) -> None:
    planned = succeed(play(node, "plan"))
    assert "and the node stages no parts of sets; FUSE serves it" in " ".join(planned.output.split())


def test_a_copy_goes_on_when_fuse_is_killed(node: Guest, deployed: Run, source: Path) -> None:
    node.said(f"systemctl kill --signal KILL {NAME}-fuse-{WHOLE}")
    assert node.digests(path(WHOLE)) == trees.digests(source)


def test_a_plain_overlay_refuses_what_fuse_serves(node: Guest, deployed: Run) -> None:
    """So that it can be no way to a part here: FUSE answers for every extended attribute that it is there."""
    node.said("mkdir --parents /run/tried/none /run/tried/seen")
    node.said(f"mount --types overlay --options ro,lowerdir=/run/tried/none:{path(PART)} overlay /run/tried/seen")
    try:
        assert node.ran("cat /run/tried/seen/shard-0.bin >/dev/null").returncode != 0
    finally:
        node.said("umount /run/tried/seen && rm --recursive /run/tried")


def test_a_copy_is_not_given_up_by_a_task(node: Guest, deployed: Run, source: Path) -> None:
    """What it would leave is a part. Readers keep the copy, and the next run wants all of it again."""
    given_up = {"datasets": [WHOLE], "into": "stage", "evict": True}
    ended = play(node, "warm", alluxio_warm=given_up)
    assert ended.status != 0
    assert "a part of a copy takes Linux 6.5" in " ".join(ended.output.split())
    assert kind(node, WHOLE) == "tmpfs"
    succeed(play(node, "warm"))
    assert node.digests(path(WHOLE)) == trees.digests(source)


def test_a_second_run_changes_nothing(node: Guest, deployed: Run) -> None:
    assert succeed(play(node, *DEPLOYED)).changed == 0


def test_teardown_leaves_the_node_as_it_was(node: Guest, deployed: Run, before: Path) -> None:
    succeed(play(node, "teardown"))
    unlike = differences(before, node.snapshot(node.folder / "after.json")).splitlines()
    assert [line for line in unlike if not OF_OURS.match(line)] == []

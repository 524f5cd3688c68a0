"""What the chart alone stages, on real mounts; a program stands in for Alluxio's client, a tmpfs for FUSE."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import warm_program
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    chart_stage,
    forgetting,
    generations,
    mount_table,
    stages,
    staging,
    windows,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.chart_stage import Dataset, Stager
from manifests import save
from warmed import Warmed

FILES, BYTES = 30, 100_000
ROOM = 4 << 20  # all of them, and a tmpfs holds whole pages
HOLDS = 2 * FILES * BYTES  # of a worker
URI = "s3://bucket/set"


class Node:
    """A node's folders, its FUSE mount, and a release that stages one dataset there."""

    def __init__(self, top: Path) -> None:
        self.top, self.holds = top, HOLDS
        self.forgot: list[str] = []  # mount points whose FUSE was told to forget
        self.alluxio = Warmed("", top / "alluxio")
        for folder in ("source", "mnt/set/data", "alluxio/store/set"):
            (top / folder).mkdir(parents=True)
        for name, content in right().items():
            (self.alluxio.store / name).write_bytes(content)
        self.dataset = Dataset(
            name="set",
            uri=URI,
            source=str(top / "source"),
            path=str(top / "mnt/set/data"),
            folder="",
            size=ROOM,
            per_file=1500,
            uid=os.geteuid(),
            gid=os.getegid(),
            mode="0750",
        )

    @property
    def away(self) -> Path:
        """A file that says that the store does not answer."""
        return self.alluxio.alluxio / "away"

    def stager(self, *datasets: Dataset) -> Stager:
        """The program of a pod, as it starts."""
        return Stager(str(self.top / "state"), datasets or [self.dataset], self.holds, self.alluxio.client)

    def serve(self, name: str = "source", files: int = FILES) -> None:
        """FUSE mounts the dataset."""
        point = self.top / name
        point.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "fuse", str(point)], check=True)
        for number in range(files):
            (point / f"file{number}").write_bytes(bytes([number]) * BYTES)

    def shows(self) -> str:
        """What the path shows."""
        folder = str(self.top / "state/stage/set/copy")
        view = generations.view(folder, self.dataset.path, mount_table.read_mounts())
        return view.kind if view else "nothing"

    def end(self) -> None:
        """Whatever is mounted below goes."""
        points = [mount["point"] for mount in mount_table.read_mounts() if mount["point"].startswith(f"{self.top}/")]
        for point in reversed(points):
            subprocess.run(["umount", "--lazy", "--quiet", point], check=False)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr(chart_stage, "WAIT_S", 0.0)
    made = Node(tmp_path)
    monkeypatch.setattr(forgetting, "forget", made.forgot.append)
    yield made
    made.end()


def go(stager: Stager, rounds: int = 3) -> str:
    """What is said meanwhile."""
    return "\n".join(line for _ in range(rounds) for line in stager.go_round())


def digests(node: Node) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in Path(node.dataset.path).iterdir()}


def right(files: int = FILES) -> dict[str, bytes]:
    return {f"file{number}": bytes([number]) * BYTES for number in range(files)}


@pytest.fixture
def slow(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file takes so long to load that it is said how far it is."""
    monkeypatch.setattr(windows, "FAR_S", 0.01)
    (node.alluxio.alluxio / "slow").write_text("0.03")


def test_a_dataset_is_shown_loaded_and_copied(node: Node, slow: None) -> None:
    stager = node.stager()
    assert f"nothing is mounted at {node.dataset.source} yet" in go(stager, 1)
    assert node.shows() == "nothing"
    node.serve()
    assert re.search(rf"workers load it, \d+ of {FILES} files so far", go(stager, 1))
    assert node.shows() == "source"
    assert digests(node) == right()
    assert node.forgot == []
    said = go(stager, 200)
    assert node.forgot == [node.dataset.source]
    assert f"workers loaded {FILES} files" in said
    assert f"all {FILES} files staged" in said
    assert node.shows() == "whole"
    assert digests(node) == right()
    medium = mount_table.mount_at(mount_table.read_mounts(), str(node.top / "state/stage/set"))
    assert medium
    assert medium["type"] == "tmpfs"
    assert sorted(node.alluxio.reads()) == sorted(f"set/{name}" for name in right())


def test_the_digest_of_a_copy_is_of_its_first_read(node: Node) -> None:
    node.serve()
    go(node.stager())
    found = {staging.digest_of(str(one)) for one in Path(node.dataset.path).iterdir()}
    assert len(found) == FILES
    assert {kind for kind, _ in filter(None, found)} == {staging.OF_FIRST_READ}


def test_the_next_pod_finds_what_is_there(node: Node) -> None:
    """Without FUSE, and without a load: the copy is whole."""
    node.serve()
    go(node.stager())
    told = len(node.forgot)
    subprocess.run(["umount", node.dataset.source], check=True)
    again = go(node.stager())
    assert f"all {FILES} files staged" in again
    assert node.shows() == "whole"
    assert digests(node) == right()
    assert len(node.forgot) == told  # nothing is loaded


def test_what_workers_could_not_load_is_said_and_copied(node: Node) -> None:
    for number in range(3):
        (node.alluxio.store / f"file{number}").unlink()
    node.serve()
    said = f"workers loaded {FILES - 3} files, 3 failed; what they do not hold, each node reads from the store"
    assert said in go(node.stager())
    assert node.shows() == "whole"
    assert digests(node) == right()


def test_a_store_that_is_away_is_asked_again(node: Node) -> None:
    node.away.touch()
    node.serve()
    stager = node.stager()
    assert "workers do not load it: the store does not answer" in go(stager, 2)
    assert node.shows() == "source"
    node.away.unlink()
    go(stager)
    assert node.shows() == "whole"


def test_files_that_are_gone_stop_nothing(node: Node) -> None:
    """All that a window lacks, and the next pod's, too."""
    node.serve()
    for name in right():
        (node.alluxio.store / name).unlink()
    assert f"workers loaded 0 files, {FILES} failed" in go(node.stager())
    assert node.shows() == "whole"


def test_nothing_is_loaded_where_there_is_no_room(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is looked again after a minute, as it takes long to find out."""
    node.serve()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    with monkeypatch.context() as patched:
        patched.setattr(stages, "_refuse_without_room", full)
        stager = node.stager()
        assert "no room" in go(stager, 1)
    assert node.alluxio.reads() == []
    go(stager)
    assert node.shows() == "source"
    monkeypatch.setattr(time, "monotonic", lambda: float("inf"))
    go(stager)
    assert node.shows() == "whole"


def test_a_copy_that_is_killed_is_made_again(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.serve()
    stager = node.stager()

    def killed(*_: object, **__: object) -> None:
        raise RuntimeError("a reader process died (out of memory?)")

    with monkeypatch.context() as patched:
        patched.setattr(staging, "stage", killed)
        assert "a reader process died" in go(stager, 1)
    go(stager)
    assert node.shows() == "whole"


def test_fuse_that_dies_between_windows_is_waited_for(node: Node) -> None:
    node.holds = FILES * BYTES // 2
    node.serve()
    stager = node.stager()
    go(stager, 1)
    subprocess.run(["umount", "--lazy", node.dataset.source], check=True)
    assert f"nothing is mounted at {node.dataset.source}" in go(stager, 2)
    loaded = len(node.alluxio.reads())
    assert 0 < loaded < FILES
    node.serve()
    go(stager, 8)
    assert digests(node) == right()
    assert node.shows() == "whole"
    assert len(node.alluxio.reads()) == FILES


def test_one_dataset_is_copied_after_the_other(node: Node, slow: None) -> None:
    other = replace(node.dataset, name="other", source=str(node.top / "second"), path=str(node.top / "mnt/a/data"))
    shutil.copytree(node.alluxio.store, node.alluxio.store.parent / "other")
    Path(other.path).mkdir(parents=True)
    node.serve()
    node.serve("second")
    stager = node.stager(node.dataset, other)
    assert f"{node.dataset.path}: another dataset is copied first" in go(stager, 1)
    assert {Path(one).parent.name for one in node.alluxio.reads()} <= {"other"}
    go(stager, 300)
    assert node.shows() == "whole"
    assert {path.name for path in Path(other.path).iterdir()} == set(right())


def test_workers_that_hold_too_little_are_not_asked(node: Node) -> None:
    node.holds = FILES * BYTES // windows.MOST
    node.serve()
    assert f"too few for {windows.MOST} windows: each node reads the store" in go(node.stager(), 4)
    assert node.alluxio.reads() == []
    assert digests(node) == right()
    assert node.shows() == "whole"


def test_a_program_that_ends_is_started_again(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.serve()
    stager = node.stager()
    with monkeypatch.context() as patched:
        patched.setattr(warm_program, "__file__", "/dev/null")
        assert "workers do not load it: the program that asks them ended" in go(stager, 2)
    go(stager)
    assert node.shows() == "whole"


def test_what_workers_do_not_hold_at_once_is_copied_in_windows(node: Node, slow: None) -> None:
    node.holds = FILES * BYTES // 2
    node.serve()
    said = go(node.stager(), 200)
    assert re.search(r"window 1 of 4: workers load it, \d+ of ", said)
    assert f"workers loaded {FILES} files" in said
    assert node.forgot == [node.dataset.source] * 4
    assert digests(node) == right()


def test_nodes_that_go_together_have_the_store_read_once(node: Node) -> None:
    """Workers hold half of the set, and have given up the first windows when the last ones are copied."""
    (node.alluxio.alluxio / "room").write_text(str(FILES * BYTES // 2))
    other = Node(node.top / "other")
    other.alluxio = node.alluxio
    nodes = (node, other)
    for one in nodes:
        one.holds = FILES * BYTES // 2
        one.serve()
    stagers = [one.stager() for one in nodes]
    for stager in stagers * 50:
        go(stager, 1)
    assert [one.shows() for one in nodes] == ["whole"] * 2
    assert [digests(one) for one in nodes] == [right()] * 2
    assert sorted(node.alluxio.reads()) == sorted(f"set/{name}" for name in right())
    assert len([*node.alluxio.workers.iterdir()]) <= FILES // 2


def test_what_does_not_fit_is_staged_in_part(node: Node) -> None:
    node.dataset = replace(node.dataset, size=1 << 20)
    node.serve()
    said = go(node.stager())
    assert "stage.size is 1,048,576: a part, small files first" in said
    assert node.shows() == "part"
    assert 0 < len(node.alluxio.reads()) < FILES
    assert digests(node) == right()


def test_a_kernel_without_parts_leaves_it_to_fuse(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansible_collections.alluxio.fuse.plugins.module_utils.compositions.can_layer", lambda: False)
    node.dataset = replace(node.dataset, size=1 << 20)
    node.serve()
    said = go(node.stager())
    assert "parts need Linux 6.5: FUSE serves it" in said
    assert "staged" not in said.replace("stage.size", "")
    assert node.shows() == "source"


@pytest.mark.parametrize(("size", "kind", "same"), [(ROOM * 2, "whole", True), (1 << 20, "part", False)])
def test_another_size_is_taken_under_readers(node: Node, size: int, kind: str, same: bool) -> None:
    """More room keeps the copy, and less makes another one."""
    node.serve()
    go(node.stager())
    file, told = Path(node.dataset.path) / "file3", len(node.forgot)
    with file.open("rb") as held:
        before = os.fstat(held.fileno())
        node.dataset = replace(node.dataset, size=size)
        go(node.stager())
        about = os.statvfs(node.top / "state/stage/set")
        assert about.f_blocks * about.f_frsize == size
        assert node.shows() == kind
        assert held.read() == right()["file3"]
        assert os.path.samestat(file.stat(), before) == same
    assert (len(node.forgot) == told) == same  # nothing is loaded
    assert digests(node) == right()


def test_another_source_is_listed_and_copied_anew(node: Node) -> None:
    """Its FUSE mount is at another place, and what was staged is shown until that is there."""
    node.serve()
    go(node.stager())
    node.dataset = replace(node.dataset, uri="s3://bucket/other", source=str(node.top / "other"))
    stager = node.stager()
    go(stager)
    assert digests(node) == right()
    node.serve("other", 5)
    go(stager)
    assert node.shows() == "whole"
    assert digests(node) == right(5)


def test_a_copy_on_a_disk(node: Node) -> None:
    node.dataset = replace(node.dataset, folder=str(node.top / "disk/copy"))
    node.serve()
    stager = node.stager()
    go(stager)
    view = generations.view(node.dataset.folder, node.dataset.path, mount_table.read_mounts())
    assert view
    assert view.kind == "whole"
    stager.remove()
    assert not Path(node.dataset.folder).exists()


def test_another_copy_that_was_begun_on_a_disk_goes(node: Node) -> None:
    """The pod was replaced, with another size, before it was made."""
    disk = replace(node.dataset, folder=str(node.top / "disk/copy"))
    node.serve()
    go(node.stager(disk))
    (made,) = Path(disk.folder).glob("*/files")
    (Path(disk.folder) / "another/files").mkdir(parents=True)
    (Path(disk.folder) / generations.COMING).write_text("another")
    go(node.stager(disk))
    assert [*Path(disk.folder).glob("*/files")] == [made]


def test_a_copy_that_moves_to_a_disk_leaves_no_memory(node: Node) -> None:
    node.serve()
    go(node.stager())
    node.dataset = replace(node.dataset, folder=str(node.top / "disk/copy"))
    go(node.stager())
    view = generations.view(node.dataset.folder, node.dataset.path, mount_table.read_mounts())
    assert view
    assert view.kind == "whole"
    assert digests(node) == right()
    assert list((node.top / "state/stage").iterdir()) == []


def test_half_a_removal_leaves_no_half_a_copy(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pod was killed while the files of a disk went: the next one copies them again."""
    node.dataset = replace(node.dataset, folder=str(node.top / "disk/copy"))
    node.serve()
    go(stager := node.stager())

    def killed(medium: Path) -> None:
        next(medium.glob("copy/*/files/file3")).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(chart_stage, "_empty", killed)
        with pytest.raises(KeyboardInterrupt):
            stager.remove()
    go(node.stager())
    assert digests(node) == right()


def test_what_fuse_mounts_in_the_place_of_a_copy_stays(node: Node) -> None:
    """A dataset that is staged no longer, and that FUSE served meanwhile."""
    node.away.touch()
    node.serve()
    go(node.stager())
    assert node.shows() == "source"
    node.end()
    node.serve("mnt/set/data", 5)
    go(node.stager(replace(node.dataset, name="other", path=str(node.top / "mnt/other/data"))))
    assert digests(node) == right(5)


def test_what_is_staged_no_longer_waits_for_its_readers(node: Node) -> None:
    node.serve()
    go(node.stager())
    other = replace(node.dataset, name="other", path=str(node.top / "mnt/other/data"), source=str(node.top / "nothing"))
    with (Path(node.dataset.path) / "file3").open("rb"):
        assert "is to be staged no longer" in go(stager := node.stager(other), 1)
        assert node.shows() == "whole"
    assert "no longer staged" in go(stager, 1)
    assert node.shows() == "nothing"
    assert not (node.top / "state/stage/set").exists()
    assert not list((node.top / "state/manifests").iterdir())


def mounted_below(folder: Path) -> list[str]:
    """Where something is mounted; other tests mount elsewhere meanwhile."""
    return [one["point"] for one in mount_table.read_mounts() if Path(one["point"]).is_relative_to(folder)]


@pytest.mark.parametrize("rounds", [0, 1, 200])
def test_all_goes_with_the_release(node: Node, slow: None, rounds: int) -> None:
    """At whichever step the pod is, from readers, too, and nothing is loaded any more."""
    node.serve()
    before = mounted_below(node.top)
    stager = node.stager()
    go(stager, rounds)
    held = (Path(node.dataset.path) / "file3").open("rb") if rounds else None
    assert subprocess.run(["pgrep", "-f", str(node.alluxio.alluxio)], check=False).returncode == (rounds != 1)
    stager.remove()
    assert subprocess.run(["pgrep", "-f", str(node.alluxio.alluxio)], check=False).returncode == 1
    assert mounted_below(node.top) == before
    assert list((node.top / "state").iterdir()) == []
    if held:
        with held:
            assert held.read() == right()["file3"]


def test_a_dataset_without_files_is_said(node: Node) -> None:
    node.serve(files=0)
    assert f"{URI} holds no file" in go(node.stager(), 1)
    assert node.shows() == "source"


def test_footprint_is_what_a_copy_takes(node: Node) -> None:
    node.serve()
    manifest = save(Path(node.dataset.source), node.top / "manifest")
    needed = staging.footprint(str(manifest), 1500)
    node.dataset = replace(node.dataset, size=int(needed) + 4096)
    go(node.stager())
    about = os.statvfs(node.top / "state/stage/set")
    assert needed / 2 < (about.f_blocks - about.f_bavail) * about.f_frsize <= needed
    wanted = stages.Wanted(str(manifest), "", str(node.top / "state/stage/set/copy"), "")
    assert not stages.is_made(wanted)  # of another manifest

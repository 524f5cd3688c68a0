"""What the chart alone stages, on real mounts; a script stands in for Alluxio's command line, a tmpfs for FUSE."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    chart_stage,
    forgetting,
    generations,
    mount_table,
    stages,
    staging,
    worker_load,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.chart_stage import Dataset, Stager
from manifests import save

FILES, BYTES = 30, 100_000
ROOM = 4 << 20  # all of them, and a tmpfs holds whole pages
URI = "s3://bucket/set"
#: Says what `alluxio fs load --progress --format JSON` of 2.9.6 says, without keys that nobody reads; keeps each call.
ALLUXIO = """#!/bin/sh
echo "$@" >>{calls}
case "$*" in
  *--progress*) echo 'Progress for loading path /set:'; cat {answer} ;;
  *--submit*) [ ! -e {down} ] || {{ echo 'no master' >&2; exit 1; }} ;;
esac
"""


class Node:
    """A node's folders, its FUSE mount, and a release that stages one dataset there."""

    def __init__(self, top: Path) -> None:
        self.top, self.down = top, top / "down"
        self.calls, self.answer = top / "calls", top / "answer"
        self.forgot: list[str] = []  # mount points whose FUSE was told to forget
        self.alluxio = top / "alluxio"
        self.alluxio.write_text(ALLUXIO.format(calls=self.calls, answer=self.answer, down=self.down))
        self.alluxio.chmod(0o755)
        self.load("SUCCEEDED")
        for folder in ("source", "mnt/set/data"):
            (top / folder).mkdir(parents=True)
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

    def load(self, state: str, failed: int = 0) -> None:
        """What Alluxio says of the load from now on."""
        said = {"mJobState": state, "mProcessedFileCount": FILES, "mFailedFileCount": failed}
        self.answer.write_text(json.dumps(said) + "\n")

    def stager(self, *datasets: Dataset) -> Stager:
        """The program of a pod, as it starts."""
        return Stager(str(self.top / "state"), datasets or [self.dataset], [str(self.alluxio)])

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
    monkeypatch.setattr(worker_load, "POLL_S", 0.0)
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


def test_a_dataset_is_shown_loaded_and_copied(node: Node) -> None:
    node.load("RUNNING")
    stager = node.stager()
    assert f"nothing is mounted at {node.dataset.source} yet" in go(stager, 1)
    assert node.shows() == "nothing"
    node.serve()
    assert f"workers load it, {FILES} files so far" in go(stager, 2)
    assert node.shows() == "source"
    assert digests(node) == right()
    assert node.forgot == []
    node.load("SUCCEEDED")
    said = go(stager)
    assert node.forgot == [node.dataset.source]
    assert f"workers loaded {FILES} files" in said
    assert f"all {FILES} files staged" in said
    assert node.shows() == "whole"
    assert digests(node) == right()
    medium = mount_table.mount_at(mount_table.read_mounts(), str(node.top / "state/stage/set"))
    assert medium
    assert medium["type"] == "tmpfs"
    assert node.calls.read_text().splitlines()[:2] == ["fs loadMetadata -R /set", "fs load /set --submit"]


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
    calls = node.calls.read_text()
    subprocess.run(["umount", node.dataset.source], check=True)
    again = go(node.stager())
    assert f"all {FILES} files staged" in again
    assert node.shows() == "whole"
    assert digests(node) == right()
    assert node.calls.read_text() == calls


def test_what_workers_could_not_load_is_said_and_copied(node: Node) -> None:
    node.load("SUCCEEDED", failed=3)
    node.serve()
    assert "3 files failed; what they do not hold, each node reads from the store" in go(node.stager())
    assert node.shows() == "whole"


def test_a_load_that_the_master_forgot_is_asked_for_again(node: Node) -> None:
    node.answer.write_text("Load for path '/set' not found.\n")
    node.serve()
    stager = node.stager()
    assert "Load for path '/set' not found." in go(stager, 2)
    node.load("STOPPED")
    assert f"workers loaded {FILES} files, and the load has stopped; what they do not hold" in go(stager)
    assert node.calls.read_text().count("--submit") >= 2
    assert node.shows() == "whole"


def test_a_master_that_is_away_is_asked_again(node: Node) -> None:
    node.down.touch()
    node.serve()
    stager = node.stager()
    assert "alluxio fs load /set: no master" in go(stager, 2)
    assert node.shows() == "source"
    node.down.unlink()
    go(stager)
    assert node.shows() == "whole"


def test_what_does_not_fit_is_staged_in_part(node: Node) -> None:
    node.dataset = replace(node.dataset, size=1 << 20)
    node.serve()
    said = go(node.stager())
    assert "stage.size is 1,048,576: a part, small files first" in said
    assert node.shows() == "part"
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
    file, calls = Path(node.dataset.path) / "file3", node.calls.read_text()
    with file.open("rb") as held:
        before = os.fstat(held.fileno())
        node.dataset = replace(node.dataset, size=size)
        go(node.stager())
        about = os.statvfs(node.top / "state/stage/set")
        assert about.f_blocks * about.f_frsize == size
        assert node.shows() == kind
        assert held.read() == right()["file3"]
        assert os.path.samestat(file.stat(), before) == same
    assert (node.calls.read_text() == calls) == same
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


def test_what_fuse_mounts_in_the_place_of_a_copy_stays(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dataset that is staged no longer, and that FUSE served meanwhile."""
    node.load("RUNNING")
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


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_all_goes_with_the_release(node: Node, rounds: int) -> None:
    """At whichever step the pod is, from readers, too."""
    node.serve()
    before = [mount["point"] for mount in mount_table.read_mounts()]
    stager = node.stager()
    node.load("SUCCEEDED" if rounds > 1 else "RUNNING")
    go(stager, rounds)
    held = (Path(node.dataset.path) / "file3").open("rb") if rounds else None
    stager.remove()
    assert [mount["point"] for mount in mount_table.read_mounts()] == before
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

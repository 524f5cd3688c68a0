"""A task whose files are to be staged changes the list that is assigned: on real mounts, with real copies."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    assignments,
    compositions,
    generations,
    keeper,
    mount_table,
    open_files,
    reader,
    stages,
    staging,
    warm_progress,
    warm_stage,
    warm_tasks,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.selection import RefusedError
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_tasks import Node, Place, TaskError
from manifests import KINDS, save
from warmed import Warmed, describe

FILES = {f"class-{number % 3}/{number:03}.bin": 30_000 + number for number in range(60)}


@dataclass
class Staged(Warmed):
    """A node with a dataset that is staged whole in 24 MiB of memory."""

    wanted: stages.Wanted

    @property
    def path(self) -> Path:
        """Where readers read it."""
        return Path(self.wanted.path)

    def staged(self) -> set[str]:
        """Files of the copy that the path shows."""
        view = generations.view(self.wanted.folder, self.wanted.path, mount_table.read_mounts())
        root = Path(self.wanted.folder, view.generation if view else "", "files")
        return {str(path.relative_to(root)) for path in root.rglob("*.bin")}

    def kind(self) -> str:
        """What the path shows."""
        view = generations.view(self.wanted.folder, self.wanted.path, mount_table.read_mounts())
        return view.kind if view else "nothing"

    def reads_right(self) -> None:
        """Every file is there with its bytes."""
        for name in FILES:
            assert (self.path / name).read_bytes() == (self.store / name).read_bytes(), name


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Staged]:
    """The dataset, staged whole."""
    monkeypatch.setattr(compositions, "LOOK_S", 0.3)
    alluxio, source, path, memory = (tmp_path / name for name in ("alluxio", "source", "path", "memory"))
    for made in (source, path, memory):
        made.mkdir()
    for name, size in FILES.items():
        (alluxio / "store/set" / name).parent.mkdir(parents=True, exist_ok=True)
        (alluxio / "store/set" / name).write_bytes(os.urandom(size))
    mounts = [["--bind", str(alluxio / "store/set"), str(source)], ["-t", "tmpfs", "-o", "size=24m", "s", str(memory)]]
    for how in mounts:
        subprocess.run(["mount", *how], check=True)
    manifest = save(alluxio / "store/set", tmp_path / "set.jsonl")
    wanted = stages.Wanted(str(manifest), str(source), str(memory / "set"), str(path), os.geteuid(), os.getegid())
    assigned = tmp_path / "assignments"
    assignments.assign(str(assigned), wanted)
    stages.keep(wanted)
    place = Place(str(manifest), [str(path), str(source)], "/set", 16 << 20, True, str(path), str(memory / "set"), 1500)
    node = Staged(str(tmp_path / "warm"), alluxio, wanted)
    describe(node.folder, Node("here", "warmed-warm", {"set": place}, [], str(assigned)))
    yield node
    for point in (path, path, memory, source):
        subprocess.run(["umount", "--lazy", "--quiet", str(point)], check=False)


def counted(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    """Has every copy of a file from the source written down, whichever process makes it."""
    plain = staging._Copier._copy

    def copy(self: staging._Copier, served: Path, path: Path, row: dict[str, object]) -> tuple[bytes, str]:
        with file.open("a") as reads:
            reads.write(f"{row['path']}\n")
        return plain(self, served, path, row)

    monkeypatch.setattr(staging._Copier, "_copy", copy)


def test_evict_makes_a_smaller_copy_and_load_a_larger(staged: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    counted(monkeypatch, staged.alluxio / "reads")
    task = staged.start("evict", "stage", paths=["class-0", "class-1"])
    staged.go()
    assert staged.state(task).state == "done"
    assert staged.staged() == {name for name in FILES if name.startswith("class-2/")}
    assert staged.kind() == "part"
    staged.reads_right()
    assert staged.reads() == []  # what stays is the same files

    task = staged.start("load", "stage", paths=["class-0"], verify=True)
    staged.go()
    assert (staged.state(task).state, staged.state(task).phase, staged.state(task).files) == ("done", "compare", 20)
    assert staged.staged() == {name for name in FILES if not name.startswith("class-1/")}
    assert sorted(staged.reads()) == sorted(name for name in FILES if name.startswith("class-0/"))

    staged.start("load", "stage")
    staged.go()
    assert staged.kind() == "whole"
    assert staged.staged() == FILES.keys()
    assert len(staged.reads()) == 40
    staged.reads_right()


def test_memory_returns_under_readers(staged: Staged) -> None:
    """Whoever reads a file that goes reads on to its end, and only that file takes memory until then."""
    before, file = free(staged), 32 * 1024
    with (staged.path / "class-0/000.bin").open("rb", buffering=0) as reading:
        head = reading.read(100)
        task = staged.start("evict", "stage", paths=["class-0"])
        staged.go()
        assert staged.state(task).state == "done"
        assert f"files of it stay until these close them: {open_files.name_of(Path('/proc', str(os.getpid())))}" in (
            staged.state(task).note
        )
        assert before + 19 * file <= free(staged) < before + 20 * file
        assert head + reading.read() == (staged.store / "class-0/000.bin").read_bytes()
    assert free(staged) >= before + 20 * file


def free(staged: Staged) -> int:
    about = os.statvfs(Path(staged.wanted.folder).parent)
    return about.f_bavail * about.f_frsize


def test_everything_can_be_evicted(staged: Staged) -> None:
    staged.start("evict", "stage")
    staged.go()
    assert staged.staged() == set()
    staged.reads_right()


def test_cancel_keeps_what_is_there_and_resume_copies_the_rest(staged: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    staged.start("evict", "stage")
    staged.go()
    counted(monkeypatch, staged.alluxio / "reads")
    monkeypatch.setattr(warm_progress, "NOTE_S", 0.05)
    monkeypatch.setattr(warm_stage, "SLICE_S", 0.2)
    task = staged.start("load", "stage", bandwidth=600_000)
    thread = threading.Thread(target=staged.go)
    thread.start()
    while len(staged.reads()) < 8:
        time.sleep(0.02)
    warm_tasks.ask(staged.folder, task.id, "cancel")
    thread.join(30)
    assert staged.state(task).state == "canceled"
    copied = staged.reads()
    assert 8 <= len(copied) < 60
    assert staged.staged() == set(copied)
    staged.reads_right()
    again = keeper.Keeper(warm_tasks.node(staged.folder).assignments)
    again.go_round()
    assert staged.reads() == copied  # the keeper does not go on with what nobody wants
    node = warm_tasks.node(staged.folder)
    assert (kept := assignments.assigned_at(node.assignments, staged.wanted.path))
    assert kept.bandwidth == 0
    warm_tasks.ask(staged.folder, task.id, "run")
    staged.go()
    assert staged.state(task).state == "done"
    assert sorted(staged.reads()) == sorted(FILES)
    assert staged.kind() == "whole"


def test_a_copy_is_made_at_the_rate_that_was_said(staged: Staged) -> None:
    """Half of the set at that rate takes longer than two seconds; without a limit it takes a tenth of one."""
    staged.start("evict", "stage")
    staged.go()
    begun = time.monotonic()
    staged.start("load", "stage", bandwidth=400_000, paths=["class-0", "class-1"])
    staged.go()
    assert time.monotonic() - begun > 40 * 30_000 / 400_000 * 0.6


@pytest.mark.parametrize("kind", KINDS)
def test_verify_finds_a_planted_byte_and_what_is_not_staged(staged: Staged, kind: str) -> None:
    save(staged.store, Path(staged.wanted.manifest), kind)
    staged.start("evict", "stage", paths=["class-2"])
    staged.go()
    (file,) = Path(staged.wanted.folder).glob("*/files/class-0/003.bin")
    file.write_bytes(bytes(FILES["class-0/003.bin"]))
    task = staged.start("verify", "stage")
    staged.go()
    state = staged.state(task)
    assert (state.state, state.left) == ("incomplete", 21)
    assert "class-0/003.bin: its bytes are not those of the manifest" in [*state.problems, *all_of(staged, task.id)]
    assert f"{staged.path}/class-0/003.bin" in staged.left(task)
    assert f"{staged.path}/class-2/002.bin" in staged.left(task)
    task = staged.start("verify", "stage", paths=["class-1"])
    staged.go()
    assert staged.state(task).state == "done"


def all_of(staged: Staged, name: str) -> list[str]:
    node, (task, _) = warm_tasks.node(staged.folder), warm_tasks.one(staged.folder, name)
    progress = warm_progress.Progress(staged.folder, task)
    found = warm_stage._compare(warm_progress.Work(staged.folder, node, task, progress))
    return [f"{path}: {what}" for (_, path), what in found.items()]


def test_a_file_that_is_not_what_the_manifest_says(staged: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are staged all the same, and the path shows them."""
    monkeypatch.setattr(warm_progress.Progress, "rest", lambda *_: None)
    staged.start("evict", "stage")
    staged.go()
    (staged.store / "class-1/004.bin").write_bytes(b"another")
    task = staged.start("load", "stage", paths=["class-1"])
    staged.go()
    state = staged.state(task)
    assert (state.state, state.left) == ("incomplete", 1)
    assert state.problems == ["class-1/004.bin: it has 7 bytes, and the manifest says 30004"]
    assert staged.left(task) == [f"{staged.path}/class-1/004.bin"]
    assert len(staged.staged()) == 19


def test_without_fuse_it_says_so(staged: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_progress.Progress, "rest", lambda *_: None)
    staged.start("evict", "stage", paths=["class-0"])
    staged.go()
    task = staged.start("load", "stage", paths=["class-0"])
    subprocess.run(["umount", "--lazy", staged.wanted.source], check=True)
    staged.go()
    assert staged.state(task).state == "incomplete"
    assert "nothing is mounted at" in staged.state(task).problems[0]
    assert len(staged.left(task)) == 20


def test_it_ends_where_fuse_goes_away_meanwhile(staged: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the same task would end the runner again each time."""

    def away(*_: object) -> None:
        raise stages.NotMountedError("nothing is mounted")

    monkeypatch.setattr(warm_progress.Progress, "rest", lambda *_: None)
    monkeypatch.setattr(stages, "keep", away)
    task = staged.start("evict", "stage", paths=["class-0"])
    staged.go()
    assert staged.state(task).state == "incomplete"


def test_what_is_not_staged_here_is_refused(staged: Staged) -> None:
    node = warm_tasks.node(staged.folder)
    describe(staged.folder, replace(node, datasets={"set": replace(node.datasets["set"], copy="")}))
    with pytest.raises(TaskError, match=r"set is not staged on here: write stage: auto of it, and run site\.yml"):
        staged.start("load", "stage")
    describe(staged.folder, node)
    with pytest.raises(RefusedError):
        staged.start("load", "stage", paths=["none"])
    (staged.store / "new").write_bytes(b"new")
    save(staged.store, Path(staged.wanted.manifest))
    with pytest.raises(TaskError, match="was listed anew since it was staged"):
        staged.start("load", "stage")


def test_what_does_not_fit_is_refused(staged: Staged) -> None:
    staged.start("evict", "stage", paths=["class-0"])
    staged.go()
    Path(staged.wanted.folder).parent.joinpath("other").write_bytes(bytes(free(staged) - (256 << 10)))
    with pytest.raises(TaskError, match="it takes 699067 bytes, and the medium has 262144 bytes"):
        staged.start("load", "stage", paths=["class-0"])


def test_files_without_a_digest_of_the_source_are_not_read_again(
    staged: Staged, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of a large dataset only a sample has digests: what was copied of the same manifest is right all the same."""
    rows = list(reader.read_manifest(staged.wanted.manifest))
    assert rows[0]["digested"]["files"] == 60
    text = Path(staged.wanted.manifest).read_text()
    bare = "\n".join(line if '"class-' not in line else without(line) for line in text.splitlines()) + "\n"
    manifest = tmp_path / "bare.jsonl"
    manifest.write_text(bare.replace(rows[0]["id"], "0123456789abcdef"))
    node = warm_tasks.node(staged.folder)
    wanted = replace(staged.wanted, manifest=str(manifest))
    assignments.assign(node.assignments, wanted)
    place = replace(node.datasets["set"], manifest=str(manifest))
    describe(staged.folder, replace(node, datasets={"set": place}))
    stages.keep(wanted)
    counted(monkeypatch, staged.alluxio / "reads")
    staged.start("evict", "stage", paths=["class-0"])
    staged.go()
    assert staged.reads() == []
    assert len(staged.staged()) == 40


def without(line: str) -> str:
    row = json.loads(line)
    return json.dumps({**row, "digest": {"of": "none"}} if row["type"] == "file" else row)

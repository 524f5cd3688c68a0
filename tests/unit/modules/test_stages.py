"""What a path shows of a dataset staged in whole, in part and not at all, while FUSE comes and goes, on real mounts."""

from __future__ import annotations

import json
import mmap
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    assignments,
    compositions,
    generations,
    keeper,
    mount_calls,
    mount_table,
    scrub,
    stages,
    staging,
    users,
)
from manifests import save

SMALL, LARGE = 20, 2
TRAIN = f"train-{os.getpid()}"  # no other test process has a file of that name on a mount that is gone
LARGE_BYTES = 17 << 20
BUDGET = 19 << 20  # the small files, and one of the large ones


def serve(point: Path) -> None:
    """Mounts the dataset, as FUSE does: a filesystem of its own each time."""
    subprocess.run(["mount", "-t", "tmpfs", "fuse", str(point)], check=True)
    (point / TRAIN).mkdir()
    for number in range(SMALL):
        (point / f"{TRAIN}/{number}").write_bytes(bytes([number]) * 100)
    for number in range(LARGE):
        (point / f"large{number}").write_bytes(bytes([number]) * LARGE_BYTES)


def end(point: Path) -> None:
    subprocess.run(["umount", "--lazy", "--quiet", str(point)], check=False)


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[stages.Wanted]:
    source, path = tmp_path / "source", tmp_path / "path"
    for made in (source, path):
        made.mkdir()
    serve(source)
    manifest = save(source, tmp_path / "manifest.jsonl")
    yield stages.Wanted(str(manifest), str(source), str(tmp_path / "stage"), str(path), os.geteuid(), os.getegid())
    end(path)
    end(source)


@pytest.fixture
def part(whole: stages.Wanted) -> stages.Wanted:
    return replace(whole, budget=BUDGET, per_file=1500)


def shown(wanted: stages.Wanted) -> generations.View | None:
    return generations.view(wanted.folder, wanted.path, mount_table.read_mounts())


def kind(wanted: stages.Wanted) -> str | None:
    found = shown(wanted)
    return found and found.kind


def copies(wanted: stages.Wanted) -> set[str]:
    (files,) = Path(wanted.folder).glob("*/files")
    return {str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()}


def reads_right(wanted: stages.Wanted) -> None:
    path = Path(wanted.path)
    assert sorted(one.name for one in (path / TRAIN).iterdir()) == sorted(map(str, range(SMALL)))
    for number in range(SMALL):
        assert (path / f"{TRAIN}/{number}").read_bytes() == bytes([number]) * 100
    for number in range(LARGE):
        assert (path / f"large{number}").read_bytes() == bytes([number]) * LARGE_BYTES


def test_what_does_not_fit_comes_from_the_source(part: stages.Wanted) -> None:
    kept = stages.keep(part)
    assert kept.complete
    assert kept.staged["kinds"] == {"small": SMALL, "large": 1}
    assert kind(part) == "part"
    assert len(copies(part)) == SMALL + 1
    assert len([one for one in copies(part) if "large" in one]) == 1
    reads_right(part)
    about = (Path(part.path) / f"{TRAIN}/3").stat()
    assert (about.st_mode & 0o777, about.st_size) == (0o444, 100)
    assert not stages.keep(part).changed
    usage = sum(file.stat().st_blocks * 512 for file in Path(part.folder).rglob("*") if file.is_file())
    assert usage < BUDGET


def test_a_part_of_what_a_store_lists(part: stages.Wanted) -> None:
    """Whose folders have no time."""
    head, *rows = Path(part.manifest).read_text().splitlines()
    kept = ("path", "type", "size", "stamp")
    folders = [json.dumps({key: row[key] for key in kept}) for row in map(json.loads, rows) if row["type"] == "folder"]
    assert folders
    files = [row for row in rows if json.loads(row)["type"] != "folder"]
    Path(part.manifest).write_text("\n".join([head, *folders, *files]) + "\n")
    assert stages.keep(part).complete
    assert kind(part) == "part"
    reads_right(part)


def test_a_part_gets_fuse_as_it_is_back(part: stages.Wanted) -> None:
    stages.keep(part)
    before = shown(part)
    end(Path(part.source))
    assert not stages.keep(part).changed  # there is nothing better to show
    assert shown(part) == before
    serve(Path(part.source))
    assert stages.keep(part).changed
    assert kind(part) == "part"
    assert shown(part) != before
    reads_right(part)
    assert not stages.keep(part).changed


@pytest.mark.parametrize("name", ["large1", f"{TRAIN}/3"], ids=["from the source", "from the copy"])
def test_who_reads_a_part_reads_through_its_source(part: stages.Wanted, name: str) -> None:
    """What serves the rest is not started again under them."""
    stages.keep(part)
    with (Path(part.path) / name).open("rb"):
        (reader,) = users.readers_at(part.source, mount_table.read_mounts())
    assert reader.endswith(f"({os.getpid()})")
    assert users.readers_at(part.source, mount_table.read_mounts()) == []


def test_who_reads_a_whole_copy_does_not_read_its_source(whole: stages.Wanted) -> None:
    stages.keep(whole)
    with (Path(whole.path) / "large1").open("rb"):
        assert users.readers_at(whole.source, mount_table.read_mounts()) == []


def test_a_whole_copy_needs_no_source_after_a_restart(whole: stages.Wanted) -> None:
    stages.keep(whole)
    end(Path(whole.path))
    end(Path(whole.source))
    assert stages.keep(whole).changed
    assert kind(whole) == "whole"
    reads_right(whole)


def test_what_is_wrong_after_a_restart_needs_the_source(whole: stages.Wanted) -> None:
    stages.keep(whole)
    end(Path(whole.path))
    (file,) = Path(whole.folder).glob(f"*/files/{TRAIN}/7")
    file.write_bytes(b"x" * 100)
    end(Path(whole.source))
    with pytest.raises(stages.NotMountedError, match="have other bytes now"):
        stages.keep(whole)
    assert shown(whole) is None
    serve(Path(whole.source))
    stages.keep(whole)
    reads_right(whole)


def test_a_copy_is_not_shown_before_it_was_read_again_to_its_end(
    whole: stages.Wanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads it again is killed as it has found a file with other bytes."""
    stages.keep(whole)
    end(Path(whole.path))
    (file,) = Path(whole.folder).glob(f"*/files/{TRAIN}/7")
    file.write_bytes(b"x" * 100)
    with monkeypatch.context() as killed:
        killed.setattr(staging, "disown", interrupt)
        with pytest.raises(KeyboardInterrupt):
            stages.keep(whole)
    assert kind(whole) == "source"
    stages.keep(whole)
    reads_right(whole)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("at_once")
def test_a_path_shows_the_newest_where_it_was_not_told_to_the_end(
    whole: stages.Wanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever publishes a copy beneath another one is killed before that one is taken away."""
    stages.keep(whole)
    change(whole)
    with monkeypatch.context() as killed:
        killed.setattr(mount_calls, "detach", interrupt)
        with pytest.raises(KeyboardInterrupt):
            stages.keep(whole)
    stages.keep(whole)
    table = mount_table.read_mounts()
    assert (Path(whole.path) / "large1").read_bytes() == (Path(whole.source) / "large1").read_bytes()
    assert [one["point"] for one in table].count(whole.path) == 1
    assert mount_table.mount_at(table, f"{whole.folder}/{generations.VIEW}") is None


@pytest.mark.usefixtures("at_once")
def test_an_overlay_of_others_is_none_of_ours(whole: stages.Wanted, tmp_path: Path) -> None:
    for name in ("below", "other"):
        (tmp_path / name).mkdir()
    layers = f"ro,lowerdir={tmp_path / 'below'}:{tmp_path / 'other'}"
    stages.keep(whole)
    change(whole)
    subprocess.run(
        ["mount", "-t", "overlay", "-o", layers, f"{compositions.SOURCE}/x", str(tmp_path / "other")], check=True
    )
    try:
        assert stages.keep(whole).complete
    finally:
        end(tmp_path / "other")


@pytest.mark.parametrize("budget", [0, BUDGET], ids=["whole", "part"])
def test_other_readers_get_a_copy_that_there_is(whole: stages.Wanted, budget: int) -> None:
    mine = replace(whole, budget=budget, per_file=1500)
    theirs = replace(mine, uid=4711, gid=4712, mode="0750")
    stages.keep(mine)
    assert stages.keep(theirs, look=True).changed
    assert stages.keep(theirs).changed
    for name, mode in ((TRAIN, 0o550), (f"{TRAIN}/3", 0o440)):
        about = (Path(whole.path) / name).stat()
        assert (about.st_uid, about.st_gid, about.st_mode & 0o7777) == (4711, 4712, mode)
    reads_right(theirs)
    assert not stages.keep(theirs, look=True).changed
    assert not stages.keep(theirs).changed


def test_a_set_that_is_not_staged_here_is_the_source(whole: stages.Wanted) -> None:
    wanted = replace(whole, folder="")
    assert stages.keep(wanted, look=True).changed
    stages.keep(wanted)
    assert kind(wanted) == "source"
    assert not stages.keep(wanted).changed
    end(Path(wanted.source))
    with pytest.raises(stages.NotMountedError):
        stages.keep(wanted)
    serve(Path(wanted.source))
    assert stages.keep(wanted).changed
    reads_right(wanted)


@pytest.mark.usefixtures("at_once")
def test_a_part_becomes_another_and_the_whole(part: stages.Wanted, whole: stages.Wanted) -> None:
    stages.keep(part)
    smaller = replace(part, budget=1 << 20)
    assert stages.keep(smaller).staged["kinds"] == {"small": SMALL, "large": 0}
    reads_right(smaller)
    assert stages.keep(whole).complete
    assert kind(whole) == "whole"
    assert len(copies(whole)) == SMALL + LARGE
    reads_right(whole)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is about to open a file."""
    monkeypatch.setattr(compositions, "LOOK_S", 0.1)


def staged_generations(wanted: stages.Wanted) -> list[Path]:
    """Folders of what was staged, the newest last."""
    found = (one.parent for one in Path(wanted.folder).glob(f"*/{generations.FILES}"))
    return sorted(found, key=lambda one: one.stat().st_mtime_ns)


@pytest.mark.usefixtures("at_once")
def test_a_copy_is_removed_under_those_who_have_its_files_open(whole: stages.Wanted) -> None:
    """They read on to the end, and what has other bytes now takes room until they close it. They are told."""
    stages.keep(whole)
    with (Path(whole.path) / "large1").open("rb", buffering=0) as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    change(whole)
    with (Path(whole.path) / f"{TRAIN}/7").open("rb") as unchanged, mapped:
        kept = stages.keep(whole)
        assert kept.former == generations.Former([], [f"{Path('/proc/self/comm').read_text().strip()} ({os.getpid()})"])
        assert f"files of it stay until these close them: {kept.former.open[0]}" in str(kept.former)
        assert len(staged_generations(whole)) == 1
        assert mapped[:] == bytes([1]) * LARGE_BYTES
        assert unchanged.read() == bytes([7]) * 100
    assert not stages.keep(whole).changed


def change(wanted: stages.Wanted) -> None:
    """Another version of a file at the source, and a manifest that has it."""
    (Path(wanted.source) / "large1").write_bytes(b"x" * LARGE_BYTES)
    save(Path(wanted.source), Path(wanted.manifest).with_suffix(".new")).replace(wanted.manifest)


IN_FOLDER = "import os, time; os.chdir({path!r}); print(flush=True); time.sleep(60)"
WITH_FOLDER = "import os, time; held = os.open({path!r}, os.O_RDONLY); print(flush=True); time.sleep(60)"


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kind_of_copy", ["whole", "part"])
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ((sys.executable, "-c", IN_FOLDER), r"python[^ ]* \({pid}\)"),
        ((sys.executable, "-c", WITH_FOLDER), r"python[^ ]* \({pid}\)"),
        (("unshare", "--mount", "--propagation=private", "sh", "-c", "echo; exec sleep 60"), "sleep .* at {path}"),
    ],
    ids=["is in a folder", "has a folder open", "has a mount of its own"],
)
def test_a_copy_stays_for_who_goes_by_names_in_it(
    whole: stages.Wanted, part: stages.Wanted, kind_of_copy: str, how: tuple[str, ...], told: str
) -> None:
    before, after = (whole, part) if kind_of_copy == "whole" else (part, whole)
    stages.keep(before)
    command = [one.format(path=f"{before.path}/{TRAIN}") for one in how]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            former = stages.keep(after).former
            assert re.fullmatch(told.format(pid=process.pid, path=before.path), ", ".join(former.kept)), former
            assert stages.seen(after.folder, after.path)["kept"] == former.kept
            assert len(staged_generations(after)) == 2
            assert not stages.keep(after, look=True).changed
            assert not stages.keep(after).changed
        finally:
            process.kill()
    assert stages.keep(after, look=True).changed
    assert stages.keep(after).changed
    assert stages.seen(after.folder, after.path)["kept"] == []
    assert len(staged_generations(after)) == 1
    assert not stages.keep(after).changed


def test_links_are_not_staged_in_part(part: stages.Wanted, tmp_path: Path) -> None:
    (Path(part.source) / "link").symlink_to("large0")
    save(Path(part.source), tmp_path / "manifest.jsonl")
    with pytest.raises(ValueError, match="with links is staged whole or not at all"):
        stages.keep(part)


@pytest.fixture
def tight(whole: stages.Wanted, tmp_path: Path) -> Iterator[stages.Wanted]:
    """It has a medium of its own, which holds the copy and a little more."""
    medium = tmp_path / "medium"
    medium.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "medium", str(medium)], check=True)
    yield replace(whole, folder=str(medium / "set"))
    end(medium)


def fill(wanted: stages.Wanted, size: int) -> Path:
    """Others write a file of so many MiB to the medium."""
    theirs = Path(wanted.folder).with_name("theirs")
    theirs.write_bytes(bytes(size << 20))
    return theirs


def test_a_copy_without_room_is_not_begun(tight: stages.Wanted) -> None:
    fill(tight, 25)
    with pytest.raises(OSError, match=r"No space left on device: \d+ bytes are to be copied, and \d+ are free"):
        stages.keep(tight)
    assert staged_generations(tight) == []
    assert kind(tight) == "source"


@pytest.mark.parametrize("takes", [True, False])
def test_whether_a_copy_opens_past_the_page_cache(
    tight: stages.Wanted, takes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stages.seen(tight.folder, tight.path)["direct"] is None
    stages.keep(tight)
    tried: list[str] = []

    def opens(path: str) -> bool:
        tried.append(path)
        return takes

    monkeypatch.setattr(compositions, "opens_directly", opens)
    assert stages.seen(tight.folder, tight.path)["direct"] == takes
    (one,) = tried
    assert Path(one).is_relative_to(tight.path)
    assert Path(one).is_file()


def test_what_is_being_copied_is_not_opened_by_who_looks(part: stages.Wanted) -> None:
    """It has no name in what the path shows yet."""
    stages.keep(part)
    (generation,) = staged_generations(part)
    files = generation / generations.FILES
    shown = sorted(copies(part))
    (files / f"{staging.PART}0-0").write_bytes(b"half")
    for name in shown[1:]:
        (files / name).unlink()
    assert stages.seen(part.folder, part.path)["direct"] is True
    (files / shown[0]).unlink()
    assert stages.seen(part.folder, part.path)["direct"] is None


def test_a_copy_of_more_files_than_there_are_inodes_is_not_begun(tight: stages.Wanted) -> None:
    medium = str(Path(tight.folder).parent)
    subprocess.run(["mount", "-o", "remount,nr_inodes=10", medium], check=True)
    with pytest.raises(OSError, match=f"No space left on device: {SMALL + LARGE} files are to be copied, and 9 inodes"):
        stages.keep(tight)
    assert staged_generations(tight) == []
    subprocess.run(["mount", "-o", "remount,nr_inodes=0", medium], check=True)
    stages.keep(tight)
    reads_right(tight)


def test_the_keeper_leaves_a_medium_to_who_fills_it(tight: stages.Wanted, tmp_path: Path) -> None:
    folder = str(tmp_path / "assignments")
    assignments.assign(folder, tight)
    assert keeper.Keeper(folder, seconds=-1.0).go_round()
    assert len(staged_generations(tight)) == 1
    theirs = fill(tight, 25)
    (said,) = keeper.Keeper(folder).go_round()
    assert "No space left on device" in said
    assert staged_generations(tight) == []
    reads_right(tight)
    theirs.unlink()
    assert keeper.Keeper(folder).go_round() == [f"{tight.path}: all {SMALL + LARGE} files staged"]
    reads_right(tight)


def test_a_copy_that_is_shown_stays_where_mending_it_finds_no_room(tight: stages.Wanted) -> None:
    stages.keep(tight)
    there, (generation,) = copies(tight), staged_generations(tight)
    (generation / "files/large0").write_bytes(b"x" * LARGE_BYTES)
    scrub.keep_record(generation, scrub.Compared(wrong=["large0"]))
    fill(tight, 10)
    with pytest.raises(OSError, match="No space left on device"):
        stages.keep(tight)
    assert kind(tight) == "whole"
    assert copies(tight) == there


def test_the_keeper_heals_what_is_assigned(part: stages.Wanted, tmp_path: Path) -> None:
    folder = str(tmp_path / "assignments")
    kept = keeper.Keeper(folder)
    assert kept.go_round() == []
    assignments.assign(folder, part)
    assert kept.go_round() == [f"{part.path}: {SMALL + 1} of {SMALL + LARGE} files staged"]
    assert kept.go_round() == []
    end(Path(part.path))  # as a restart does
    end(Path(part.source))
    (said,) = kept.go_round()
    assert "nothing is mounted at" in said
    serve(Path(part.source))
    kept.go_round()
    reads_right(part)
    assignments.unassign(folder, part.path)
    assert kept.go_round() == []
    assert not list(Path(folder).iterdir())


def test_the_keeper_goes_on_with_a_copy_that_takes_long(whole: stages.Wanted, tmp_path: Path) -> None:
    folder = str(tmp_path / "assignments")
    assignments.assign(folder, whole)
    (said,) = keeper.Keeper(folder, seconds=-1.0).go_round()
    assert "to be continued" in said
    assert kind(whole) == "source"
    assert keeper.Keeper(folder).go_round() == [f"{whole.path}: all {SMALL + LARGE} files staged"]
    reads_right(whole)


def keeper_of_a_former_set(whole: stages.Wanted, folder: str) -> keeper.Keeper:
    """It has staged the set as it was; there is a file more now, in the source and in the manifest."""
    assignments.assign(folder, whole)
    kept = keeper.Keeper(folder)
    kept.go_round()
    (Path(whole.source) / f"{TRAIN}/new").write_bytes(b"new")
    save(Path(whole.source), Path(whole.manifest).with_suffix(".new")).replace(whole.manifest)
    return kept


def test_the_keeper_keeps_what_was_assigned_until_more_is(whole: stages.Wanted, tmp_path: Path) -> None:
    folder = str(tmp_path / "assignments")
    kept = keeper_of_a_former_set(whole, folder)
    assert kept.go_round() == []
    assert not (Path(whole.path) / f"{TRAIN}/new").exists()
    for _ in range(2):
        assignments.assign(folder, whole)
    assert kept.go_round() == [f"{whole.path}: all {SMALL + LARGE + 1} files staged"]
    assert (Path(whole.path) / f"{TRAIN}/new").read_bytes() == b"new"


def test_the_keeper_leaves_windows_that_are_being_brought(whole: stages.Wanted, tmp_path: Path) -> None:
    kept = keeper_of_a_former_set(whole, str(tmp_path / "assignments"))
    windows = [staging.Window(place, 2) for place in range(2)]
    brought = 0
    for window in windows:
        brought += stages.bring(whole, window).files
        assert kept.go_round() == []
    assert brought == SMALL + LARGE + 1
    assert [list(stages.lacking(whole, window)) for window in windows] == [[], []]
    assert not (Path(whole.path) / f"{TRAIN}/new").exists()
    assert stages.keep(whole).former == generations.NOBODY
    assert (Path(whole.path) / f"{TRAIN}/new").read_bytes() == b"new"
    (generation,) = Path(whole.folder).glob(f"*/{generations.FILES}")
    assert {one.name for one in Path(whole.folder).iterdir()} == {generation.parent.name, generations.VIEW}


def test_any_file_is_compared_one_day(tmp_path: Path) -> None:
    names = {"a", "b/c", "b/d/e", "f/g"}
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "empty").mkdir()
    found = {scrub.any_file(tmp_path) for _ in range(500)}
    assert found == {tmp_path / name for name in names} | {None}


@pytest.mark.parametrize("budget", [0, BUDGET], ids=["whole", "part"])
def test_the_keeper_finds_and_mends_what_differs(
    whole: stages.Wanted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: int
) -> None:
    folder, wanted = str(tmp_path / "assignments"), replace(whole, budget=budget, per_file=1500)
    assignments.assign(folder, wanted)
    kept = keeper.Keeper(folder)
    kept.go_round()
    (file,) = Path(wanted.folder).glob(f"*/files/{TRAIN}/7")
    names = {path: path.stat().st_ino for path in Path(wanted.folder).glob("*/names/**/*")}
    file.write_bytes(b"x" * 100)  # with the digest of what was there
    monkeypatch.setattr(scrub, "any_file", lambda _: file)
    for _ in range(2):  # it is found, and mended in the next round
        keeper.Keeper(folder).go_round()
    reads_right(wanted)
    scrubbed = stages.seen(wanted.folder, wanted.path)["scrub"]
    assert (scrubbed["mended"], [*scrubbed["wrong"]]) == (1, [])
    assert {path: path.stat().st_ino for path in names} == names  # readers go by them meanwhile
    assert kind(wanted) == ("part" if budget else "whole")


def test_the_keeper_lets_what_is_wrong_rest(whole: stages.Wanted, tmp_path: Path) -> None:
    folder = str(tmp_path / "assignments")
    (Path(whole.source) / f"{TRAIN}/7").write_bytes(b"x" * 100)
    assignments.assign(folder, whole)
    kept = keeper.Keeper(folder)
    (said,) = kept.go_round()
    assert f"{TRAIN}/7: its bytes are not those of the manifest" in said
    (Path(whole.source) / f"{TRAIN}/7").write_bytes(bytes([7]) * 100)
    assert kept.go_round() == []
    assert kind(whole) == "source"
    assert keeper.Keeper(folder).go_round()
    assert kind(whole) == "whole"


def test_what_cannot_be_read_keeps_nothing_else_from_being_staged(whole: stages.Wanted, tmp_path: Path) -> None:
    folder = tmp_path / "assignments"
    assignments.assign(str(folder), whole)
    (folder / "0.json").write_text("")
    said = keeper.Keeper(str(folder)).go_round()
    assert f"{folder / '0.json'}: it cannot be read; run site.yml again" in said
    assert kind(whole) == "whole"


def test_what_an_earlier_version_assigned_is_still_wanted(whole: stages.Wanted, tmp_path: Path) -> None:
    folder = tmp_path / "assignments"
    assignments.assign(str(folder), whole)
    (file,) = folder.glob("*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"seed": 2012}))
    (found,) = assignments.assigned(str(folder))
    assert (found.path, found.folder) == (whole.path, whole.folder)

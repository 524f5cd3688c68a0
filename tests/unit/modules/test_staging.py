"""A staged copy is the source's bytes or says what is not, and an interrupted one goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import staging
from manifests import KINDS, save

OURS = staging.Rights(os.geteuid(), os.getegid(), 0o755)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder of small files, an empty one, a hidden one, a large one, a link and an empty folder."""
    root = tmp_path / "source"
    for number in range(600):
        file = root / f"class{number % 7}" / f"{number}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(os.urandom(number))
    (root / ".hidden").write_bytes(b"hidden")
    (root / "large").write_bytes(os.urandom(3 << 20))
    (root / "link").symlink_to("class1/1.jpg")
    (root / "empty").mkdir()
    return root


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """By what its digests are."""
    return str(request.param)


@pytest.fixture
def manifest(source: Path, tmp_path: Path, kind: str) -> Path:
    """Its manifest."""
    return save(source, tmp_path / "manifest.jsonl", kind)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in 16 MiB of memory."""
    medium = tmp_path / "memory"
    medium.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "stage", str(medium)], check=True)
    try:
        yield medium / "stage"
    finally:
        subprocess.run(["umount", "--lazy", str(medium)], check=True)


@pytest.fixture(params=["disk", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where it is staged."""
    return Path(request.getfixturevalue("memory")) if request.param == "memory" else tmp_path / "stage"


def tree(root: Path) -> dict[str, str]:
    """By name, what a reader finds: a digest, or that it is a folder."""
    found = sorted(root.rglob("*"))
    return {
        str(path.relative_to(root)): "folder" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
    }


def stage(manifest: Path, source: Path, folder: Path, rights: staging.Rights = OURS) -> staging.Staged:
    return staging.stage(str(manifest), str(source), str(folder), rights, processes=3)


def test_a_copy_has_every_name_and_byte_of_the_source(manifest: Path, source: Path, folder: Path) -> None:
    staged = stage(manifest, source, folder)
    assert tree(folder) == tree(source)
    assert (staged.files, staged.copied, staged.problems) == (603, 603, [])
    assert (folder / "large").stat().st_mtime == (source / "large").stat().st_mtime
    assert stage(manifest, source, folder).copied == 0


def test_files_and_folders_are_those_of_the_readers(manifest: Path, source: Path, folder: Path) -> None:
    stage(manifest, source, folder, staging.Rights(12345, 54321, 0o750))
    rights = {(about.st_uid, about.st_gid, oct(about.st_mode & 0o7777)) for about in map(Path.stat, folder.rglob("*"))}
    assert rights == {(12345, 54321, "0o550"), (12345, 54321, "0o440")}
    assert folder.stat().st_mode & 0o7777 == 0o550


def test_the_digest_stands_beside_the_bytes(manifest: Path, source: Path, folder: Path, kind: str) -> None:
    rows = manifest.read_text().splitlines()
    kept = [json.loads(row) for row in rows]
    for row in kept:
        if row.get("path") == "large":
            row["digest"] = {"of": "none"}
    manifest.write_text("".join(f"{json.dumps(row)}\n" for row in kept))
    staged = stage(manifest, source, folder)
    digest = f"sha256:{hashlib.sha256((source / 'large').read_bytes()).hexdigest()}"
    assert staging.digest_of(str(folder / "large")) == (staging.OF_FIRST_READ, digest)
    digest = f"{kind}:{hashlib.new(kind, (source / 'class1/1.jpg').read_bytes()).hexdigest()}"
    assert staging.digest_of(str(folder / "class1/1.jpg")) == (staging.OF_SOURCE, digest)
    assert staged.files - staged.of_source == 3  # with link and hidden file, of which a manifest has no digest


@pytest.mark.parametrize("change", [b"x" * 7, b"longer than before", b""])
def test_a_file_that_is_not_the_manifests_is_left_out_and_named(
    manifest: Path, source: Path, folder: Path, change: bytes
) -> None:
    (source / "class0/7.jpg").write_bytes(change)
    (source / "class1/8.jpg").unlink()
    staged = stage(manifest, source, folder)
    assert sorted(problem["path"] for problem in staged.problems) == ["class0/7.jpg", "class1/8.jpg"]
    assert not (folder / "class0/7.jpg").exists()
    assert staged.files == 601


def test_a_file_without_a_digest_that_was_written_again_is_left_out(manifest: Path, source: Path, folder: Path) -> None:
    """Its time tells. Where the source's digest is right, the file is, whenever it was written."""
    kept = [json.loads(row) for row in manifest.read_text().splitlines()]
    for row in kept:
        if row.get("path") in ("class0/7.jpg", "class0/14.jpg"):
            row["digest"] = {"of": "none"}
    manifest.write_text("".join(f"{json.dumps(row)}\n" for row in kept))
    for name in ("class0/7.jpg", "class1/8.jpg"):
        os.utime(source / name, (0, 0))
    (source / "class0/7.jpg").write_bytes(os.urandom(7))
    os.utime(source / "class0/7.jpg", (0, 0))
    staged = stage(manifest, source, folder)
    (problem,) = staged.problems
    assert problem["path"] == "class0/7.jpg"
    told = r"it has the time 1970-01-01T00:00:00Z, and the manifest says 20\d\d-.*Z: it was written again"
    assert re.fullmatch(told, problem["problem"])
    assert staged.files == 602


def test_an_interrupted_copy_goes_on(manifest: Path, source: Path, folder: Path) -> None:
    """What a crash leaves: a file without a name, one cut short by a medium that lied, and some that are right."""
    stage(manifest, source, folder)
    (folder / f"{staging.PART}0-1").write_bytes(b"half")
    (folder / "class0/7.jpg").unlink()
    os.truncate(folder / "class1/8.jpg", 3)
    assert stage(manifest, source, folder).copied == 2
    assert tree(folder) == tree(source)


def test_no_link_gives_away_what_is_not_the_datasets(source: Path, folder: Path, tmp_path: Path) -> None:
    """Root copies, and the readers of the dataset read."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 7)
    manifest = save(source, tmp_path / "manifest.jsonl")
    for name in ("link", "class0/7.jpg"):
        (source / name).unlink()
        (source / name).symlink_to(secret)
    staged = stage(manifest, source, folder)
    assert sorted(problem["path"] for problem in staged.problems) == ["class0/7.jpg", "link"]
    assert not (folder / "link").exists()


def test_files_of_a_former_copy_are_taken_where_they_are_the_same(
    manifest: Path, source: Path, folder: Path, tmp_path: Path, kind: str
) -> None:
    stage(manifest, source, folder / "former")
    (source / "class0/7.jpg").write_bytes(b"x" * 7)
    (source / "added").write_bytes(b"new")
    changed = save(source, tmp_path / "changed.jsonl", kind)
    after = folder / "after"
    staging.stage(str(changed), str(source), str(after), OURS, processes=3, former=[str(folder / "former")])
    assert tree(after) == tree(source)
    assert (after / "large").stat().st_ino == (folder / "former/large").stat().st_ino
    assert (folder / "former/class0/7.jpg").read_bytes() != b"x" * 7


def test_a_copy_is_not_taken_at_its_word(manifest: Path, source: Path, folder: Path) -> None:
    """After a restart of the node: other bytes of the same size are replaced, a file that was not copied goes."""
    stage(manifest, source, folder)
    assert staging.wrong_files(str(folder), processes=3) == []
    (folder / "class0/7.jpg").write_bytes(b"x" * 7)
    (folder / "class1/unknown").write_bytes(b"")
    wrong = sorted(staging.wrong_files(str(folder), processes=3))
    staging.disown(wrong)
    assert wrong == [str(folder / "class0/7.jpg"), str(folder / "class1/unknown")]
    assert (folder / "class0/7.jpg").read_bytes() == b"x" * 7  # readers have it until there is another
    assert stage(manifest, source, folder).copied == 1
    assert tree(folder) == tree(source)


def test_no_path_leads_out_of_a_copy(manifest: Path, source: Path, folder: Path) -> None:
    """Root would give folders above it to the readers."""
    for name in ("", "escaped/"):
        row = {"path": f"../{name}out", "type": "file", "size": 0, "stamp": ""}
        manifest.write_text(f"{manifest.read_text()}{json.dumps(row)}\n")
    before = folder.parent.stat().st_mode
    (source.parent / "out").touch()
    assert not stage(manifest, source, folder).problems
    assert tree(folder) == tree(source)
    assert folder.parent.stat().st_mode == before
    assert not (folder.parent / "escaped").exists()


def test_a_full_medium_is_said(source: Path, memory: Path, tmp_path: Path) -> None:
    (source / "huge").write_bytes(bytes(20 << 20))
    with pytest.raises(OSError, match="No space left"):
        stage(save(source, tmp_path / "manifest.jsonl"), source, memory)
    assert not list(memory.glob(f"{staging.PART}*"))


def test_a_file_that_cannot_be_read_is_named(
    manifest: Path, source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "readv", fail)
    with pytest.raises(OSError, match=f"Input/output error: '{source}/"):
        stage(manifest, source, folder)


def test_each_call_copies_some_however_many_are_there(
    manifest: Path, source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage(manifest, source, folder)
    (folder / "large").unlink()
    really = staging.digest_of

    def slowly(path: str) -> tuple[bytes, str] | None:
        time.sleep(0.001)
        return really(path)

    monkeypatch.setattr(staging, "digest_of", slowly)
    assert staging.stage(str(manifest), str(source), str(folder), OURS, processes=1, seconds=0.1).copied == 1


def test_what_cannot_be_read_is_wrong(
    folder: Path, manifest: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage(manifest, source, folder)

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("ansible_collections.alluxio.fuse.plugins.module_utils.reader.file_digest", fail)
    assert staging.is_wrong(str(folder / "large"))

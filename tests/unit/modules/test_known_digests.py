"""Files whose digests an earlier manifest tells are not read again, whatever became of that manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import manifest, reader
from ansible_collections.alluxio.fuse.plugins.module_utils.known_digests import Digest
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import Draft, Entry


def drafted(entries: Iterable[Entry], limit: int = 1 << 30) -> Draft:
    """A source that holds these."""
    return Draft("file:///set", entries, limit)


def source(entries: list[Entry], read: list[str], fails: str = "") -> manifest.Source:
    """A bucket whose files have their own path as digest. read: gets the paths of those that are read; fails: path of
    one that cannot be.
    """

    def digests(files: list[Entry], _: bool) -> dict[str, Digest]:
        if fails in {entry.path for entry in files}:
            raise OSError("the store is away")
        read.extend(entry.path for entry in files)
        return {entry.path: Digest(f"of {entry.path}") for entry in files}

    return manifest.Source(entries, digests, lambda _: b"", str)


def files(count: int) -> list[Entry]:
    """In the order of a bucket, with a folder among them."""
    return [
        entry
        for number in range(count)
        for entry in ([Entry("5", "folder")] if number == 50 else []) + [Entry(f"{number:03}", "file", 10, stamp="t1")]
    ]


def digested(path: Path) -> dict[str, str | None]:
    """Digests of a manifest, without their algorithm."""
    return {entry.path: entry.digest and entry.digest.removeprefix("sha256:") for entry in reader.load(str(path))[1]}


def test_an_interrupted_manifest_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "FIRST", 10)
    monkeypatch.setattr(manifest, "BATCH", 20)
    entries, target, read = files(100), tmp_path / "m.jsonl", list[str]()
    with pytest.raises(OSError, match="away"):
        drafted(entries).save(str(target), source(entries, read, "075"))

    def killed(*_: int) -> None:
        raise KeyboardInterrupt

    for _ in range(2):  # who comes less far takes nothing away
        with pytest.raises(KeyboardInterrupt):
            drafted(entries).save(str(target), source(entries, read), killed)
    assert not target.exists()
    assert read == [f"{number:03}" for number in range(69)]
    drafted(entries).save(str(target), source(entries, read))
    assert read == [entry.path for entry in entries if entry.type == "file"]
    assert digested(target) == {path: f"of {path}" for path in read}
    assert [path.name for path in tmp_path.iterdir()] == ["m.jsonl"]


def test_each_batch_is_written_when_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "FIRST", 10)
    monkeypatch.setattr(manifest, "BATCH", 20)
    written: list[int] = []

    def read(*_: int) -> None:
        written.append(len((tmp_path / ".m.jsonl.tmp").read_text().splitlines()))

    drafted(files(60)).save(str(tmp_path / "m.jsonl"), source(files(60), []), read)
    assert written[1:] == [11, 31, 51]


def test_after_a_kill_within_a_line_whole_lines_count(tmp_path: Path) -> None:
    entries, target, read = files(30), tmp_path / "m.jsonl", list[str]()
    drafted(entries).save(str(target), source(entries, []))
    whole = target.read_text()
    target.rename(tmp_path / ".m.jsonl.tmp")
    (tmp_path / ".m.jsonl.tmp").write_text(whole[:-40])
    drafted(entries).save(str(target), source(entries, read))
    assert read == ["029"]
    assert target.read_text() == whole


@pytest.mark.parametrize(
    ("entry", "is_read"),
    [
        (Entry("b", "file", 10, stamp="t1"), False),
        (Entry("b", "file", 10, stamp="t2"), True),
        (Entry("b", "file", 11, stamp="t1"), True),
        (Entry("bb", "file", 10, stamp="t1"), True),
        (Entry("none", "file", 10, stamp=""), True),
    ],
    ids=["unchanged", "stamp", "size", "path", "a store without stamps"],
)
def test_only_files_that_changed_are_read_again(entry: Entry, is_read: bool, tmp_path: Path) -> None:
    before = [Entry(path, "file", 10, stamp="t1") for path in "abc"] + [Entry("none", "file", 10)]
    target, read = str(tmp_path / "m.jsonl"), list[str]()
    drafted(before).save(target, source(before, []))
    after = sorted([*(one for one in before if one.path in "ac"), entry])
    drafted(after).save(target, source(after, read))
    assert read == ([entry.path] if is_read else [])
    assert digested(Path(target)) == {one.path: f"of {one.path}" for one in after}


def test_what_is_left_of_a_broken_disk_makes_no_run_fail(tmp_path: Path) -> None:
    entries, target, read = files(200), tmp_path / "m.jsonl", list[str]()
    drafted(entries).save(str(target), source(entries, []))
    header, *rows = target.read_bytes().splitlines(keepends=True)
    target.write_bytes(b"".join([header, b'{"digest": {"value": "x"}}\n', *rows[:151], b"\xff" * 9000, b"\n"]))
    drafted(entries).save(str(target), source(entries, read))
    assert read == [f"{number:03}" for number in range(150, 200)]


def test_a_manifest_of_another_version_tells_nothing(tmp_path: Path) -> None:
    entries, target, read = files(3), tmp_path / "m.jsonl", list[str]()
    older = {"version": reader.MANIFEST_VERSION - 1, "source": "file:///set"}
    rows = [{"path": entry.path, "digest": {"value": "of another kind"}} for entry in entries]
    target.write_text("".join(json.dumps(row) + "\n" for row in [older, *rows]))
    drafted(entries).save(str(target), source(entries, read))
    assert len(read) == 3


def test_a_manifest_of_another_source_tells_nothing(tmp_path: Path) -> None:
    entries, target, read = files(3), str(tmp_path / "m.jsonl"), list[str]()
    Draft("s3://other/set", entries, 1 << 30).save(target, source(entries, []))
    drafted(entries).save(target, source(entries, read))
    assert len(read) == 3


def test_a_sample_is_read_no_further_than_it_goes(tmp_path: Path) -> None:
    """A digest that is known is left out where the manifest does not name its file as one of the sample."""
    entries, target = files(100), str(tmp_path / "m.jsonl")
    drafted(entries).save(target, source(entries, []))
    smaller, read = drafted(entries, 300), list[str]()
    smaller.save(target, source(entries, read))
    known = {path for path, digest in digested(Path(target)).items() if digest}
    assert (read, len(known)) == ([], smaller.header["digested"]["files"])


def test_what_was_left_of_another_source_is_in_nobody_s_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "FIRST", 10)
    monkeypatch.setattr(manifest, "BATCH", 10)
    entries, target, read = files(60), str(tmp_path / "m.jsonl"), list[str]()
    with pytest.raises(OSError, match="away"):
        Draft("s3://other/set", entries, 1 << 30).save(target, source(entries, [], "050"))
    for _ in range(3):
        with pytest.raises(OSError, match="away"):
            drafted(entries).save(target, source(entries, read, "035"))
    assert len(read) == len(set(read))


def test_large_files_make_small_batches_that_keep_all_readers_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "BATCH_BYTES", 25)
    monkeypatch.setattr(manifest, "FIRST", 4)
    batches: list[int] = []
    entries = [Entry(f"{number:03}", "file", 1000, left_out="hidden" if number % 2 else None) for number in range(20)]
    drafted(entries).save(str(tmp_path / "m"), source(entries, []), lambda count, *_: batches.append(count))
    assert batches == [2, 4, 4]  # of the first four entries two are read


def test_a_listing_ends_with_the_draft_that_wanted_it() -> None:
    broken = (None if one.path == "005" else one for one in files(10))
    with pytest.raises(TypeError):
        drafted(broken)  # type: ignore[arg-type]
    assert next(broken, "closed") == "closed"

"""The manifest: what is in it, what is left out, and when it is made again."""

import hashlib
import json
import os
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    bucket,
    known_digests,
    manifest,
    manifest_making,
    objects,
    reader,
    s3,
    sizes,
    source_names,
    sources,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.known_digests import Digest
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import Draft, Entry
from ansible_collections.alluxio.fuse.plugins.module_utils.source_folder import (
    folder_heads,
    list_folder,
    source_of,
)
from ansible_collections.alluxio.fuse.plugins.modules import dataset_manifest

from alluxio_fuse.dataset import tfrecord


def run(capsys: pytest.CaptureFixture[str], **said: Any) -> dict[str, Any]:
    """What the module answers."""
    with patch_module_args(said), pytest.raises(SystemExit):
        dataset_manifest.main()
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def drafted(entries: Iterable[Entry], limit: int = 1 << 30, seed: int = 0) -> Draft:
    """A source that holds these."""
    return Draft("file:///set", entries, limit, seed)


def saved(root: Path, to: Path, **limits: int) -> list[dict[str, Any]]:
    """The lines of the manifest of a folder, header first."""
    source = source_of(str(root), 2)
    drafted(source.listed, **limits).save(str(to), source)
    return [json.loads(line) for line in to.read_text().splitlines()]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder with one of everything."""
    root = tmp_path / "mixed"
    (root / "a").mkdir(parents=True)
    (root / "a/file").write_bytes(b"x")
    (root / "a/file").chmod(0o640)
    (root / "a/none").write_bytes(b"")
    (root / "empty").mkdir()
    (root / "link").symlink_to("a/file")
    (root / ".hidden").mkdir()
    (root / ".hidden/file").write_bytes(b"x")
    (root / "two\nlines").write_bytes(b"x")
    os.mkfifo(root / "pipe")
    return root


def test_whatever_a_reader_can_name_has_an_entry(mixed: Path, tmp_path: Path) -> None:
    header, *rows = saved(mixed, tmp_path / "manifest")
    assert {row["path"]: row["type"] for row in rows} == {
        ".hidden": "folder",
        ".hidden/file": "file",
        "a": "folder",
        "a/file": "file",
        "a/none": "file",
        "empty": "folder",
        "link": "link",
        "pipe": "special",
        "two\nlines": "file",
    }
    assert [row["path"] for row in rows] == sorted(row["path"] for row in rows)
    known = {row["path"]: row for row in rows}
    status = (mixed / "a/file").stat()
    assert known["a/file"] == {
        "path": "a/file",
        "type": "file",
        "size": 1,
        "mode": 0o640,
        "mtime": int(status.st_mtime),
        "stamp": str(status.st_mtime_ns),
        "digest": {"algorithm": "sha256", "value": hashlib.sha256(b"x").hexdigest(), "of": "source"},
    }
    assert known["link"]["target"] == "a/file"
    assert known[".hidden/file"]["digest"] == {"of": "none"}
    assert header["entries"] == {"file": 4, "folder": 3, "link": 1, "special": 1}


def test_what_is_not_read_is_counted_with_its_reason(mixed: Path, tmp_path: Path) -> None:
    header, *_ = saved(mixed, tmp_path / "manifest")
    assert [entry.path for entry in reader.load(str(tmp_path / "manifest"))[1]] == ["a/file", "a/none"]
    assert (header["files"], header["bytes"]) == (2, 1)
    assert header["ignored"] == {"link": 1, "hidden": 2, "name has a control character": 1, "special file": 1}
    assert header["unreadable"] == {}


def test_sizes_are_a_histogram_of_what_is_read() -> None:
    sizes = [0, 1, 2, 3, 4, 5, 1 << 20, (1 << 20) + 1]
    head = drafted(Entry(str(index), "file", size) for index, size in enumerate(sizes)).header
    assert head["sizes"] == [
        [1, 2, 1],
        [2, 1, 2],
        [4, 2, 7],
        [8, 1, 5],
        [1 << 20, 1, 1 << 20],
        [1 << 21, 1, (1 << 20) + 1],
    ]
    assert sum(files for _, files, _ in head["sizes"]) == head["files"]
    assert sum(size for *_, size in head["sizes"]) == head["bytes"]


def test_memory_does_not_grow_with_the_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "SPOOL_BYTES", 4096)

    def peak(count: int) -> int:
        tracemalloc.start()
        draft = drafted(Entry(f"folder/{index:09d}", "file", 10) for index in range(count))
        assert sum(1 for _ in draft.sample()) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(6000) < 1.2 * peak(1000)


def test_a_hidden_folder_that_may_not_be_listed_refuses_nothing(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: str) -> Any:
        if path.endswith((".hidden", "/a")):
            raise PermissionError(path)
        return real(path)

    real = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    listed = list_folder(str(mixed))
    assert next(listed).path == ".hidden"
    assert next(listed).path == "a"
    with pytest.raises(PermissionError):
        next(listed)


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A source with every name and link that cannot be served, and two files that can."""
    root = tmp_path / "set"
    (root / "folder?").mkdir(parents=True)
    (root / "folder?/in").write_bytes(b"x")
    for name in ("plain", "caf\xe9 \u4e2d 100% a+b", "a\\b", "emoji\U0001f600"):
        (root / name).write_bytes(b"x")
    Path(os.fsdecode(bytes(root) + b"/\xff")).write_bytes(b"x")
    (root / "broken").symlink_to("nowhere")
    (root / "circle").symlink_to("circle")
    (root / "out").symlink_to("/etc/hostname")
    (root / "up").symlink_to(".")
    (root / "inside").symlink_to(root / "plain")
    (tmp_path / "the-same").symlink_to("set")
    return root


@pytest.mark.parametrize("called", ["set", "the-same"])
def test_what_alluxio_cannot_serve_is_flagged(odd: Path, called: str) -> None:
    listed = list(list_folder(str(odd.with_name(called))))
    assert [entry.path for entry in listed if entry.is_read] == ["caf\xe9 \u4e2d 100% a+b", "plain"]
    assert {entry.path: entry.unreadable for entry in listed if entry.unreadable} == {
        "folder?": source_names.CHARACTER,
        "a\\b": source_names.CHARACTER,
        "emoji\U0001f600": source_names.BEYOND_BMP,
        "\udcff": source_names.NOT_UTF8,
        "broken": source_names.BROKEN_LINK,
        "circle": source_names.BROKEN_LINK,
        "out": source_names.LINK_OUT,
        "up": source_names.ENDLESS_LINK,
    }
    head = drafted(listed).header
    assert head["ignored"] == {"link": 1}
    assert head["unreadable"][source_names.CHARACTER] == 2


def test_the_first_ten_are_shown_with_their_number() -> None:
    def said(*entries: Entry) -> str:
        text: str = manifest.unreadable_text("file:///set", drafted(entries))
        return text

    twelve = said(*(Entry(f"{index:02}?", "file", unreadable=source_names.CHARACTER) for index in range(12)))
    assert twelve.startswith("file:///set: 12 names that Alluxio 2.9.6 cannot serve:")
    assert "'09?'" in twelve
    assert "'10?'" not in twelve
    assert "and 2 more" in twelve
    assert manifest.EMPTIES not in twelve
    assert manifest.EMPTIES in said(Entry("x", "link", unreadable=source_names.BROKEN_LINK))


@pytest.mark.parametrize("check", [False, True])
def test_they_are_refused_or_skipped(
    odd: Path, check: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(AnsibleModule, "warn", lambda _, text: warned.append(text))
    given = {"source": f"file://{odd}", "path": str(tmp_path / "manifest.jsonl"), "processes": 1}
    refused = run(capsys, **given, _ansible_check_mode=check)
    assert refused["failed"]
    assert "8 names that Alluxio 2.9.6 cannot serve" in refused["msg"]
    assert "unreadable_names: skip" in refused["msg"]
    assert not (tmp_path / "manifest.jsonl").exists()
    skipped = run(capsys, **given, unreadable_names="skip", _ansible_check_mode=check)
    assert not skipped.get("failed")
    assert skipped["manifest"]["files"] == 2
    assert "8 names that Alluxio 2.9.6 cannot serve" in "".join(warned)


def test_a_folder_is_counted_as_its_manifest_holds_it(odd: Path) -> None:
    counted = sources.read_source(f"file://{odd}", os.getuid(), 9)
    held = drafted(list_folder(str(odd))).header
    assert counted["state"] == "ok"
    assert [counted[key] for key in ("files", "bytes", "sizes")] == [held[key] for key in ("files", "bytes", "sizes")]


def test_a_histogram_takes_no_more_room_for_more_files() -> None:
    counted = sizes.Sizes()
    for size in range(100_000):
        counted.add(size)
    tracemalloc.start()
    for size in range(100_000, 200_000):
        counted.add(size)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 10_000
    assert (counted.files, counted.bytes, len(counted.rows())) == (200_000, sum(range(200_000)), 19)


def test_a_sample_is_spread_over_the_set_and_fits() -> None:
    files = [Entry(f"{index:03d}", "file", 10) for index in range(1000)]

    def sample(limit: int, seed: int = 0) -> list[Entry]:
        return list(drafted(files, limit, seed).sample())

    assert sample(10_000) == files
    chosen = sample(2000)
    assert 150 < len(chosen) <= 200
    assert {entry.path[0] for entry in chosen} == set("0123456789")
    assert chosen == sample(2000) != sample(2000, 1)
    assert len(sample(5)) == 1
    assert drafted(files, 2000).header["digested"]["files"] == len(chosen)


def test_a_large_manifest_is_digested_in_batches(mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = saved(mixed, tmp_path / "whole")
    monkeypatch.setattr(manifest, "BATCH", 2)
    monkeypatch.setattr(manifest, "FIRST", 1)
    assert saved(mixed, tmp_path / "batches") == whole


def test_a_folder_that_changed_in_one_file_is_read_in_one(mixed: Path, tmp_path: Path) -> None:
    """Names that sort otherwise as paths than part by part."""
    (mixed / "a-b").mkdir()
    (mixed / "a-b/file").write_bytes(b"1")
    (mixed / "a.txt").write_bytes(b"2")
    first = saved(mixed, tmp_path / "manifest")
    (mixed / "a/none").write_bytes(b"no more")
    read: list[str] = []
    real = source_of(str(mixed), 1)

    def digests(wanted: list[Entry], md5: bool) -> dict[str, Digest]:
        read.extend(entry.path for entry in wanted)
        return dict(real.digests(wanted, md5))

    drafted(real.listed).save(str(tmp_path / "manifest"), real._replace(digests=digests))
    assert read == ["a/none"]
    fresh = saved(mixed, tmp_path / "fresh")
    assert [json.loads(line) for line in (tmp_path / "manifest").read_text().splitlines()] == fresh != first


def test_progress_tells_what_comes_and_how_long_it_takes() -> None:
    said: list[str] = []
    now = [0.0]
    header = drafted(Entry(f"{number:05}", "file", 1_000_000) for number in range(20_000)).header
    header["digested"] = {"files": 15_000, "bytes": 15_000_000_000}
    progress = manifest_making.Progress("imagenet", header, said.append, lambda: now[0])
    progress.listed(21.4)
    for when, count, anew in ((2.0, 64, 64), (4.0, 4000, 4000), (8.0, 4000, 0), (9.0, 6936, 6936)):
        now[0] = when
        progress.read(count, count * 1_000_000, anew * 1_000_000)
    assert said == [
        "imagenet: 20,000 files, 20.0 GB, listed in 21 s; 15,000 of them, 15.0 GB, get digests where none is known",
        "imagenet: 64 of 15,000 files, 0.1 of 15.0 GB, about 8 min left",
        "imagenet: 8,064 of 15,000 files, 8.1 of 15.0 GB, about 14 s left",
    ]


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h")])
def test_durations(seconds: float, text: str) -> None:
    assert manifest_making.duration(seconds) == text


@pytest.mark.parametrize(
    "change",
    [
        [Entry("a", "file", 2, stamp="t1"), Entry("b", "file", 1, stamp="t1")],
        [Entry("a", "file", 1, stamp="t2"), Entry("b", "file", 1, stamp="t1")],
        [Entry("a", "file", 1, stamp="t1")],
        [Entry("a", "file", 1, stamp="t1"), Entry("b", "file", 1, stamp="t1"), Entry("c", "folder")],
        [Entry("a", "file", 1, 0o600, stamp="t1"), Entry("b", "file", 1, stamp="t1")],
    ],
)
def test_any_change_of_the_source_changes_the_id(change: list[Entry]) -> None:
    before = [Entry("a", "file", 1, stamp="t1"), Entry("b", "file", 1, stamp="t1")]
    assert drafted(before).header["id"] == drafted(before).header["id"]
    assert drafted(before).header["id"] != drafted(change).header["id"]


def test_a_folder_s_time_is_no_change() -> None:
    one, other = (drafted([Entry("a", "folder", mtime=time), Entry("a/b", "file")]).header for time in (1, 2))
    assert one == other


def test_a_manifest_of_another_version_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manifest").write_text(json.dumps({"version": 2}) + "\n")
    with pytest.raises(ValueError, match=r"of version 2, and version 3 is read: playbooks/nodes.yml makes it anew"):
        reader.load(str(tmp_path / "manifest"))
    assert "made by another version" in run(capsys, path=str(tmp_path / "manifest"))["msg"]


def test_a_broken_manifest_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "manifest").write_text("")
    assert known_digests.saved_header(str(tmp_path / "manifest")) is None
    assert known_digests.saved_header(str(tmp_path / "none")) is None


def test_a_bucket_s_keys_become_paths() -> None:
    class Pages:
        def get_paginator(self, _: str) -> "Pages":
            return self

        def paginate(self, **_: str) -> Iterator[dict[str, object]]:
            keys = [
                "set/",
                "set/a/b.JPEG",
                "set/a//c",
                "set/.hidden",
                "set/z",
                "set/a?/b",
                "set/.h/c?",
                "set/\U0001f600",
            ]
            return iter([{"Contents": [{"Key": key, "Size": 1, "ETag": '"e"'} for key in keys]}])

    listed = list(objects.entries(s3.bucket(Pages(), "s3://bucket/set")))
    assert [(entry.path, entry.type) for entry in listed] == [
        ("a", "folder"),
        ("a/b.JPEG", "file"),
        ("a//c", "key"),
        (".hidden", "file"),
        ("z", "file"),
        ("a?", "folder"),
        (".h", "folder"),
        (".h/c?", "file"),
        ("\U0001f600", "file"),
    ]
    assert [entry.path for entry in listed if entry.is_read] == ["a/b.JPEG", "z"]
    draft = drafted(listed)
    assert draft.header["ignored"] == {"key is no path": 1, "hidden": 3}
    assert draft.header["unreadable"] == {source_names.CHARACTER: 1, source_names.BEYOND_BMP: 1}


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("s3://b/p/q/", ("b", "p/q/")),
        ("s3://b", ("b", "")),
        ("s3://b/", ("b", "")),
        ("s3://b/p", ("b", "p/")),
        ("oss://b/p", ("b", "p/")),
    ],
)
def test_bucket_and_prefix(source: str, parts: tuple[str, str]) -> None:
    assert bucket.split(source) == parts


def test_tfrecord_files_are_told_from_others(tmp_path: Path) -> None:
    record = tfrecord.frame(bytes(100))
    large = manifest.LARGE_BYTES
    listed = [Entry("a", "file", large), Entry("b", "file", large), Entry("small", "file", 1)]
    for name in ("a", "b", "small"):
        (tmp_path / name).write_bytes(record if name != "small" else b"x")
    heads = folder_heads(str(tmp_path))
    assert manifest.holds_records(drafted(listed), heads)
    (tmp_path / "b").write_bytes(bytes(100))
    assert not manifest.holds_records(drafted(listed), heads)
    assert not manifest.holds_records(drafted(listed[2:]), heads)

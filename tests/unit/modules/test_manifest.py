"""The manifest: what is in it, what is left out, and when it is made again."""

import os
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import manifest, s3
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import Found

from alluxio_fuse.dataset import tfrecord


def test_what_no_mount_could_serve_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").write_bytes(b"x")
    (tmp_path / "a/empty").write_bytes(b"")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden/file").write_bytes(b"x")
    (tmp_path / "two\nlines").write_bytes(b"x")
    Path(os.fsdecode(bytes(tmp_path) + b"/\xff")).write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    listing = manifest.list_folder(str(tmp_path))
    assert [(found.path, found.size) for found in listing.files] == [("a/empty", 0), ("a/file", 1)]
    assert listing.ignored == {
        "link": 1,
        "hidden": 1,
        "name has a control character": 1,
        "name is not UTF-8": 1,
        "special file": 1,
    }


def test_a_sample_is_spread_over_the_set_and_fits() -> None:
    files = [Found(f"{index:03d}", 10, "") for index in range(100)]
    assert manifest.sample(files, 1000, 0) == files
    chosen = manifest.sample(files, 200, 0)
    assert len(chosen) == 20
    assert chosen == manifest.sample(files, 200, 0) != manifest.sample(files, 200, 1)
    assert manifest.sample(files, 5, 0)


@pytest.mark.parametrize(
    "change",
    [
        [Found("a", 2, "t1"), Found("b", 1, "t1")],
        [Found("a", 1, "t2"), Found("b", 1, "t1")],
        [Found("a", 1, "t1")],
    ],
)
def test_any_change_of_the_source_changes_the_id(change: list[Found]) -> None:
    before = manifest.Listing([Found("a", 1, "t1"), Found("b", 1, "t1")], {})
    after = manifest.Listing(change, {})
    assert manifest.header("s", before, 9, 0)["id"] == manifest.header("s", before, 9, 0)["id"]
    assert manifest.header("s", before, 9, 0)["id"] != manifest.header("s", after, 9, 0)["id"]


def test_a_broken_manifest_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "manifest").write_text("")
    assert manifest.saved_header(str(tmp_path / "manifest")) is None
    assert manifest.saved_header(str(tmp_path / "none")) is None


def test_a_bucket_s_keys_become_paths() -> None:
    class Pages:
        def get_paginator(self, _: str) -> "Pages":
            return self

        def paginate(self, **_: str) -> list[dict[str, object]]:
            keys = ["set/", "set/a/b.JPEG", "set/a//c", "set/.hidden", "set/z"]
            return [{"Contents": [{"Key": key, "Size": 1, "ETag": '"e"'} for key in keys]}, {}]

    listing = s3.list_bucket(Pages(), "s3://bucket/set")
    assert [found.path for found in listing.files] == ["a/b.JPEG", "z"]
    assert listing.ignored == {"folder marker": 1, "key is no path": 1, "hidden": 1}


@pytest.mark.parametrize(
    ("source", "parts"),
    [("s3://b/p/q/", ("b", "p/q/")), ("s3://b", ("b", "")), ("s3://b/", ("b", "")), ("s3://b/p", ("b", "p/"))],
)
def test_bucket_and_prefix(source: str, parts: tuple[str, str]) -> None:
    assert s3.split(source) == parts


def test_tfrecord_files_are_told_from_others(tmp_path: Path) -> None:
    record = tfrecord.frame(bytes(100))
    large = manifest.LARGE_BYTES
    listing = manifest.Listing([Found("a", large, ""), Found("b", large, ""), Found("small", 1, "")], {})
    for name in ("a", "b", "small"):
        (tmp_path / name).write_bytes(record if name != "small" else b"x")
    heads = manifest.folder_heads(str(tmp_path))
    assert manifest.holds_records(listing, heads)
    (tmp_path / "b").write_bytes(bytes(100))
    assert not manifest.holds_records(listing, heads)
    assert not manifest.holds_records(manifest.Listing([Found("small", 1, "")], {}), heads)

"""The manifest: what is in it, what is left out, and when it is made again."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.alluxio.fuse.plugins.module_utils import manifest, s3, sources
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import Found
from ansible_collections.alluxio.fuse.plugins.modules import dataset_manifest

from alluxio_fuse.dataset import tfrecord


def run(capsys: pytest.CaptureFixture[str], **said: Any) -> dict[str, Any]:
    """What the module answers."""
    with patch_module_args(said), pytest.raises(SystemExit):
        dataset_manifest.main()
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_what_no_mount_could_serve_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").write_bytes(b"x")
    (tmp_path / "a/empty").write_bytes(b"")
    (tmp_path / "link").symlink_to("a/file")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden/file").write_bytes(b"x")
    (tmp_path / "two\nlines").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    listing = manifest.list_folder(str(tmp_path))
    assert [(found.path, found.size) for found in listing.files] == [("a/empty", 0), ("a/file", 1)]
    assert listing.ignored == {
        "link": 1,
        "hidden": 1,
        "name has a control character": 1,
        "special file": 1,
    }
    assert listing.unreadable == []


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
def test_what_alluxio_cannot_serve_is_named(odd: Path, called: str) -> None:
    listing = manifest.list_folder(str(odd.with_name(called)))
    assert [found.path for found in listing.files] == ["caf\xe9 \u4e2d 100% a+b", "plain"]
    assert dict(listing.unreadable) == {
        "folder?": manifest.CHARACTER,
        "a\\b": manifest.CHARACTER,
        "emoji\U0001f600": manifest.BEYOND_BMP,
        "\udcff": manifest.NOT_UTF8,
        "broken": manifest.BROKEN_LINK,
        "circle": manifest.BROKEN_LINK,
        "out": manifest.LINK_OUT,
        "up": manifest.ENDLESS_LINK,
    }
    assert listing.ignored == {"link": 1}
    head = manifest.header("s", listing, 9, 0)
    assert head["unreadable"][manifest.CHARACTER] == 2
    assert head["id"] == manifest.header("s", listing._replace(unreadable=[]), 9, 0)["id"]


def test_the_first_ten_are_shown_with_their_number() -> None:
    found = [manifest.Unreadable(f"{index:02}?", manifest.CHARACTER) for index in range(12)]
    said = manifest.unreadable_text("file:///set", found)
    assert said.startswith("file:///set: 12 names that Alluxio 2.9.6 cannot serve:")
    assert "'09?'" in said
    assert "'10?'" not in said
    assert "and 2 more" in said
    assert manifest.EMPTIES not in said
    assert manifest.EMPTIES in manifest.unreadable_text("s", [manifest.Unreadable("x", manifest.BROKEN_LINK)])


@pytest.mark.parametrize("check", [False, True])
def test_they_are_refused_or_skipped(
    odd: Path, check: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(dataset_manifest.AnsibleModule, "warn", lambda _, text: warned.append(text))
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
    assert (counted["state"], counted["files"]) == ("ok", len(manifest.list_folder(str(odd)).files))


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
    before = manifest.Listing([Found("a", 1, "t1"), Found("b", 1, "t1")], {}, [])
    after = manifest.Listing(change, {}, [])
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
            return [{"Contents": [{"Key": key, "Size": 1, "ETag": '"e"'} for key in keys]}, {}]

    listing = s3.list_bucket(Pages(), "s3://bucket/set")
    assert [found.path for found in listing.files] == ["a/b.JPEG", "z"]
    assert listing.ignored == {"folder marker": 1, "key is no path": 1, "hidden": 2}
    assert dict(listing.unreadable) == {"a?/b": manifest.CHARACTER, "\U0001f600": manifest.BEYOND_BMP}


@pytest.mark.parametrize(
    ("source", "parts"),
    [("s3://b/p/q/", ("b", "p/q/")), ("s3://b", ("b", "")), ("s3://b/", ("b", "")), ("s3://b/p", ("b", "p/"))],
)
def test_bucket_and_prefix(source: str, parts: tuple[str, str]) -> None:
    assert s3.split(source) == parts


def test_tfrecord_files_are_told_from_others(tmp_path: Path) -> None:
    record = tfrecord.frame(bytes(100))
    large = manifest.LARGE_BYTES
    listing = manifest.Listing([Found("a", large, ""), Found("b", large, ""), Found("small", 1, "")], {}, [])
    for name in ("a", "b", "small"):
        (tmp_path / name).write_bytes(record if name != "small" else b"x")
    heads = manifest.folder_heads(str(tmp_path))
    assert manifest.holds_records(listing, heads)
    (tmp_path / "b").write_bytes(bytes(100))
    assert not manifest.holds_records(listing, heads)
    assert not manifest.holds_records(manifest.Listing([Found("small", 1, "")], {}, []), heads)

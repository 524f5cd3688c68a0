"""What a user's list and patterns mean is held to the manifest, whatever the order and the length of both."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import reader, selection
from ansible_collections.alluxio.fuse.plugins.module_utils.selection import Asked, Dataset, RefusedError, Selected
from manifests import save

NAMES = ["a/1.jpg", "a/2.jpg", "a/sub/3.jpg", "a-b/4.png", "b/5.jpg", "b/6 with space.txt", "b/ü.jpg", "top.bin"]
MOUNT = "/mnt/alluxio-fuse/set/data"


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Eight files of a folder, each of another size, a link and an empty folder."""
    root = tmp_path / "source"
    for number, name in enumerate(NAMES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x" * (number + 1))
    (root / "link").symlink_to("top.bin")
    (root / "nothing").mkdir()
    return Dataset("set", str(save(root, tmp_path / "set.jsonl")), [MOUNT, "/var/lib/alluxio-fuse/fuse/set/data"], 4)


def named(dataset: Dataset, most: int = 50, **asked: Any) -> list[str]:
    return sorted(row.path for row in Selected([dataset], Asked(**asked), most=most).rows())


def refused(*datasets: Dataset, **asked: Any) -> list[str]:
    with pytest.raises(RefusedError) as found:
        list(Selected(datasets, Asked(**asked), most=3).rows())
    return found.value.problems


def listed(tmp_path: Path, text: str | bytes) -> str:
    file = tmp_path / "list"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(file)


def test_without_anything_all_that_is_read(dataset: Dataset) -> None:
    assert named(dataset) == sorted(NAMES)


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["a"], ["a/1.jpg", "a/2.jpg", "a/sub/3.jpg"]),
        (["./a//sub/", "a"], ["a/1.jpg", "a/2.jpg", "a/sub/3.jpg"]),
        (["a/*.jpg"], ["a/1.jpg", "a/2.jpg"]),
        (["a*"], ["a-b/4.png", "a/1.jpg", "a/2.jpg", "a/sub/3.jpg"]),
        (["**/*.jpg"], ["a/1.jpg", "a/2.jpg", "a/sub/3.jpg", "b/5.jpg", "b/ü.jpg"]),
        (["b/[56]*", "top.bin"], ["b/5.jpg", "b/6 with space.txt", "top.bin"]),
        (["b/[!5]*"], ["b/6 with space.txt", "b/ü.jpg"]),
        (["a/?.jpg", "a/1.jpg"], ["a/1.jpg", "a/2.jpg"]),
        ([MOUNT + "/a/sub"], ["a/sub/3.jpg"]),
        ([MOUNT], NAMES),
    ],
)
def test_folders_files_and_globs(dataset: Dataset, paths: list[str], found: list[str]) -> None:
    assert named(dataset, paths=paths) == sorted(found)


@pytest.mark.parametrize(
    ("include", "exclude", "found"),
    [
        (["*.jpg"], [], ["a/1.jpg", "a/2.jpg", "a/sub/3.jpg", "b/5.jpg", "b/ü.jpg"]),
        (["a/*.jpg"], ["2.jpg"], ["a/1.jpg"]),
        ([], ["sub", "b", "top.bin"], ["a-b/4.png", "a/1.jpg", "a/2.jpg"]),
    ],
)
def test_include_and_exclude(dataset: Dataset, include: list[str], exclude: list[str], found: list[str]) -> None:
    assert named(dataset, include=include, exclude=exclude) == sorted(found)


def test_a_list_as_editors_leave_it(dataset: Dataset, tmp_path: Path) -> None:
    """A mark of UTF-8, both kinds of line ends, empty lines, absolute paths, duplicates, no last newline."""
    again = "/var/lib/alluxio-fuse/fuse/set/data/b/5.jpg"
    text = f"\ufefftop.bin\r\n\n{MOUNT}/b/5.jpg\n./a/1.jpg\r\n{again}\nb/ü.jpg\na/sub"
    chosen = Selected([dataset], Asked(filelist=listed(tmp_path, text)), most=2)
    assert sorted(row.path for row in chosen.rows()) == ["a/1.jpg", "a/sub/3.jpg", "b/5.jpg", "b/ü.jpg", "top.bin"]
    assert chosen.counted == selection.Counted(
        files=5, bytes=24, requests=8, held=5 * 4096, twice=1, paced=5 * selection.LEAST
    )


def test_all_that_is_wrong_at_once(dataset: Dataset, tmp_path: Path) -> None:
    text = b"a/1.jpg\n/etc/passwd\n../up\nb/none.jpg\nlink\n\xff\xfe\na\x00b\n"
    assert refused(dataset, filelist=listed(tmp_path, text), paths=["a/9*", "none"]) == [
        f"is below none of {MOUNT}:",
        "  line 2: '/etc/passwd'",
        "leads out of its folder by ..:",
        "  line 3: '../up'",
        "holds a zero byte, which no path does:",
        "  line 7: 'a\\x00b'",
        "names nothing in the manifest:",
        "  line 4: 'b/none.jpg'",
        "  paths: 'none'",
        "  line 6: '\\udcff\\udcfe'",
        "is not read:",
        "  line 5: 'link' is link",
        "names no file of the manifest:",
        "  paths: 'a/9*'",
    ]


def test_many_wrong_lines_are_counted(dataset: Dataset, tmp_path: Path) -> None:
    found = refused(dataset, filelist=listed(tmp_path, "".join(f"no/{number}\n" for number in range(1000))))
    assert found[0] == "names nothing in the manifest (the first 20 of 1000):"
    assert len(found) == 1 + selection.SHOWN


def test_nothing_left_is_refused(dataset: Dataset) -> None:
    assert refused(dataset, paths=["a"], exclude=["*.jpg"])[0] == "no file is left:"


def test_of_two_datasets_a_line_says_which(dataset: Dataset, tmp_path: Path) -> None:
    other = dataset._replace(name="other", roots=["/mnt/alluxio-fuse/other/data"])
    assert "does not say of which dataset it is (set, other)" in refused(dataset, other, paths=["a"])[0]
    rows = Selected([dataset, other], Asked(paths=["/mnt/alluxio-fuse/other/data/a/1.jpg", f"{MOUNT}/b/5.jpg"])).rows()
    assert {(row.dataset, row.path) for row in rows} == {("other", "a/1.jpg"), ("set", "b/5.jpg")}


def test_nodes_share_a_selection(dataset: Dataset) -> None:
    shares = [Selected([dataset], Asked(), selection.Share(place, 3)) for place in range(3)]
    parts = [[row.path for row in share.rows()] for share in shares]
    assert sorted(path for part in parts for path in part) == sorted(NAMES)
    assert {share.of_all.files for share in shares} == {8}
    assert sum(share.counted.bytes for share in shares) == sum(range(1, 9))


def test_a_folder_that_the_manifest_does_not_list(tmp_path: Path) -> None:
    """Object stores have files alone."""
    manifest = tmp_path / "bucket.jsonl"
    files = ["x/1", "x/y/2", "x/y/3", "x/z/4", "xy/5"]
    rows: list[dict[str, Any]] = [{"version": reader.MANIFEST_VERSION}]
    rows += [{"path": path, "type": "file", "size": 1, "digest": {"of": "none"}} for path in files]
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    bucket = Dataset("bucket", str(manifest), [MOUNT])
    assert named(bucket, filelist=listed(tmp_path, "x/y\n")) == ["x/y/2", "x/y/3"]
    assert named(bucket, filelist=listed(tmp_path, "x\nx/y\n")) == files[:-1]
    assert [row.digest for row in Selected([bucket], Asked()).rows()] == [None] * 5


def test_against_a_plain_join(tmp_path: Path) -> None:
    """A list in any order and a manifest in any order, of many runs, give what sets give."""
    order = random.Random(7)
    paths = [f"{order.choice('abc')}/{order.choice(['', 'x/', 'x-y/'])}{number}" for number in range(3000)]
    rows: list[dict[str, Any]] = [{"version": reader.MANIFEST_VERSION}]
    rows += [{"path": path, "type": "file", "size": 1, "digest": {"of": "none"}} for path in paths]
    manifest = tmp_path / "set.jsonl"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset = Dataset("set", str(manifest), [MOUNT])
    files = order.sample(paths, 1000)
    assert named(dataset, 97, filelist=listed(tmp_path, "\n".join(files))) == sorted(files)
    below = named(dataset, 97, filelist=listed(tmp_path, "\n".join([*files, "a/x", "b"])))
    assert below == sorted({*files, *(path for path in paths if path.startswith(("a/x/", "b/")))})


def test_memory_is_bounded_and_each_line_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more rows than a run's are ever held for sorting, and manifest and list are gone over a single time."""
    count, most = 5000, 100
    rows: list[dict[str, Any]] = [{"version": reader.MANIFEST_VERSION}]
    rows += [{"path": f"f/{n}", "type": "file", "size": 1, "digest": {"of": "none"}} for n in range(count)]
    manifest = tmp_path / "set.jsonl"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    read, held = [0], [0]
    plain, spill = reader.read_manifest, selection.Sorted._spill

    def counting(path: str) -> Iterator[dict[str, Any]]:
        for row in plain(path):
            read[0] += 1
            yield row

    def spilling(self: selection.Sorted) -> None:
        held[0] = max(held[0], len(self._rows))
        spill(self)

    monkeypatch.setattr(reader, "read_manifest", counting)
    monkeypatch.setattr(selection.Sorted, "_spill", spilling)
    text = "".join(f"f/{n}\n" for n in reversed(range(count)))
    dataset = Dataset("set", str(manifest), [MOUNT])
    chosen = Selected([dataset], Asked(filelist=listed(tmp_path, text)), most=most)
    assert sum(1 for _ in chosen.rows()) == count
    assert read == [count + 1]
    assert held == [most]


def test_rows_are_kept_as_they_were(dataset: Dataset, tmp_path: Path) -> None:
    selection.write(str(tmp_path / "files.jsonl"), Selected([dataset], Asked(paths=["b/ü.jpg"])).rows())
    (row,) = selection.read(str(tmp_path / "files.jsonl"))
    assert (row.dataset, row.path, row.size, (row.digest or "")[:7]) == ("set", "b/ü.jpg", 7, "sha256:")

"""The reader: counts what it reads, keeps slices disjoint, and finds every kind of wrong byte."""

import hashlib
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import manifests
import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import reader

READER = Path(__file__).parents[3] / "plugins/module_utils/reader.py"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    for index in range(20):
        path = root / f"class{index % 3}" / f"{index:02d}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([index]) * (1000 + index // 2))
    (root / "empty").write_bytes(b"")
    return root


@pytest.fixture(params=manifests.KINDS)
def listed(source: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return manifests.save(source, tmp_path / "manifest.jsonl", request.param)


def entries(listed: Path) -> list[Any]:
    return list(reader.load(str(listed))[1])


def both(root: Path, listed: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    return reader.timed(str(root), entries(listed), 2), reader.verify(str(root), entries(listed), 2)


def test_a_whole_set_is_counted_to_the_byte(source: Path, listed: Path) -> None:
    timed, verified = both(source, listed)
    assert (timed["files"], timed["bytes"]) == (21, sum(p.stat().st_size for p in source.rglob("*") if p.is_file()))
    assert timed["bytes"] == timed["expected_bytes"]
    assert timed["wrong"] == verified["wrong"] == 0
    assert verified["digested"] == 21
    assert sum(count for _, count in timed["latency_ms"]) == 21


def test_a_truncated_file_is_found_by_both_passes(source: Path, listed: Path) -> None:
    (source / "class0/00.JPEG").write_bytes(bytes(10))
    timed, verified = both(source, listed)
    assert timed["problems"] == verified["problems"] == [{"path": "class0/00.JPEG", "what": "10 of 1000 bytes"}]


def test_wrong_bytes_are_found(source: Path, listed: Path) -> None:
    (source / "class0/00.JPEG").write_bytes(bytes(999) + b"\1")
    timed, verified = both(source, listed)
    assert timed["wrong"] == 0
    said = {"sha256": "wrong digest", "md5": "wrong digest, by its ETag"}
    kind = reader.algorithm_of(entries(listed)[0].digest)
    assert verified["problems"] == [{"path": "class0/00.JPEG", "what": said[kind]}]


def test_two_files_of_equal_size_that_return_each_others_bytes_are_found(source: Path, listed: Path) -> None:
    first, second = source / "class0/00.JPEG", source / "class1/01.JPEG"
    assert first.stat().st_size == second.stat().st_size
    first_bytes, second_bytes = first.read_bytes(), second.read_bytes()
    first.write_bytes(second_bytes)
    second.write_bytes(first_bytes)
    assert both(source, listed)[1]["wrong"] == 2


def test_an_empty_folder_instead_of_the_mount_is_found(listed: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    timed, verified = both(tmp_path / "empty", listed)
    assert timed["files"] == timed["bytes"] == 0
    assert timed["wrong"] == verified["wrong"] == 21
    assert len(timed["problems"]) == reader.MAX_PROBLEMS


def test_slices_of_one_seed_are_disjoint_and_complete(listed: Path) -> None:
    head, all_entries = reader.load(str(listed))
    cuts = [0, 4, 9, None]
    slices = [
        reader.select(head, all_entries, reader.Selection("small", first or 0, last))
        for first, last in itertools.pairwise(cuts)
    ]
    assert [len(part) for part in slices] == [4, 5, 12]
    assert sorted(entry for part in slices for entry in part) == sorted(all_entries)
    another = {**head, "digested": {**head["digested"], "seed": 8}}
    assert reader.select(another, all_entries, reader.Selection("small", 0, 4)) != slices[0]


def test_readers_divide_the_files_evenly(source: Path, listed: Path) -> None:
    assert reader.timed(str(source), entries(listed)[:6], 4)["readers"] == 3
    assert reader.timed(str(source), entries(listed)[:1], 4)["readers"] == 1


def test_an_epoch_is_shuffled_the_same_for_the_same_seed(listed: Path) -> None:
    order = reader.shuffled(entries(listed), "1/1")
    assert order == reader.shuffled(entries(listed), "1/1") != reader.shuffled(entries(listed), "1/2")


def test_records_are_counted_and_a_cut_one_is_found(tmp_path: Path) -> None:
    record = (5).to_bytes(8, "little") + bytes(4) + b"abcde" + bytes(4)
    (tmp_path / "shard").write_bytes(record * 3)
    whole = reader.Entry("shard", len(record) * 3, None)
    assert reader.timed(str(tmp_path), [whole], 1, "records")["records"] == 3
    (tmp_path / "shard").write_bytes((record * 3)[:-1])
    problems = reader.timed(str(tmp_path), [whole], 1, "records")["problems"]
    assert problems == [{"path": "shard", "what": "the record at byte 42 is cut short"}]


def test_names_and_sizes_are_counted_and_a_missing_name_is_found(source: Path, listed: Path) -> None:
    for way in ("stat", "list"):
        timed = reader.timed(str(source), entries(listed), 3, way)
        assert (timed["files"], timed["expected_files"], timed["bytes"], timed["wrong"]) == (21, 21, 0, 0)
    (source / "class0/00.JPEG").unlink()
    listing = reader.timed(str(source), entries(listed), 3, "list")
    assert (listing["files"], listing["problems"]) == (20, [{"path": "class0", "what": "6 of 7 names"}])
    assert reader.timed(str(source), entries(listed), 3, "stat")["problems"][0]["what"] == "No such file or directory"


def test_a_step_of_the_clock_is_measured(source: Path, listed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert abs(reader.timed(str(source), entries(listed), 2)["clock_step_s"]) < 1
    hours = itertools.count(step=3600)
    monkeypatch.setattr(time, "time", lambda: next(hours))
    assert reader.timed(str(source), entries(listed), 2)["clock_step_s"] == pytest.approx(3600, abs=5)


def test_a_dead_reader_process_is_an_error() -> None:
    def die(_: list[Any]) -> None:
        os._exit(9)

    with pytest.raises(RuntimeError, match="a reader process died"):
        reader.fork_map(die, [[1], [2]])


def test_by_hand(source: Path, listed: Path) -> None:
    def call() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(READER), str(listed), str(source)], capture_output=True, text=True, check=False
        )

    right = call()
    assert right.returncode == 0
    assert json.loads(right.stdout)["files"] == 21
    (source / "class0/00.JPEG").write_bytes(b"x" * 1000)
    wrong = call()
    assert wrong.returncode == 1
    assert json.loads(wrong.stdout)["verified"]["wrong"] == 1


def test_a_digest_is_sha256_or_like_another(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc" * 700_000)
    view = memoryview(bytearray(reader.BUFFER_BYTES))
    for algorithm, like in (("sha256", None), ("sha256", "sha256:0"), ("md5", "md5:0")):
        expected = f"{algorithm}:{hashlib.new(algorithm, b'abc' * 700_000).hexdigest()}"
        assert reader.file_digest(str(tmp_path / "file"), view, like) == (2_100_000, expected)


def test_files_are_read_while_others_stay_open(listed: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most: list[int] = []

    def counted(path: str, flags: int) -> int:
        fd = opened(path, flags)
        most.append(len([*Path("/proc/self/fd").iterdir()]))
        return fd

    opened = os.open
    monkeypatch.setattr(os, "open", counted)
    work = reader._holder(6)
    before = len([*Path("/proc/self/fd").iterdir()])
    share = reader.read_share(str(source), entries(listed), work)
    assert (share.files, share.bytes) == (21, sum(entry.size for entry in entries(listed)))
    assert max(most) - before == 7  # six, and the one that is read


def test_no_more_files_are_held_than_the_limit_allows(listed: Path, source: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = (limit[1] - reader.SPARE_FILES) * 2
    timed = reader.timed(str(source), entries(listed), 2, "hold", limit[1] * 4)
    assert (timed["held"], timed["files"], timed["wrong"]) == (most, 21, 0)
    assert "held" not in reader.timed(str(source), entries(listed), 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)

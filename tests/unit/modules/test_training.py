"""Emulated training: fast files keep accelerators busy, slow ones do not, and every byte counts."""

import time
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import reader, training


def entries(folder: Path, count: int = 64) -> list[reader.Entry]:
    for index in range(count):
        (folder / f"{index}").write_bytes(bytes(1000))
    return [reader.Entry(f"{index}", 1000, None) for index in range(count)]


def test_accelerators_slower_than_the_files_are_busy(tmp_path: Path) -> None:
    emulated = {"accelerators": 2, "batch": 4, "compute_s": 0.3}
    result = training.timed(str(tmp_path), entries(tmp_path), 3, emulated)
    assert result["utilisation"] > 0.7
    assert (result["files"], result["bytes"], result["wrong"]) == (64, 64_000, 0)


def test_accelerators_wait_for_slow_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = reader.read_share

    def slow(root: str, share: list[reader.Entry]) -> reader.Share:
        time.sleep(0.05)
        return right(root, share)

    monkeypatch.setattr(reader, "read_share", slow)
    emulated = {"accelerators": 1, "batch": 4, "compute_s": 0.01}
    assert training.timed(str(tmp_path), entries(tmp_path), 1, emulated)["utilisation"] < 0.4


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    found = entries(tmp_path)
    (tmp_path / "5").unlink()
    result = training.timed(str(tmp_path), found, 2, {"accelerators": 1, "batch": 8, "compute_s": 0.001})
    assert result["wrong"] == 1


def test_too_few_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="too few for 3 batches of 40 for 1 accelerators"):
        training.timed(str(tmp_path), entries(tmp_path), 2, {"accelerators": 1, "batch": 40, "compute_s": 1})

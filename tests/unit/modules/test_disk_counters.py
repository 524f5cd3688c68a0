"""Counters of the disk that holds a folder are found by its device number, and in the kernel's units."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import disk_counters

#: Of Linux 6.1: reads, merged, sectors, ms reading, the same of writes, under way, ms, weighted ms, and more.
ROW = "{major:4} {minor:7} vda {reads} 5 {sectors} {ms} 20 3 4096 50 0 700 {weighted} 0 0 0 0 9 12\n"


@pytest.fixture
def stats(tmp_path: Path) -> Path:
    """With another disk before the one that holds the file itself."""
    device = tmp_path.stat().st_dev
    own = {"major": os.major(device), "minor": os.minor(device)}
    other = ROW.format(major=250, minor=999, reads=1, sectors=1, ms=1, weighted=1)
    path = tmp_path / "diskstats"
    path.write_text(other + ROW.format(**own, reads=100, sectors=2000, ms=300, weighted=450))
    return path


def test_they_are_those_of_the_disk_below_a_folder(stats: Path) -> None:
    found = disk_counters.counters(str(stats.parent), str(stats))
    assert found == {"reads": 100, "bytes": 1_024_000, "wait_s": 0.3}


def test_a_folder_on_no_disk_has_none(stats: Path) -> None:
    assert disk_counters.counters("/proc", str(stats)) is None
    assert disk_counters.counters("/no/such/folder", str(stats)) is None
    assert disk_counters.counters(None) is None


def test_the_difference_is_what_was_read_meanwhile() -> None:
    before, after = {"reads": 10.0, "bytes": 1.0, "wait_s": 1.0}, {"reads": 15.0, "bytes": 3.0, "wait_s": 1.5}
    assert disk_counters.difference(before, after) == {"reads": 5.0, "bytes": 2.0, "wait_s": 0.5}
    assert disk_counters.difference(None, after) is None
    assert disk_counters.difference(before, None) is None


def test_times_of_the_kernel_begin_anew_after_32_bits() -> None:
    before, after = ({"reads": 1.0, "bytes": 1.0, "wait_s": at} for at in (4_294_967.0, 0.5))
    found = disk_counters.difference(before, after)
    assert found
    assert found["wait_s"] == pytest.approx(0.796)

"""Every lie that a throughput figure can tell, planted in a real mount of a real Alluxio: none may pass.

What cannot be done to a machine that others use is planted at the narrowest boundary and said so: the time of day as
the reader sees it, a reader that skips a file, a writer's dirty pages, what the plan says.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import fio, reader, residency
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import LARGE_BYTES
from planted import Planted, judge, over

from alluxio_fuse.check.verdict import Check

UNTOLD = ("too noisy to tell", "other work kept", "the JVM was not steady")  # of a busy machine, not of a lie
Lie = Callable[[Planted, pytest.MonkeyPatch], Check]


def first_small(planted: Planted) -> list[Path]:
    """Two small files of equal size."""
    size = min(entry.size for entry in planted.entries)
    return [planted.mount / entry.path for entry in planted.entries if entry.size == size][:2]


def truncated(planted: Planted, _patch: pytest.MonkeyPatch) -> Check:
    path, _ = first_small(planted)
    (planted.folder / "short").write_bytes(path.read_bytes()[:-1])
    with over(path, planted.folder / "short"):
        return judge([planted.measure()])


def wrong_bytes(planted: Planted, _patch: pytest.MonkeyPatch) -> Check:
    path, _ = first_small(planted)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    (planted.folder / "bit").write_bytes(content)
    with over(path, planted.folder / "bit"):
        return judge([planted.measure()])


def each_others_bytes(planted: Planted, _patch: pytest.MonkeyPatch) -> Check:
    with ExitStack() as stack:
        one, other = first_small(planted)
        for path in (one, other):
            shutil.copyfile(path, planted.folder / path.name)
        stack.enter_context(over(one, planted.folder / other.name))
        stack.enter_context(over(other, planted.folder / one.name))
        return judge([planted.measure()])


def mount_missing(planted: Planted, _patch: pytest.MonkeyPatch) -> Check:
    planted.fuse("stop")
    try:
        return judge([planted.measure()])
    finally:
        planted.fuse("start")


def wrong_mount(planted: Planted, _patch: pytest.MonkeyPatch) -> Check:
    with over(planted.mount, planted.source):
        return judge([planted.measure()])


def page_cache_left_warm(planted: Planted, patch: pytest.MonkeyPatch) -> Check:
    patch.setattr(residency, "drop_caches", lambda: None)
    return judge([planted.measure()])


def dirty_pages(planted: Planted, patch: pytest.MonkeyPatch) -> Check:
    copy = planted.source.parent / "copy"
    small = [str(copy / entry.path) for entry in planted.entries if entry.size < LARGE_BYTES]

    def written_just_now() -> None:
        for _ in range(5):  # another process's sync would make pages clean, and there would be no lie
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(planted.source, copy)
            Path("/proc/sys/vm/drop_caches").write_text("3")
            if (residency.resident_share(small) or 0) > 0.5:
                return
        raise AssertionError("not half of the pages stayed dirty")

    patch.setattr(residency, "drop_caches", written_just_now)
    return judge([planted.measure(folder=str(copy))])


def unwarmed_jvm(planted: Planted, _patch: pytest.MonkeyPatch) -> Check:
    planted.fuse("stop")
    planted.fuse("start")
    return judge([planted.measure(change=lambda rounds: [one for one in rounds if one["state"] != "warm-up"])])


def slow_node(planted: Planted, _patch: pytest.MonkeyPatch) -> Check:
    nodes = [planted.measure("node1"), planted.measure("node2")]
    with planted.slowed():
        nodes.append(planted.measure("node3"))
    ratio = judge(nodes).datasets[0].disk_ratio
    assert ratio
    return judge(nodes, {"min_disk_ratio": ratio.median / 3})


def skipping_reader(planted: Planted, patch: pytest.MonkeyPatch) -> Check:
    right = reader.read_share
    patch.setattr(reader, "read_share", lambda root, entries, *how: right(root, entries[1:], *how))
    return judge([planted.measure()])


def whole_blocks_alone(planted: Planted, patch: pytest.MonkeyPatch) -> Check:
    """fio as it is usually called: it reads less than the files hold, and ends with 0."""

    def usual(root: str, entries: list[Any], _readers: int, _mix: bool) -> Iterator[tuple[int, int, dict[str, Any]]]:
        yield 0, 0, {"filename": ":".join(f"{root}/{entry.path}" for entry in entries), "bs": 1 << 20}

    patch.setattr(fio, "_jobs", usual)
    return judge([planted.measure()])


def clock_jump(planted: Planted, patch: pytest.MonkeyPatch) -> Check:
    began = time.time()
    jumping = SimpleNamespace(perf_counter=time.perf_counter, time=lambda: began + 100 * (time.time() - began))
    patch.setattr(reader, "time", jumping)
    return judge([planted.measure()])


def better_cached_sample(planted: Planted, _patch: pytest.MonkeyPatch) -> Check:
    measured = planted.measure()
    ratio = judge([measured]).datasets[0].disk_ratio
    assert ratio
    gate = {"min_disk_ratio": ratio.median / 1.5}
    assert judge([measured], gate).verdict == "PASS" or only_untold(judge([measured], gate))
    return judge([measured | {"residency": {"client_cache": 0.1, "worker": 0.0, "under_store": 0.9}}], gate)


def gate_edited_down(planted: Planted, _patch: pytest.MonkeyPatch) -> Check:
    measured = planted.measure()
    gate = {"name": "8 x H100 on resnet50", "files_per_s": 1.0, "planned": {"files_per_s": 12857.0 * 100}}
    check = judge([measured], gate)
    assert "EDITED" in check.gate.said()
    return check


LIES: dict[str, tuple[Lie, str]] = {
    "truncated file": (truncated, r"19999 of 20000 bytes"),
    "wrong bytes": (wrong_bytes, r"wrong digest"),
    "two files return each other's bytes": (each_others_bytes, r"wrong digest and [1-9]"),
    "mount missing, an empty folder below": (mount_missing, r"No such file"),
    "wrong mount": (wrong_mount, r"not on a FUSE mount"),
    "page cache left warm": (page_cache_left_warm, r"100% was in the page cache before"),
    "dirty pages": (dirty_pages, r"small files, disk, disk: .*(from the device|in the page cache before)"),
    "unwarmed JVM": (unwarmed_jvm, r"JVM of the mount was not warmed"),
    "one slow node of many": (slow_node, r"on node3: client-cache small files against the local disk"),
    "a reader that skips files": (skipping_reader, r"files and \d+ of \d+ bytes were read"),
    "fio's whole blocks": (whole_blocks_alone, r"fio: \d+ of \d+ bytes"),
    "clock jump": (clock_jump, r"the clock took a step of"),
    "a sample better cached than the set": (better_cached_sample, r"at the planned mix"),
    "a gate edited down": (gate_edited_down, r"EDITED below the plan's own"),
}


def only_untold(check: Check) -> bool:
    """Whether nothing but a busy machine keeps a check from passing."""
    return all(any(word in reason for word in UNTOLD) for reason in check.reasons)


def told(name: str, planted: Planted, patch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Plant a lie: the verdict, which must not be PASS, and the reason that names the lie."""
    plant, reason = LIES[name]
    check = plant(planted, patch)
    assert check.verdict != "PASS"
    found = [said for said in check.reasons if re.search(reason, said)]
    assert found, check.reasons
    return check.verdict, found[0]

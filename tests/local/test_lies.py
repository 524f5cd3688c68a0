"""Every lie that a throughput figure can tell, planted in a real mount of a real Alluxio: none may pass.

What cannot be done to a machine that others use is planted at the narrowest boundary and said so: the time of day as
the reader sees it, a reader that skips a file, a writer's dirty pages, what the plan says.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import fio, reader, residency
from bundle import judged, stages, teardown
from planted import Planted, judge, over

from alluxio_fuse.check.verdict import Check

NAME = "lies"
VARIABLES = {"alluxio_name": NAME, "alluxio_environment": NAME, "alluxio_port_offset": 2000}
SMALL = {f"class-{i % 7}/{i:04}.bin": 20_000 + 997 * (i % 50) for i in range(400)}
LARGE = {f"big/shard-{i}.bin": (20 << 20) + i for i in range(4)}
UNTOLD = ("too noisy to tell", "other work kept", "the JVM was not steady")  # of a busy machine, not of a lie
Lie = Callable[[Planted, pytest.MonkeyPatch], Check]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    if not shutil.which("fio"):
        subprocess.run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", "fio"], check=True)
    folder = Path(f"/var/lib/{NAME}-source")  # on the disk: a temporary folder may be in memory
    dataset = {"name": "set", "source": f"file://{folder}/set"}
    variables = VARIABLES | {"alluxio_datasets": [dataset], "alluxio_gate_min_disk_ratio": 0.01}
    teardown(**variables)
    shutil.rmtree(folder, ignore_errors=True)
    for number, (name, size) in enumerate((SMALL | LARGE).items()):
        path = folder / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(number).randbytes(size))
    try:
        judged(stages("preflight", "plan", "nodes", "services", "warm", **variables))
        yield Planted(NAME, tmp_path_factory.mktemp("lies"))
    finally:
        teardown(**variables)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def honest(planted: Planted) -> dict[str, Any]:
    """What is measured when nobody lies."""
    return planted.measure()


@pytest.fixture(scope="module")
def table() -> Iterator[list[tuple[str, str, str]]]:
    """Lie, verdict, why: printed at the end, which `make test-lies` shows."""
    rows: list[tuple[str, str, str]] = []
    yield rows
    print()
    for name, verdict, why in [("lie", "verdict", "why"), *rows]:
        print(f"{name:<42} | {verdict:<11} | {why}")


def first_small(planted: Planted) -> list[Path]:
    """Two small files of equal size."""
    of_size = [name for name, size in SMALL.items() if size == SMALL["class-0/0000.bin"]]
    return [planted.mount / name for name in of_size[:2]]


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

    def written_just_now() -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(planted.source, copy)
        Path("/proc/sys/vm/drop_caches").write_text("3")

    patch.setattr(residency, "drop_caches", written_just_now)
    return judge([planted.measure(source=f"file://{copy}")])


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
    assert judge([measured], gate).verdict == "PASS" or _only_untold(judge([measured], gate))
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


def _only_untold(check: Check) -> bool:
    return all(any(word in reason for word in UNTOLD) for reason in check.reasons)


def test_without_a_lie_nothing_is_wrong(honest: dict[str, Any], table: list[tuple[str, str, str]]) -> None:
    check = judge([honest])
    table.append(("none", check.verdict, check.reasons[-1]))
    assert check.verdict == "PASS" or (check.verdict == "CANNOT TELL" and _only_untold(check)), check.reasons
    assert all(row.established for row in check.datasets[0].rows), [row.why for row in check.datasets[0].rows]


@pytest.mark.parametrize("name", LIES)
def test_a_lie_does_not_pass(
    name: str, planted: Planted, monkeypatch: pytest.MonkeyPatch, table: list[tuple[str, str, str]]
) -> None:
    plant, reason = LIES[name]
    check = plant(planted, monkeypatch)
    why = next((said for said in check.reasons if re.search(reason, said)), check.reasons[0])
    table.append((name, check.verdict, why))
    assert check.verdict != "PASS"
    assert re.search(reason, why), check.reasons

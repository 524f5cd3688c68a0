"""The sample as a newcomer runs it, its report, and checks that disturb no other reader."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import leftovers
import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import fio, reader, residency
from browser import chromium
from bundle import CHECKOUT, Run, judged, latest, playbook, podman
from page import plots, speed_at, value_at

from alluxio_fuse.check import passes

NAME = "alluxio-fuse"
MOUNT_POINT = Path(f"/mnt/{NAME}/imagenet-sample/data")
SOURCE = Path(f"/var/lib/{NAME}/sample")
SERVICES = ("master", "job-master", "worker", "job-worker", "fuse-imagenet-sample")


def capacity() -> list[str]:
    """How much the workers hold: lines of Alluxio's report."""
    report = podman("exec", f"{NAME}-master", "/opt/alluxio/bin/alluxio", "fsadmin", "report", "capacity")
    return [line for line in report.splitlines() if "Used" in line]


def dropped() -> int:
    """How often the kernel was told to drop its page cache."""
    return int(re.findall(r"^drop_pagecache (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)[0])


@pytest.fixture(scope="module")
def first() -> Iterator[Run]:
    """The main job as `make site` runs it."""
    with leftovers.deployment({"alluxio_name": NAME}):
        yield judged(playbook("site.yml"))


def test_verdict(first: Run) -> None:
    """Every state established, every digest right. A busy machine may leave speed undecided, and says so."""
    check = latest("check")
    assert check["verdict"] in ("PASS", "CANNOT TELL"), check["reasons"]
    assert f"verdict  {check['verdict']}" in first.output
    (dataset,) = check["datasets"]
    assert dataset["wrong"] == 0
    assert dataset["digested"] >= dataset["files"]
    states = {(row["kind"], row["state"]) for row in dataset["rows"] if row["path"] == "mount" and row["established"]}
    assert states == {
        *((kind, state) for kind in ("small", "large") for state in ("cold", "worker", "client-cache", "page-cache")),
        *((kind, "client-cache") for kind in ("list", "stat")),
    }


def test_reads_are_right(first: Run) -> None:
    """Not by our own check: a few files compared with the source by cmp."""
    files = sorted(path for path in SOURCE.rglob("*") if path.is_file() and not path.name.startswith("."))
    for path in files[:: len(files) // 20]:
        subprocess.run(["cmp", str(path), str(MOUNT_POINT / path.relative_to(SOURCE))], check=True)


def test_the_studies_are_made_by_name(first: Run) -> None:
    """Each adds its rows, with figures, on the mount and on the disk; one pass of each will do here."""
    studies = ["fio", "tfrecord", "tokens", "readers", "open-files"]
    run = judged(playbook("playbooks/check.yml", alluxio_check_profiles=studies, alluxio_check_passes=1))
    assert "TFRecord against files of a sample each, mount: " in run.output
    (dataset,) = latest("check")["datasets"]
    found = {(row["path"], row["kind"], row["readers"], row["held"]) for row in dataset["rows"] if row["established"]}
    for path in ("mount", "disk"):
        assert {(path, kind, 4, None) for kind in ("fio", "imagenet mix", "tokens", "mapped")} <= found
        assert (path, "records", 3, None) in found  # files of its own for each reader
        assert {(path, "readers", count, None) for count in (1, 2, 4, 8, 16, 32)} <= found
        assert {(path, "open files", 4, held) for held in (256, 1024)} <= found


@pytest.mark.parametrize("pattern", fio.PATTERNS)
def test_fio_itself_reads_what_it_is_asked_for(first: Run, tmp_path: Path, pattern: str) -> None:
    """After the studies, for which the role installed it; sizes are no multiples of a block."""
    (tmp_path / "a").write_bytes(bytes(5_000_001))
    (tmp_path / "b").write_bytes(bytes(1 << 20))
    entries = [reader.Entry("a", 5_000_001, None), reader.Entry("b", 1 << 20, None)]
    result = fio.timed(str(tmp_path), entries, 2, pattern)
    assert (result["bytes"], result["wrong"]) == (6_048_577, 0)


def test_the_page_shows_the_numbers_of_the_check(first: Run, tmp_path: Path) -> None:
    """Every dot stands where check.json has its median, and bars of one share are of one length; light and dark."""
    newest = max(path for path in (CHECKOUT / "runs").glob("*/check.json") if '"kind": "readers"' in path.read_text())
    (dataset,) = json.loads(newest.read_text())["datasets"]
    with chromium() as page:
        page.open(newest.with_name("report.html"))
        drawn = plots(page)
        colours = []
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            page.picture(tmp_path / f"{scheme}.png")
            colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert colours[0] != colours[1]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    speeds = [plot for name, plot in drawn.items() if ": throughput by " in name]
    assert len(speeds) == 4  # small files, large files, by number of readers, by number of open files
    dots = [(said, value_at(plot, at)) for plot in speeds for said, at in plot["dots"]]
    medians = [row["mb_per_s"] for row in dataset["rows"] if row["established"] and row["bytes"]]
    assert len(dots) == len(medians)
    for spread in medians:
        said = f"{spread['median']:,.0f} MB/s ({spread['least']:,.0f} to {spread['most']:,.0f}"
        assert any(said in text and abs(value / spread["median"] - 1) < 0.02 for text, value in dots), said
    by_epoch = [plot for name, plot in drawn.items() if "epoch by epoch" in name]
    heights = [(said, speed_at(plot, height)) for plot in by_epoch for said, height in plot["heights"]]
    shown = [row for row in dataset["rows"] if row["established"] and row["kind"] in ("small", "large")]
    assert len(heights) == sum(row["mb_per_s"]["passes"] for row in shown)
    for said, speed in heights:
        assert abs(speed / float(said.rpartition(": ")[2].removesuffix(" MB/s").replace(",", "")) - 1) < 0.02, said
    widths = dict(drawn[f"{dataset['name']}: where the bytes came from"]["bars"])
    whole = [width for said, width in widths.items() if said.endswith("100%")]  # which says 99.5 % and more
    assert min(whole) >= 0.995 * max(whole)


def resident(paths: list[Path]) -> float:
    """Share of some files that the page cache holds."""
    return residency.resident_share([str(path) for path in paths]) or 0.0


def outside_the_probe_set() -> list[Path]:
    """Small files of the source whose pages a harmless check has no business with."""
    (dataset,) = latest("check")["datasets"]
    header, entries = reader.load(f"/var/lib/{NAME}/manifests/{dataset['name']}.jsonl")
    files, size = header["small"]["files"], header["small"]["bytes"]
    probe_set = int(files * passes.PROBE_BYTES / size)
    assert 0 < probe_set < files / 2
    others = reader.select(header, entries, reader.Selection("small", probe_set, None))
    return [SOURCE / entry.path for entry in others]


def test_a_harmless_check_disturbs_nobody(first: Run, tmp_path: Path) -> None:
    """No page of others is dropped, no cache is emptied; what is below the page cache reads `not tested`.

    A kernel may take pages back by itself: others' have to stay as those of files that the check knows nothing of,
    which came to the page cache at the same moment and were read as often.
    """
    others = outside_the_probe_set()[:200]
    unknown = [Path(shutil.copy(path, tmp_path / str(number))) for number, path in enumerate(others)]
    os.sync()
    both = [path for pair in zip(others, unknown, strict=True) for path in pair]
    residency.forget([str(path) for path in both])
    for path in both:
        path.read_bytes()
    was, drops = capacity(), dropped()
    assert resident(others) > 0.95
    run = judged(playbook("playbooks/check.yml", alluxio_check_disruptive=False, alluxio_check_passes=2))
    assert dropped() == drops
    assert resident(others) > resident(unknown) - 0.05
    assert capacity() == was
    check = latest("check")
    assert check["verdict"] != "FAIL", run.output[-3000:]
    (dataset,) = check["datasets"]
    untested = {(row["kind"], row["state"]) for row in dataset["rows"] if row["why"].startswith("not tested")}
    first_reads = {(row["kind"], row["state"]) for row in dataset["rows"] if row["first_read"]}
    assert {state for _, state in untested | first_reads} >= {"cold", "worker"}
    assert not {row["kind"] for row in dataset["rows"]} & {"list", "stat", "records", "fio", "training"}


def test_a_node_with_readers_is_left_alone(first: Run) -> None:
    """A file that is open on the mount stays with its reader: the check reads nothing and says so."""
    sample = next(path for path in SOURCE.rglob("*.JPEG"))
    with (MOUNT_POINT / sample.relative_to(SOURCE)).open("rb") as held:
        held.read(1)
        assert resident([Path(held.name)]) > 0
        judged(playbook("playbooks/check.yml", alluxio_check_disruptive=False))
        assert resident([Path(held.name)]) > 0  # a kernel may take a page or two back by itself
        assert held.read() == sample.read_bytes()[1:]
    check = latest("check")
    assert check["verdict"] == "CANNOT TELL"
    assert any("left alone, in use by" in reason for reason in check["reasons"]), check["reasons"]


def test_a_reader_that_opens_files_now_and_then_is_seen(first: Run) -> None:
    """As who trains with small files and decodes each: at most moments nothing is open."""
    paths = [str(MOUNT_POINT / path.relative_to(SOURCE)) for path in islice(SOURCE.rglob("*.JPEG"), 50)]
    program = """import sys, time
while True:
    for path in sys.argv[1:]:
        open(path, "rb").read()
        time.sleep(0.005)"""
    with subprocess.Popen([sys.executable, "-c", program, *paths]) as reader:
        try:
            judged(playbook("playbooks/check.yml", alluxio_check_disruptive=False))
        finally:
            reader.kill()
    assert any("left alone, in use by" in reason for reason in latest("check")["reasons"])

"""The main job on this machine, as a newcomer runs it: real Alluxio containers, every byte compared."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import fio, reader, residency
from browser import chromium
from bundle import CHECKOUT, Run, judged, kill, latest, main_pid, playbook, podman, succeed, teardown
from page import plots, speed_at, value_at

from alluxio_fuse.check import passes

NAME = "alluxio-fuse"
MOUNT_POINT = Path(f"/mnt/{NAME}/imagenet-sample/data")
SOURCE = Path(f"/var/lib/{NAME}/sample")
SERVICES = ("master", "job-master", "worker", "job-worker", "fuse-imagenet-sample")


def snapshot(path: Path) -> None:
    with path.open("w") as stream:
        subprocess.run([sys.executable, str(CHECKOUT / "tests/snapshot.py"), "take"], stdout=stream, check=True)


def alluxio(*arguments: str, user: str | None = None) -> subprocess.CompletedProcess[str]:
    """The CLI in the master's container, as any user name that it cares to call itself."""
    options = ["-e", f"ALLUXIO_USER_JAVA_OPTS=-Dalluxio.security.login.username={user}"] if user else []
    command = ["podman", "exec", *options, f"{NAME}-master", "/opt/alluxio/bin/alluxio", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def served() -> bool:
    """Whether the mount answers; a dead one may hang, so another process asks."""
    return (
        subprocess.run(["timeout", "5", "ls", f"{MOUNT_POINT}/train"], capture_output=True, check=False).returncode == 0
    )


def dropped() -> int:
    """How often the kernel was told to drop its page cache."""
    return int(re.findall(r"^drop_pagecache (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)[0])


def used(report: str) -> list[str]:
    """The lines of a capacity report that say how much is held."""
    return [line for line in report.splitlines() if "Used" in line]


def started(name: str) -> str:
    return podman("inspect", "--format", "{{.State.StartedAt}} {{.RestartCount}}", f"{NAME}-{name}").strip()


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The machine as it was, packages and caches apart: one run and teardown have been here already."""
    path = tmp_path_factory.mktemp("before") / "snapshot.json"
    succeed(playbook("playbooks/teardown.yml"))
    snapshot(path)
    return path


@pytest.fixture(scope="module")
def first(before: Path) -> Iterator[Run]:
    """The first run; what it made is taken away at the end, whatever happened."""
    yield judged(playbook("site.yml"))
    teardown(alluxio_name=NAME)


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


def test_listens_on_loopback_only(first: Run) -> None:
    listeners = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    ours = [line.split()[3] for line in listeners.splitlines() if '"java"' in line]
    assert len(ours) >= 8
    assert [address for address in ours if not address.startswith(("127.0.0.1:", "[::ffff:127.0.0.1]:"))] == []


def test_least_privilege(first: Run) -> None:
    for service in SERVICES:
        inspected: dict[str, Any] = json.loads(podman("inspect", f"{NAME}-{service}"))[0]
        fuse = service.startswith("fuse")
        assert inspected["EffectiveCaps"] == (["CAP_SYS_ADMIN"] if fuse else None) or inspected["EffectiveCaps"] == []
        assert inspected["HostConfig"]["Privileged"] is False
        assert inspected["HostConfig"]["ReadonlyRootfs"] is True
        assert inspected["Config"]["User"] == ("0:0" if fuse else "1000:1000")


def test_second_run_changes_nothing(first: Run) -> None:
    was = {service: started(service) for service in SERVICES}
    again = judged(playbook("site.yml", alluxio_check_passes=3))
    assert again.changed == 0, again.tasks("changed")
    assert {service: started(service) for service in SERVICES} == was
    assert again.stages["together"] - again.stages["Check"] <= 60, again.stages


def test_the_studies_are_made_by_name(first: Run) -> None:
    """Each adds its rows, with figures, on the mount and on the disk; one pass of each will do here."""
    studies = ["fio", "tfrecord", "readers", "open-files"]
    run = judged(playbook("playbooks/check.yml", alluxio_check_profiles=studies, alluxio_check_passes=1))
    assert "TFRecord against files of a sample each, mount: " in run.output
    (dataset,) = latest("check")["datasets"]
    found = {(row["path"], row["kind"], row["readers"], row["held"]) for row in dataset["rows"] if row["established"]}
    for path in ("mount", "disk"):
        assert {(path, kind, 4, None) for kind in ("fio", "imagenet mix")} <= found
        assert (path, "records", 3, None) in found  # files of its own for each reader
        assert {(path, "readers", count, None) for count in (1, 2, 4, 8, 16, 32)} <= found
        assert {(path, "open files", 4, held) for held in (256, 1024)} <= found


@pytest.mark.parametrize("mix", [False, True])
def test_fio_itself_reads_what_it_is_asked_for(first: Run, tmp_path: Path, mix: bool) -> None:
    """After the studies, for which the role installed it; sizes are no multiples of a block."""
    (tmp_path / "a").write_bytes(bytes(5_000_001))
    (tmp_path / "b").write_bytes(bytes(1 << 20))
    entries = [reader.Entry("a", 5_000_001, None), reader.Entry("b", 1 << 20, None)]
    result = fio.timed(str(tmp_path), entries, 2, mix=mix)
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
    assert len({round(width) for said, width in widths.items() if said.endswith("100%")}) == 1


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
    others = reader.select(
        header, entries, latest("check")["settings"]["seed"], reader.Selection("small", probe_set, None)
    )
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
    was, drops = alluxio("fsadmin", "report", "capacity").stdout, dropped()
    assert resident(others) > 0.95
    run = judged(playbook("playbooks/check.yml", alluxio_check_disruptive=False, alluxio_check_passes=2))
    assert dropped() == drops
    assert resident(others) > resident(unknown) - 0.05
    assert used(alluxio("fsadmin", "report", "capacity").stdout) == used(was)
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


@pytest.mark.parametrize("user", [None, "root", "alluxio", "nobody"])
def test_source_cannot_be_changed_through_alluxio(first: Run, user: str | None) -> None:
    def state() -> list[tuple[str, int, int]]:
        return sorted((str(p), p.lstat().st_size, p.lstat().st_mtime_ns) for p in SOURCE.rglob("*"))

    was = state()
    assert alluxio("fs", "rm", "-R", "/imagenet-sample", user=user).returncode != 0
    alluxio("fs", "mount", "/again", str(SOURCE), user=user)
    alluxio("fs", "rm", "-R", "/again", user=user)
    alluxio("fs", "copyFromLocal", "/etc/hostname", "/imagenet-sample/hostname", user=user)
    alluxio("fs", "copyFromLocal", "/etc/hostname", "/again/hostname", user=user)
    assert state() == was
    alluxio("fs", "unmount", "/again")
    assert not os.access(MOUNT_POINT / "new", os.F_OK)
    with pytest.raises(OSError, match="Read-only file system"):
        (MOUNT_POINT / "new").touch()


def test_a_killed_fuse_comes_back(first: Run) -> None:
    fuse = f"{NAME}-fuse-imagenet-sample"
    was = main_pid(fuse)
    kill(fuse)
    time.sleep(1)
    deadline = time.monotonic() + 60
    while not served():
        assert time.monotonic() < deadline, podman("logs", "--tail", "20", fuse)
        time.sleep(1)
    assert main_pid(fuse) != was
    sample = next(path for path in SOURCE.rglob("*.JPEG"))
    subprocess.run(["cmp", str(sample), str(MOUNT_POINT / sample.relative_to(SOURCE))], check=True)


def test_teardown_leaves_the_machine_as_it_was(first: Run, before: Path, tmp_path: Path) -> None:
    succeed(playbook("playbooks/teardown.yml"))
    snapshot(tmp_path / "after.json")
    tool = str(CHECKOUT / "tests/snapshot.py")
    compare = [sys.executable, tool, "compare", str(before), str(tmp_path / "after.json")]
    compared = subprocess.run(compare, capture_output=True, text=True, check=False)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert succeed(playbook("playbooks/teardown.yml")).changed == 0

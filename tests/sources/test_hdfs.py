"""The main job on an hdfs:// source, in a real HDFS of one namenode and one datanode."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from bundle import C1_ALONE, Run, judged, latest, playbook, until
from hdfs_server import Hdfs, hdfs

NAME = "hadoop"
SET, LIVE = (Path(f"/mnt/{NAME}/{name}/data") for name in ("set", "live"))
PROMISE_S = 20


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with trees.source(NAME) as folder:
        yield folder


@pytest.fixture(scope="module")
def serving(directory: Path) -> Iterator[Hdfs]:
    with leftovers.folder(Path(f"/var/lib/{NAME}-hdfs")) as folder, hdfs(folder) as running:
        for path in (path for path in directory.rglob("*") if path.is_file()):
            running.put(f"/train/set/{path.relative_to(directory)}", path.read_bytes())
        running.make("/train/set/empty")
        for number in range(4):
            running.put(f"/train/live/a b/{number}.bin", bytes([number]) * 200_000)
        running.put("/closed/a", b"a")
        running.allow("/closed", "700")
        yield running


@pytest.fixture(scope="module")
def variables(serving: Hdfs) -> dict[str, Any]:
    web = {"hdfs": {"web": serving.web}}
    return {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 2850,
        "alluxio_datasets": [
            {"name": "set", "source": f"{serving.namenode}/train/set", **web},
            {
                "name": "live",
                "source": f"{serving.namenode}/train/live",
                "freshness": f"within: {PROMISE_S}s",
                **web,
            },
        ],
        "alluxio_gate_min_disk_ratio": 0.01,
        "alluxio_check_passes": 1,
        **C1_ALONE,
    }


def test_every_byte(first: Run, directory: Path) -> None:
    assert trees.digests(SET) == trees.digests(directory)
    assert (SET / "empty").is_dir()
    assert trees.of_another_time(NAME, "set") == []


def test_every_cache_state_is_established(first: Run) -> None:
    """A busy machine may leave speed undecided, and says so."""
    check = latest("check")
    assert check["verdict"] in ("PASS", "CANNOT TELL"), check["reasons"]
    (of_set,) = (dataset for dataset in check["datasets"] if dataset["name"] == "set")
    assert of_set["wrong"] == 0
    assert of_set["digested"] >= of_set["files"] == len(trees.FILES)
    rows = [row for row in of_set["rows"] if row["path"] == "mount"]
    assert {row["state"] for row in rows} >= {"cold", "worker", "client-cache", "page-cache"}
    assert [row["why"] for row in rows if not row["established"]] == []


def test_it_cannot_be_written_to(first: Run) -> None:
    with pytest.raises(OSError, match="Read-only file system"):
        (SET / "new").touch()


def test_the_second_run_changes_nothing(first: Run, variables: dict[str, Any]) -> None:
    run = judged(playbook("site.yml", **variables))
    assert (run.changed, run.tasks("changed")) == (0, [])


def test_preflight_tells_what_the_namenode_said_of_each(first: Run, variables: dict[str, Any], serving: Hdfs) -> None:
    wrong = {
        "missing": {"source": f"{serving.namenode}/none"},
        "file": {"source": f"{serving.namenode}/ready"},
        "closed": {"source": f"{serving.namenode}/closed"},
        "away": {"source": f"{serving.namenode}/train/set", "hdfs": {"web": f"http://{serving.address}:9"}},
    }
    own = {"hdfs": {"web": serving.web}, "files": 1, "bytes": "1Mi"}
    said = [{"name": name, **own, **one} for name, one in wrong.items()]
    run = playbook("playbooks/preflight.yml", **{**variables, "alluxio_datasets": said})
    assert run.status != 0
    text = " ".join(run.output.split())
    for message in (
        "missing on localhost: FileNotFoundException: File /none/ does not exist",
        "missing on localhost: NotADirectory: /ready is a file; name its folder",
        "denied on localhost: AccessControlException: Permission denied: user=alluxio",
        "let HDFS's user alluxio list and read this folder",
        "Connection refused",
    ):
        assert message in text, run.output[-6000:]


def test_a_change_is_seen_in_time(first: Run, serving: Hdfs) -> None:
    path, content = LIVE / "a b/1.bin", b"s" * 200_000
    assert path.read_bytes() == bytes([1]) * 200_000
    serving.put("/train/live/a b/1.bin", content)
    until("the change", lambda: path.read_bytes() == content, PROMISE_S + 5)


def test_what_is_cached_is_read_while_hdfs_is_away(first: Run, serving: Hdfs, directory: Path) -> None:
    wanted = trees.digests(directory)
    subprocess.run(["sysctl", "-q", "vm.drop_caches=3"], check=True)
    serving.stop()
    try:
        assert trees.digests(SET) == wanted
    finally:
        serving.start()

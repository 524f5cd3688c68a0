"""A staged dataset serves right bytes whatever becomes of FUSE, and only where the copy is the source's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from bundle import C1_ALONE, kill, latest, main_pid, playbook, stages, succeed, until
from readers import READING, recorded

NAME = "staged"
DEPLOYED = ("preflight", "plan", "nodes", "services", "warm")
PATH = Path(f"/mnt/{NAME}/set/data")
HIDDEN = Path(f"/var/lib/{NAME}/fuse/set/data")
STAGE = Path(f"/var/lib/{NAME}/stage/set")
FUSE = f"{NAME}-fuse-set"


def said(source: Path, stage: str = "require", **more: Any) -> dict[str, Any]:
    return {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 3100,
        "alluxio_datasets": [{"name": "set", "source": f"file://{source}", "stage": stage}],
        "alluxio_check_passes": 3,
        "alluxio_check_fail_on": ["FAIL"],
        **C1_ALONE,
        **more,
    }


@pytest.fixture(scope="module")
def source() -> Iterator[Path]:
    """Where the dataset comes from; it is deployed and staged."""
    with trees.source(NAME) as folder, leftovers.deployment(said(folder)):
        succeed(stages(*DEPLOYED, **said(folder)))
        yield folder


@contextmanager
def reader(source: Path, tmp_path: Path) -> Iterator[Path]:
    """A process that reads every file at the path and compares digests; what it saw, a line for each read."""
    digests, record = tmp_path / "digests.json", tmp_path / "reads"
    digests.write_text(json.dumps(trees.digests(source)))
    with record.open("w") as out:
        process = subprocess.Popen([sys.executable, READING, PATH, digests, "1"], stdout=out)
        try:
            until("it reads", lambda: recorded(record))
            yield record
        finally:
            process.kill()
            process.wait()


def goes_on(record: Path) -> None:
    """It has read every file once more, and nothing but right bytes."""
    before = len(recorded(record))
    until("it goes on reading", lambda: len(recorded(record)) > before + len(trees.FILES))
    assert {one.outcome for one in recorded(record)} == {"ok"}


def mount_types(point: Path) -> list[str]:
    lines = (line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [right.split()[0] for left, right in lines if left.split()[4] == str(point)]


def test_the_kernel_serves_every_byte(source: Path) -> None:
    assert mount_types(PATH) == ["tmpfs"]
    assert mount_types(HIDDEN) == ["fuse.alluxio-fuse"]
    assert trees.digests(PATH) == trees.digests(source)
    run = succeed(stages(*DEPLOYED, **said(source)))
    assert run.changed == 0, run.tasks("changed")


def test_the_check_proves_the_copy(source: Path) -> None:
    succeed(playbook("playbooks/check.yml", **said(source)))
    (dataset,) = latest("check")["datasets"]
    rows = {(row["path"], row["state"], row["kind"]): row for row in dataset["rows"]}
    for kind in ("small", "large"):
        assert rows["mount", "staged", kind]["established"], rows["mount", "staged", kind]["why"]
        assert rows["mount", "staged", kind]["origins"]["stage"] == 1.0
        assert rows["mount", "worker", kind]["established"], rows["mount", "worker", kind]["why"]
    assert dataset["wrong"] == 0


def test_readers_notice_nothing_of_fuse(source: Path, tmp_path: Path) -> None:
    """It is killed, and started again with other options while they read."""
    with reader(source, tmp_path) as record:
        kill(FUSE)
        goes_on(record)
        until("FUSE is back", lambda: mount_types(HIDDEN))
        former = main_pid(FUSE)
        options = {"alluxio_overrides": {**C1_ALONE["alluxio_overrides"], "fuse.heap": "700Mi"}}
        succeed(stages(*DEPLOYED, **said(source) | options))
        assert main_pid(FUSE) != former
        goes_on(record)


def test_what_is_read_is_not_taken_away(source: Path, tmp_path: Path) -> None:
    with reader(source, tmp_path) as record:
        for refused in (playbook("playbooks/teardown.yml", **said(source)), stages(*DEPLOYED, **said(source, "off"))):
            assert refused.status != 0
            assert "is read by python" in refused.output.replace("\n", " "), refused.output[-3000:]
        goes_on(record)


def test_another_file_in_the_copy_is_found(source: Path) -> None:
    """A lie: somebody who may, root, puts other bytes of the same size into the copy."""
    (file,) = STAGE.glob("*/files/class-0/0000.bin")
    before = file.read_bytes()
    file.write_bytes(os.urandom(len(before)))
    try:
        playbook("playbooks/check.yml", **said(source))
        judged = latest("check")
        assert judged["verdict"] == "FAIL"
        assert any("class-0/0000.bin: wrong digest" in one for one in judged["datasets"][0]["mistakes"])
    finally:
        file.write_bytes(before)


def test_a_source_that_changed_is_not_staged(source: Path) -> None:
    """The copy that is there stays, and the next run, with the source as listed, puts another in its place."""
    file = source / "class-1/0001.bin"
    before = file.read_bytes()
    manifest = Path(f"/var/lib/{NAME}/manifests/set.jsonl")
    (source / "added.bin").write_bytes(b"new")
    succeed(stages("preflight", "plan", "nodes", **said(source)))
    listed = manifest.read_text()
    manifest.write_text(listed.replace(f'"size": {len(before)}', f'"size": {len(before) + 1}', 1))
    refused = playbook("playbooks/warm.yml", **said(source))
    assert refused.status != 0
    assert "not staged, as these files are not what the manifest says" in refused.output.replace("\n", " ")
    assert not (PATH / "added.bin").exists()
    manifest.write_text(listed)
    succeed(playbook("playbooks/warm.yml", **said(source)))
    assert trees.digests(PATH) == trees.digests(source)
    assert [folder.name for folder in STAGE.iterdir() if folder.name != "view"] == [
        json.loads(listed.splitlines()[0])["id"]
    ]


def test_what_is_no_longer_staged_comes_through_fuse(source: Path) -> None:
    succeed(stages(*DEPLOYED, **said(source, "off")))
    assert mount_types(PATH) == ["fuse.alluxio-fuse"]
    assert not STAGE.exists()
    assert trees.digests(PATH) == trees.digests(source)

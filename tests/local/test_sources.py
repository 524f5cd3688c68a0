"""The main job on an own directory and on an S3 bucket behind a private CA, side by side in one deployment."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bundle import C1_ALONE, CHECKOUT, Run, judged, latest, playbook, podman, stages, succeed, teardown
from drills import READING, Readers, reading
from object_store import ObjectStore

NAME = "sources"
OFFSET = 1500
FILES = {f"class-{i % 7}/{i:04}.bin": 20_000 + 997 * (i % 50) for i in range(210)} | {"big/shard-0.bin": 70 << 20}


def fill(folder: Path) -> None:
    """The same tree from the same seed, of files that all differ."""
    for number, (name, size) in enumerate(FILES.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(number).randbytes(size))


def digests(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own") / "set"
    folder.mkdir()
    folder.parent.chmod(0o755)
    for parent in list(folder.parents)[:-2]:
        parent.chmod(parent.stat().st_mode | 0o055)
    fill(folder)
    return folder


@pytest.fixture(scope="module")
def variables(store: ObjectStore, directory: Path) -> dict[str, Any]:
    client = store.client()
    client.create_bucket(Bucket="training")
    for name in FILES:
        client.upload_file(str(directory / name), "training", f"set/{name}")
    return {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": OFFSET,
        "alluxio_datasets": [
            {"name": "own", "source": f"file://{directory}"},
            {"name": "bucket", "source": "s3://training/set", "s3": store.s3},
        ],
        "alluxio_credentials": {"bucket": {"access_key": store.access_key, "secret_key": store.secret_key}},
        "alluxio_gate_min_disk_ratio": 0.01,
        "alluxio_check_passes": 3,
        **C1_ALONE,
    }


@pytest.fixture(scope="module")
def deployed(variables: dict[str, Any]) -> Iterator[Run]:
    teardown(**variables)
    yield judged(playbook("site.yml", "-vvv", **variables))
    teardown(**variables)


def test_every_byte_of_both(deployed: Run, directory: Path) -> None:
    check = latest("check")
    assert check["verdict"] != "FAIL", check["reasons"]
    assert {(found["name"], found["wrong"]) for found in check["datasets"]} == {("own", 0), ("bucket", 0)}
    wanted = digests(directory)
    assert digests(Path(f"/mnt/{NAME}/own/data")) == wanted
    assert digests(Path(f"/mnt/{NAME}/bucket/data")) == wanted


def test_a_wrong_key_is_refused(deployed: Run, variables: dict[str, Any]) -> None:
    wrong = {"bucket": {"access_key": "nobody", "secret_key": "nothing"}}
    run = playbook("playbooks/preflight.yml", **{**variables, "alluxio_credentials": wrong})
    assert run.status != 0
    assert "denied" in run.output
    assert "s3://training/set" in run.output


def test_the_key_is_nowhere(deployed: Run, store: ObjectStore) -> None:
    """But in the journal, whose folder is its service's alone."""
    canaries = (store.access_key, store.secret_key)
    names = subprocess.run(
        ["podman", "ps", "-a", "--format", "{{.Names}}"], capture_output=True, text=True, check=True
    ).stdout.split()
    ours = [name for name in names if name.startswith(f"{NAME}-")]
    assert len(ours) == 6
    told = [deployed.output]
    for command in (
        ["ps", "-eww", "-o", "args"],
        *(["podman", "inspect", name] for name in ours),
        *(["podman", "logs", name] for name in ours),
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        told += [done.stdout, done.stderr]
    told += [path.read_text(errors="replace") for path in (CHECKOUT / "runs").rglob("*") if path.is_file()]
    for text in told:
        for canary in canaries:
            assert canary not in text, text[max(0, text.find(canary) - 300) : text.find(canary)]
    state_dir, journal = Path(f"/var/lib/{NAME}"), Path(f"/var/lib/{NAME}/journal")
    files = (path for path in state_dir.rglob("*") if path.is_file())
    holders = [path for path in files if any(canary.encode() in path.read_bytes() for canary in canaries)]
    assert holders
    assert [path for path in holders if not path.is_relative_to(journal)] == []
    assert journal.stat().st_mode & 0o777 == 0o700


def test_the_bucket_cannot_be_changed(deployed: Run, store: ObjectStore) -> None:
    """By no user name, Alluxio's admin included, who may even mount the bucket once more: the key can only read."""

    def state() -> str:
        pages = store.client().get_paginator("list_objects_v2").paginate(Bucket="training")
        return json.dumps([(o["Key"], o["Size"], o["ETag"]) for page in pages for o in page["Contents"]])

    was = state()
    for user in ("root", "alluxio", "nobody"):
        options = ["-e", f"ALLUXIO_USER_JAVA_OPTS=-Dalluxio.security.login.username={user}"]
        cli = ["podman", "exec", *options, f"{NAME}-master", "/opt/alluxio/bin/alluxio", "fs"]
        for arguments in (
            ["rm", "-R", "/bucket"],
            ["mount", "/again", "s3://training/set"],
            ["copyFromLocal", "/etc/hostname", "/bucket/x"],
            ["copyFromLocal", "/etc/hostname", "/again/x"],
            ["rm", "-R", "/again"],
        ):
            subprocess.run([*cli, *arguments], capture_output=True, check=False)
    assert state() == was


@pytest.fixture
def reader(deployed: Run, directory: Path, tmp_path: Path) -> Iterator[Readers]:
    """A process that reads the bucket all the time."""
    (tmp_path / "digests.json").write_text(json.dumps(digests(directory)))
    command = [sys.executable, str(READING), f"/mnt/{NAME}/bucket/data", str(tmp_path / "digests.json"), "0"]
    with reading([command], tmp_path) as running:
        yield running


def test_a_dataset_goes_and_comes_while_another_is_read(
    deployed: Run, variables: dict[str, Any], directory: Path, reader: Readers
) -> None:
    """Who reads the other one may wait, and sees no error."""
    one = variables | {"alluxio_datasets": variables["alluxio_datasets"][1:]}
    own_file = Path(f"/mnt/{NAME}/own/data/class-0/0000.bin")
    with own_file.open("rb"):
        run = stages("plan", "services", **one)
        assert run.status != 0
        assert f"/mnt/{NAME}/own/data is not planned any more, and is read by" in " ".join(run.output.split())
        assert own_file.exists()
    succeed(stages("services", **one))
    assert not own_file.exists()
    assert f"{NAME}-fuse-own" not in podman("ps", "--all", "--format", "{{.Names}}").split()
    succeed(stages("preflight", "plan", "nodes", "services", **variables))
    assert digests(Path(f"/mnt/{NAME}/own/data")) == digests(directory)
    assert {one.outcome for one in reader.reads(0)} == {"ok"}


def test_teardown_takes_the_keys_along(deployed: Run, variables: dict[str, Any]) -> None:
    succeed(playbook("playbooks/teardown.yml", **variables))
    assert not Path(f"/var/lib/{NAME}").exists()
    assert not Path(f"/mnt/{NAME}").exists()

"""A writable dataset on S3: each operation comes to what docs/writable.md says, in the mount and at the source."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
from bundle import C1_ALONE, CHECKOUT, kill, stages, succeed, until
from object_store import ObjectStore
from writing import CONTENT, OPERATIONS, THERE

NAME = "checkpoints"
BUCKET = "models"
MOUNT_POINT = Path(f"/mnt/{NAME}/run/data")
WRITING = CHECKOUT / "tests/support/writing.py"
DOCS = CHECKOUT / "docs" / "writable.md"
PASSED_ON_S = 5.0
TEAM = 1234
TEAM_ALONE = {"gid": TEAM, "mode": "0750"}
_ROW = re.compile(r"^\| `(?P<operation>[a-z ]+)` \|[^|]*\| (?P<outcome>[^|]+) \| (?P<source>[^|]+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def deployed(store: ObjectStore) -> Iterator[dict[str, Any]]:
    """With the owner's key, as the other one may only read."""
    client = store.client()
    store.create_bucket(BUCKET)
    for operation in OPERATIONS:
        client.put_object(Bucket=BUCKET, Key=f"run/{operation}/there", Body=THERE)
    access_key, secret_key = store.owner
    variables = {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 2500,
        "alluxio_datasets": [
            {"name": "run", "source": f"s3://{BUCKET}/run", "s3": store.s3, "writable": True, "readers": TEAM_ALONE}
        ],
        "alluxio_credentials": {"run": {"access_key": access_key, "secret_key": secret_key}},
        **C1_ALONE,
    }
    with leftovers.deployment(variables):
        succeed(stages("preflight", "plan", "nodes", "services", **variables))
        yield variables


def in_folder(folder: Path) -> dict[str, bytes]:
    """Files below a folder, by their path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def in_store(store: ObjectStore, prefix: str) -> dict[str, bytes]:
    """Objects below a prefix, but for those that stand for folders."""
    client = store.client()
    listed = client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
    keys = [entry["Key"] for entry in listed if not entry["Key"].endswith(("/", "_$folder$"))]
    return {key.removeprefix(prefix): client.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}


def settled(store: ObjectStore, prefix: str, wanted: dict[str, bytes]) -> tuple[dict[str, bytes], float]:
    """What the source came to, and after how many seconds: `close` returns before a file is passed on."""
    begun = time.monotonic()
    while True:
        found, seconds = in_store(store, prefix), time.monotonic() - begun
        if found == wanted or seconds > PASSED_ON_S:
            return found, seconds
        time.sleep(0.1)


def said_of(found: dict[str, bytes], before: dict[str, bytes], on_a_disk: dict[str, bytes]) -> str:
    """What a folder came to, in the words of the docs."""
    if found == on_a_disk:
        return "as on a disk" if on_a_disk != before else "as before"
    if found == before:
        return "as before"
    differ = sorted(name for name in {*found, *on_a_disk} if found.get(name) != on_a_disk.get(name))
    return ", ".join(f"`{name}`: {len(found[name])} bytes" if name in found else f"no `{name}`" for name in differ)


def operate(operation: str, folder: Path) -> str:
    command = [sys.executable, str(WRITING), operation, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout.strip() or done.stderr[-500:]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_comes_to_what_the_docs_say(
    deployed: dict[str, Any], store: ObjectStore, operation: str, tmp_path: Path
) -> None:
    before = {"there": THERE}
    (tmp_path / "there").write_bytes(THERE)
    for folder in (tmp_path, MOUNT_POINT / operation):
        (folder / "empty").mkdir()
    assert operate(operation, tmp_path) == "works"
    outcome = operate(operation, MOUNT_POINT / operation)
    expected = in_folder(tmp_path)
    at_the_source, seconds = settled(store, f"run/{operation}/", expected)
    source = said_of(at_the_source, before, expected)
    mount = said_of(in_folder(MOUNT_POINT / operation), before, expected)
    print(f"{operation}: {outcome}; at the source {source} after {seconds:.1f} s, in the mount {mount}")
    (row,) = [match for match in _ROW.finditer(DOCS.read_text()) if match["operation"] == operation]
    assert (outcome, source) == (row["outcome"].strip("` "), row["source"])
    assert mount == ("as on a disk" if operation == "map and write" else source)


def write_slowly(path: Path, at_half: Callable[[], object]) -> None:
    """64 MiB, synced, with something happening in the middle of it."""
    block = os.urandom(1 << 20)
    with path.open("wb", buffering=0) as stream:
        for number in range(64):
            stream.write(block)
            if number == 32:
                at_half()
        os.fsync(stream.fileno())


def test_of_a_worker_that_dies_only_a_rename_tells(deployed: dict[str, Any], store: ObjectStore) -> None:
    """What was being written is gone, `fsync` and `close` say nothing; once more, with the worker back, it is whole."""
    written, final = MOUNT_POINT / "killed.part", MOUNT_POINT / "killed.bin"
    write_slowly(written, lambda: kill(f"{NAME}-worker"))
    with pytest.raises(OSError, match=r"Input/output error|No such file or directory"):
        written.rename(final)
    assert not written.exists()
    assert in_store(store, "run/killed.") == {}

    def write_again() -> Path:
        written.write_bytes(CONTENT)
        return written.rename(final)

    until("a write", write_again)
    assert in_store(store, "run/killed.") == {"bin": CONTENT}


def test_whoever_may_enter_may_write(deployed: dict[str, Any]) -> None:
    for uid, status in ((TEAM, 0), (TEAM + 1, 1)):
        somebody = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        assert subprocess.run([*somebody, "touch", MOUNT_POINT / f"of-{uid}"], check=False).returncode == status
    assert (MOUNT_POINT / f"of-{TEAM}").exists()
    assert not (MOUNT_POINT / f"of-{TEAM + 1}").exists()

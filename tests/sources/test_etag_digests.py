"""ETags of a real store as digests, and what a check of a real mount finds by them: SeaweedFS, and its own FUSE."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import etags, manifest_making, reader
from boto3.s3.transfer import TransferConfig
from bundle import until
from object_store import WEED, ObjectStore, RestartableStore, restartable_store

FILES, BYTES = 1200, 20_000
LIMIT = 800 * BYTES
WHOLE, PARTS = "large/at-once", "large/in-parts"
LARGE_BYTES = 9 << 20  # more than SeaweedFS keeps in one piece


def content(number: int) -> bytes:
    return number.to_bytes(4, "big") * (BYTES // 4)


def name(number: int) -> str:
    return f"class-{number % 3}/{number:04}.bin"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableStore]:
    with restartable_store(tmp_path_factory.mktemp("store")) as store:
        store.about.create_bucket("training")
        client = store.about.client()
        for number in range(FILES):
            client.put_object(Bucket="training", Key=f"set/{name(number)}", Body=content(number))
        client.put_object(Bucket="training", Key=f"set/{WHOLE}", Body=b"w" * LARGE_BYTES)
        part = store.about.ca_file.with_name("in-parts")
        part.write_bytes(b"p" * LARGE_BYTES)
        split = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
        client.upload_file(str(part), "training", f"set/{PARTS}", Config=split)
        yield store


@pytest.fixture
def mount(running: RestartableStore, tmp_path: Path) -> Iterator[Path]:
    """The bucket's set as a file system."""
    point = tmp_path / "mount"
    point.mkdir()
    log = tmp_path / "mount.log"
    command = [WEED, "mount", f"-filer={running.filer}", "-filer.path=/buckets/training/set", f"-dir={point}"]
    command += [f"-cacheDir={tmp_path}", "-readOnly", "-cacheMetaTtlSec=1"]
    with leftovers.recorded("mount", str(point)), log.open("w") as out:
        process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=out, cwd=tmp_path)
        try:
            until("the mount", lambda: point.is_mount() and any(point.iterdir()), 30)
            yield point
        finally:
            process.terminate()
            process.wait()


def made(store: ObjectStore, path: Path, limit: int = LIMIT) -> tuple[dict[str, Any], str]:
    """The manifest's header, and what was said last."""
    said: list[str] = []
    params = {
        "source": "s3://training/set",
        "path": str(path),
        "digest_bytes": limit,
        "seed": 2,
        "unreadable_names": "refuse",
        "store": store.s3,
        "access_key": store.access_key,
        "secret_key": store.secret_key,
        "security_token": "",
    }
    answer = manifest_making.made(params, check=False, warn=said.append, say=said.append)
    return answer["manifest"], said[-1]


def kinds(path: Path) -> dict[str, str]:
    return {entry.path: reader.algorithm_of(entry.digest) for entry in reader.load(str(path))[1] if entry.digest}


def test_objects_that_are_not_read_have_their_etag(running: RestartableStore, tmp_path: Path, mount: Path) -> None:
    header, said = made(running.about, tmp_path / "set.jsonl")
    found = kinds(tmp_path / "set.jsonl")
    assert header["etags"]["compared"] >= etags.ENOUGH
    assert header["etags"]["other"] == 0
    assert header["etags"]["files"] == list(found.values()).count("md5") > 0
    assert "have their ETag as digest" in said
    assert PARTS not in found
    assert found[WHOLE] == "md5"
    assert header["coverage"] == "sample"
    checked = reader.verify(str(mount), reader.load(str(tmp_path / "set.jsonl"))[1], 2)
    assert (checked["compared"], checked["digested"], checked["wrong"]) == (FILES + 2, FILES + 1, 0)


def test_swapped_objects_are_found_by_their_md5(running: RestartableStore, tmp_path: Path, mount: Path) -> None:
    """An object without a digest can change into another of its size unseen."""
    made(running.about, tmp_path / "set.jsonl")
    first, second = [path for path, kind in kinds(tmp_path / "set.jsonl").items() if kind == "md5"][:2]
    client, number = running.about.client(), {name(number): number for number in range(FILES)}
    for path, other in ((first, second), (second, first), (PARTS, None)):
        body = content(number[other]) if other else b"q" * LARGE_BYTES
        client.put_object(Bucket="training", Key=f"set/{path}", Body=body)
    until("the mount shows it", lambda: (mount / first).read_bytes() == content(number[second]), 30)
    checked = reader.verify(str(mount), reader.load(str(tmp_path / "set.jsonl"))[1], 2)
    assert checked["problems"] == [
        {"path": path, "what": "wrong digest, by its ETag"} for path in sorted((first, second))
    ]

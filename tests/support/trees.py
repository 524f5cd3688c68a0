"""A small data set of many small files and some large ones, made from a seed: no two files are alike."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import leftovers
from ansible_collections.alluxio.fuse.plugins.module_utils import reader
from object_store import ObjectStore

FILES = {f"class-{i % 7}/{i:04}.bin": 20_000 + 997 * (i % 50) for i in range(210)} | {
    f"big/shard-{i}.bin": (17 << 20) + i for i in range(4)
}
BUCKET, PREFIX = "training", "set"


def fill(folder: Path, files: Mapping[str, int] = FILES) -> None:
    """Write files of these sizes."""
    for number, (name, size) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(number).randbytes(size))


@contextmanager
def source(name: str, files: Mapping[str, int] = FILES) -> Iterator[Path]:
    """A filled folder that the service user can read, on the disk: pytest's own folders are closed to that user."""
    with leftovers.folder(Path(f"/var/lib/{name}-source")) as folder:
        fill(folder / "set", files)
        yield folder / "set"


def upload(folder: Path, store: ObjectStore, *names: str) -> dict[str, Any]:
    """Put a filled folder into the bucket `training`; the dataset `bucket` and its key, as an inventory has them.

    names: of datasets in place of that one, each with files of its own.
    """
    client = store.client()
    store.create_bucket(BUCKET)
    prefixes = {name: name for name in names} or {"bucket": PREFIX}
    for path in (path for path in folder.rglob("*") if path.is_file()):
        for prefix in prefixes.values():
            client.upload_file(str(path), BUCKET, f"{prefix}/{path.relative_to(folder)}")
    key = {"access_key": store.access_key, "secret_key": store.secret_key}
    return {
        "alluxio_datasets": [
            {"name": name, "source": f"s3://{BUCKET}/{prefix}", "s3": store.s3} for name, prefix in prefixes.items()
        ],
        "alluxio_credentials": dict.fromkeys(prefixes, key),
    }


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder."""
    return {str(path.relative_to(folder)): digest(path) for path in folder.rglob("*") if path.is_file()}


def of_another_time(deployment: str, dataset: str) -> list[str]:
    """Files whose time at the mount is not the one that the manifest has; copies are compared by it."""
    rows, mount = (
        reader.read_manifest(f"/var/lib/{deployment}/manifests/{dataset}.jsonl"),
        f"/mnt/{deployment}/{dataset}",
    )
    next(rows)
    files = ((Path(mount, "data", row["path"]), row["mtime"]) for row in rows if reader.is_read(row))
    return [str(path) for path, mtime in files if int(path.stat().st_mtime) != mtime]


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()

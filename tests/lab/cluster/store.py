"""The lab's S3 store, and the dataset in it."""

import os
import sys
from pathlib import Path

from node_images import TOOLS_IMAGE
from settings import LAB, LIMITS, NAME, ROOT, STORE, STORE_ADDRESS, podman, pool_map

sys.path.insert(0, str(ROOT / "tests" / "lab"))
import object_store

from alluxio_fuse.dataset import sample

BUCKET, PREFIX = "training", "imagenet"
SHAPE = sample.Shape(images=1800, shards=3, shard_bytes=20_000_000)
SAMPLE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "alluxio-fuse" / "lab-sample"
FOLDER = LAB / "store"


def start() -> object_store.ObjectStore:
    """The running store."""
    store = object_store.prepare(FOLDER, STORE_ADDRESS)
    command = object_store.arguments(FOLDER, STORE_ADDRESS)
    if not running():
        podman("rm", "--force", "--ignore", STORE)
        volumes = ["--volume", f"{FOLDER}:{FOLDER}", "--volume", f"{object_store.WEED}:/weed:ro"]
        place = ["--network", NAME, "--ip", STORE_ADDRESS, "--workdir", FOLDER]
        # Its graceful end waits for peers that there are none of.
        how = [
            "--detach",
            "--runtime",
            "runc",
            *LIMITS,
            "--tmpfs",
            "/tmp",
            "--stop-signal",
            "KILL",
            "--label",
            f"{NAME}={ROOT}",
        ]
        podman("run", "--name", STORE, *how, *place, *volumes, TOOLS_IMAGE, "/weed", *command)
    object_store.wait(store, lambda: None if running() else podman("logs", "--tail", "20", STORE))
    return store


def running() -> bool:
    """Whether the store's container runs."""
    return STORE in podman("ps", "--filter", f"name=^{STORE}$", "--format", "{{.Names}}").split()


def fill(store: object_store.ObjectStore) -> None:
    """The dataset in its bucket: what is missing is made and uploaded."""
    if not sample.is_complete(SAMPLE, SHAPE):
        sample.make(SAMPLE, SHAPE)
    client = store.client()
    store.create_bucket(BUCKET)
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{PREFIX}/")
    there = {one["Key"]: one["Size"] for page in pages for one in page.get("Contents", [])}
    files = {f"{PREFIX}/{path.relative_to(SAMPLE)}": path for path in SAMPLE.rglob("*") if path.is_file()}
    missing = [key for key, path in files.items() if there.get(key) != path.stat().st_size]
    pool_map(lambda key: client.upload_file(str(files[key]), BUCKET, key), missing)

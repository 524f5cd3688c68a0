"""Runs as module train_run returns them: every one right, in a state, with the counters that prove it."""

from collections.abc import Callable
from typing import Any

import pytest

IMAGES, BYTES, STEPS = 200, 20_000_000, 4
ROOTS = {
    "synthetic": None,
    "source": "/data/imagenet",
    "mount": "/mnt/a/set/data",
    "local copy": "/var/lib/a/copy",
}
#: Shares of the bytes that counters grow by, page cache residency, and the share that came from a block device.
PROOF: dict[str, tuple[dict[str, float], float, float]] = {
    "cold": ({"under_store": 1.0, "client_external": 1.0, "worker": 1.0}, 0.0, 0.0),
    "worker": ({"client_external": 1.0, "worker": 1.0}, 0.0, 0.0),
    "client-cache": ({"client_cache": 1.0}, 0.0, 0.0),
    "page-cache": ({}, 1.0, 0.0),
    "disk": ({}, 0.0, 1.0),
    "uncached": ({}, 0.0, 0.0),
    "mixed": ({"client_cache": 0.5}, 0.5, 0.5),
}
COUNTERS = ("client_cache", "client_external", "client_local", "worker", "under_store", "fuse_calls")
Made = Callable[..., dict[str, Any]]


@pytest.fixture
def epoch() -> Made:
    """An epoch; keywords replace fields."""

    def make(path: str, state: str, number: int = 1, images_per_s: float = 100.0, **fields: Any) -> dict[str, Any]:
        shares, resident, device = PROOF.get(state, ({}, 0.0, 0.0))
        reads = path != "synthetic"
        about = {
            "epoch": number,
            "images": IMAGES,
            "steps": STEPS,
            "seconds": IMAGES / images_per_s,
            "wait_s": 0.5 * IMAGES / images_per_s,
            "marked_images_per_s": images_per_s,
            "losses": [2.0, 1.9, 1.8, 1.7],
            "top1": 0.25,
            "top5": 0.75,
            "bytes": BYTES if reads else 0,
            "calls": 2 * IMAGES if reads else 0,
            "storage_bytes": int(BYTES * device),
            "cpu_s": 1.0,
            "resident_before": resident if reads else None,
            "counters": {name: shares.get(name, 0.0) * BYTES for name in COUNTERS} | {"unreachable": []},
            "expected_files": IMAGES if reads else 0,
            "expected_bytes": BYTES if reads else 0,
        }
        fuse = {"point": ROOTS["mount"], "type": "fuse.alluxio-fuse", "source": "alluxio-fuse"}
        if reads:
            about["mount"] = fuse if path == "mount" else {"point": "/", "type": "ext4", "source": "/dev/vda"}
            about |= {"digest": "d" * 64, "expected_digest": "d" * 64, "compared": IMAGES, "wrong": 0, "problems": []}
        return about | fields

    return make


@pytest.fixture
def run(epoch: Made) -> Made:
    """A run of an epoch for each state; keywords replace fields of the run."""

    def make(path: str, *states: str, images_per_s: float = 100.0, **fields: Any) -> dict[str, Any]:
        found = states or ("",)
        return {
            "name": f"1: {path}",
            "path": path,
            "kind": "train" if ROOTS[path] else "synthetic",
            "root": ROOTS[path],
            "medium": None,
            "direct": None,
            "round": 1,
            "at": "2026-11-25T08:00:00Z",
            "framework": "torch 2",
            "device": "cpu",
            "listing_s": 0.1,
            "foreign_cpu": 0.0,
            "processors": 8,
            "epochs": [epoch(path, state, number, images_per_s) for number, state in enumerate(found, 1)],
        } | fields

    return make

"""Passes as read_pass returns them: every one right, in its state, with the counters that prove it."""

from typing import Any

import pytest

from check.made import HEADER, MOUNT, SIZES, Made

# shares of the bytes that each counter grows by, page cache residency before
PROOF: dict[str, tuple[dict[str, float], float]] = {
    "warm-up": ({"client_cache": 1.0}, 0.0),
    "cold": ({"under_store": 1.0, "client_external": 1.0, "worker": 1.0}, 0.0),
    "worker": ({"client_external": 1.0, "worker": 1.0}, 0.0),
    "client-cache": ({"client_cache": 1.0}, 0.0),
    "page-cache": ({}, 1.0),
    "disk": ({}, 0.0),
}
COUNTERS = ("client_cache", "client_external", "client_local", "worker", "under_store")


@pytest.fixture
def passed() -> Made:
    """A result of read_pass; keywords replace fields, `counters` adds shares of the bytes."""

    def make(path: str = "mount", state: str = "client-cache", kind: str = "small", **fields: Any) -> dict[str, Any]:
        files, size = SIZES[kind]
        shares, resident = PROOF[state]
        shares = {**shares, **fields.pop("counters", {})} if path == "mount" else {}
        speed = fields.pop("files_per_s", 8000.0)
        fuse = {"point": MOUNT, "type": "fuse.alluxio-fuse", "source": "alluxio-fuse"}
        return {
            "name": f"{path}, {state}, {kind} files",
            "path": path,
            "state": state,
            "kind": kind,
            "root": MOUNT if path == "mount" else "/data/imagenet",
            "at": "2026-11-21T08:00:00Z",
            "readers": 4,
            "expected_files": files,
            "expected_bytes": size,
            "files": files,
            "bytes": size,
            "records": 0,
            "seconds": files / speed,
            "files_per_s": speed,
            "mb_per_s": size / files * speed / 1e6,
            "p50_ms": 0.4,
            "p99_ms": 2.0,
            "first_byte_ms": 0.3,
            "latency_ms": [[0.4, files // 2], [0.5, files - files // 2]],
            "reader_cpu_s": 0.2,
            "cpu_s_per_gb": 1.5,
            "load": 2.0,
            "storage_bytes": size if (path, state) == ("disk", "disk") else 0,
            "resident_before": resident,
            "repeats_mb_per_s": [size / files * speed / 1e6] * (2 if state == "warm-up" else 1),
            "counters": {name: shares.get(name, 0.0) * size for name in COUNTERS} | {"unreachable": []},
            "mount": fuse if path == "mount" else {"point": "/", "type": "ext4", "source": "/dev/vda"},
            "wrong": 0,
            "problems": [],
            "verified": {"compared": files, "digested": files, "wrong": 0, "problems": []},
            **fields,
        }

    return make


@pytest.fixture
def measured(passed: Made) -> dict[str, Any]:
    """What a node measured when everything is as it should be: 5 rounds, 3 cold slices, 5 worker slices."""
    results = [passed("mount", "warm-up", verified=None)]
    kept = []
    for kind in SIZES:
        kept += [passed("mount", "cold", kind, files_per_s=200.0)] * 3
        kept += [passed("mount", "worker", kind, files_per_s=900.0)] * 5
        for step in range(5):
            jitter = 1 + step / 100
            results.append(passed("mount", "client-cache", kind, files_per_s=8000.0 * jitter))
            results.append(passed("mount", "page-cache", kind, files_per_s=20000.0 * jitter))
            results.append(passed("disk", "disk", kind, files_per_s=5000.0 * jitter))
            results.append(passed("disk", "page-cache", kind, files_per_s=30000.0 * jitter))
    return {
        "name": "imagenet",
        "host": "node1",
        "source": "file:///data/imagenet",
        "folder": "/data/imagenet",
        "mount_point": MOUNT,
        "client_cache_bytes": 2_000_000_000,
        "residency": {"client_cache": 1.0},
        "manifest": HEADER,
        "results": results,
        "kept": kept,
        "load": {"files": 4006, "bytes": 1_226_640_000, "seconds": 20.0},
    }

"""What one pass gives, right and proven."""

from typing import Any

import pytest


@pytest.fixture
def result() -> dict[str, Any]:
    """A pass over a client cache; what is compared is for the test to say."""
    return {
        "name": "1: small",
        "path": "mount",
        "state": "client-cache",
        "root": "/mnt/set/tune-0",
        "at": "2026-11-23T08:00:00Z",
        "readers": 4,
        "expected_files": 10,
        "expected_bytes": 1000,
        "files": 10,
        "bytes": 1000,
        "seconds": 1.0,
        "files_per_s": 1.0,
        "p50_ms": 1.0,
        "p99_ms": 1.0,
        "first_byte_ms": 1.0,
        "latency_ms": [],
        "cpu_s_per_gb": 1.0,
        "load": 0.0,
        "storage_bytes": 0,
        "resident_before": 0.0,
        "counters": {"client_cache": 1000, "client_external": 0},
        "mount": {"point": "/mnt/set/tune-0", "type": "fuse.alluxio-fuse", "source": "alluxio-fuse"},
        "wrong": 0,
        "problems": [],
    }

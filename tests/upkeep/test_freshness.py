"""A dataset with a declared freshness: a change at its source is seen in time, and no read is of neither version."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
from bundle import C1_ALONE, playbook, stages, succeed
from object_store import ObjectStore

NAME = "fresh"
PROMISE_S = 40
KERNEL_S = PROMISE_S // 4
MOUNT_POINT = Path(f"/mnt/{NAME}/live/data")
FIRST = {f"set/{number}.bin": bytes([number]) * 200_000 for number in range(8)}


@pytest.fixture(scope="module")
def variables(store: ObjectStore) -> Iterator[dict[str, Any]]:
    client = store.client()
    store.create_bucket("training")
    for name, content in FIRST.items():
        client.put_object(Bucket="training", Key=f"live/{name}", Body=content)
    said = {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 2000,
        "alluxio_datasets": [
            {"name": "live", "source": "s3://training/live", "s3": store.s3, "freshness": f"within: {PROMISE_S}s"},
        ],
        "alluxio_credentials": {"live": {"access_key": store.access_key, "secret_key": store.secret_key}},
        **C1_ALONE,
    }
    with leftovers.deployment(said):
        yield said


@pytest.fixture(scope="module")
def deployed(variables: dict[str, Any]) -> None:
    succeed(stages("preflight", "plan", "nodes", "services", **variables))
    for name, content in FIRST.items():
        assert (MOUNT_POINT / name).read_bytes() == content


@pytest.fixture
def change(deployed: None, store: ObjectStore) -> Callable[[str, bytes | None], float]:
    """Changes an object, and says after how many seconds the mount shows it; until then the old one is read."""

    def seen(name: str, content: bytes | None) -> float:
        path, client = MOUNT_POINT / name, store.client()
        before = path.read_bytes() if path.exists() else None
        if content is None:
            client.delete_object(Bucket="training", Key=f"live/{name}")
        else:
            client.put_object(Bucket="training", Key=f"live/{name}", Body=content)
        begun = time.monotonic()
        while True:
            try:
                there: bytes | None = path.read_bytes()
            except FileNotFoundError:
                there = None
            after = time.monotonic() - begun
            assert there in (before, content), f"neither version: {len(there or b'')} bytes, {digest(there)}"
            if there == content:
                print(f"{name}: seen after {after:.1f} s")
                return after
            assert after < PROMISE_S + 5, f"{name}: still the old one after {after:.0f} s"
            time.sleep(0.5)

    return seen


def digest(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()[:12]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("set/new.bin", b"n" * 150_000),
        ("set/1.bin", b"other" * 100_000),
        ("set/2.bin", b"s" * 200_000),
        ("set/3.bin", None),
    ],
    ids=["added", "another size", "the same size", "deleted"],
)
def test_a_change_is_seen_in_time(change: Callable[..., float], name: str, content: bytes | None) -> None:
    assert change(name, content) <= PROMISE_S


def test_refresh_shows_it_as_soon_as_the_kernel_lets_go(
    deployed: None, store: ObjectStore, variables: dict[str, Any]
) -> None:
    path = MOUNT_POINT / "set/4.bin"
    assert path.read_bytes() == FIRST["set/4.bin"]
    time.sleep(1)
    store.client().put_object(Bucket="training", Key="live/set/4.bin", Body=b"4" * 200_000)
    run = succeed(playbook("playbooks/refresh.yml", **variables))
    assert f"within {KERNEL_S} s" in run.output
    assert run.changed == 0
    begun = time.monotonic()
    while path.read_bytes() != b"4" * 200_000:
        assert time.monotonic() - begun < KERNEL_S + 1
        time.sleep(0.5)


def test_what_is_immutable_is_not_refreshed(deployed: None, variables: dict[str, Any]) -> None:
    run = playbook("playbooks/refresh.yml", **variables, alluxio_refresh=["live", "other"])
    assert run.status != 0
    assert "alluxio_refresh: other: immutable, or not mounted here" in " ".join(run.output.split())

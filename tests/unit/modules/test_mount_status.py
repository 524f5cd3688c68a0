"""A mount whose requests wait is hung if none is answered; the process' and the kernel's counts are stand-ins."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    counters,
    fuse_connection,
    mount_status,
    mount_table,
    users,
)

POINT = "/mnt/alluxio-fuse/imagenet/data"


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """What is said of a mount, by the answers of its process and its requests that wait, one look after the other."""

    def look(answers: Iterator[int | None], waiting: Iterator[int | None], seconds: float = 0.05) -> dict[str, Any]:
        def fetch(*_: object) -> dict[str, Any]:
            calls = next(answers)
            return {"timers": {} if calls is None else {"Client.Fuse.TotalCalls": {"count": calls, "p99": 0.0}}}

        monkeypatch.setattr(counters, "fetch", fetch)
        monkeypatch.setattr(fuse_connection, "waiting", lambda *_: next(waiting))
        monkeypatch.setattr(mount_table, "read_mounts", list)
        mount = {"type": "fuse.alluxio-fuse", "options": "ro", "device": "0:1", "point": POINT}
        monkeypatch.setattr(mount_table, "mount_at", lambda *_: mount)
        monkeypatch.setattr(users, "readers_of", lambda _: [])
        monkeypatch.setattr(mount_status, "PROGRESS_S", seconds)
        monkeypatch.setattr(mount_status, "AGAIN_S", 0.01)
        found: dict[str, Any] = mount_status.look(POINT, "127.0.0.1:49999", tmp_path)
        return found

    return look


def test_requests_wait_and_none_is_answered(looked: Callable[..., dict[str, Any]]) -> None:
    found = looked(repeat(5), repeat(2))
    assert found["state"] == "hung"
    assert found["why"].startswith("2 requests wait, and none was answered")


def test_requests_wait_and_some_are_answered(looked: Callable[..., dict[str, Any]]) -> None:
    assert looked(chain([5, 5], repeat(6)), repeat(2), 60)["state"] == "serves"


def test_nothing_waits_any_more(looked: Callable[..., dict[str, Any]]) -> None:
    assert looked(repeat(5), chain([2, 2, 2], repeat(0)), 60)["state"] == "serves"


def test_a_process_that_counts_no_calls_is_not_judged_by_them(looked: Callable[..., dict[str, Any]]) -> None:
    assert looked(repeat(None), repeat(2))["state"] == "serves"


def test_a_connection_that_is_not_to_be_seen_is_told_by_the_mount(
    looked: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(_: str) -> NoReturn:
        raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    for answers, seconds, state in (
        (lambda _: SimpleNamespace(f_namemax=255), 60, "serves"),
        (ended, 60, "dead"),
        (lambda _: time.sleep(60), 0.05, "hung"),
    ):
        monkeypatch.setattr(os, "statvfs", answers)
        assert looked(repeat(5), repeat(None), seconds)["state"] == state

"""Faults while others read, on this machine: what they saw, how long it took, and that no byte was wrong.

The order matters little: each drill begins when all is as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faults
import pytest
from bundle import kill, playbook
from drilled import NAME, started
from object_store import RestartableStore
from readers import Drill, Readers
from store_faults import store_away, store_refuses


def test_fuse_is_killed(drill: Callable[..., Drill]) -> None:
    done = drill("FUSE killed -9", lambda: kill(f"{NAME}-fuse-bucket"))
    assert "ENOTCONN" in done.saw
    assert done.restarted == ["fuse-bucket"]


def test_a_hung_fuse_is_told_and_let_go(drill: Callable[..., Drill], variables: dict[str, Any], tmp_path: Path) -> None:
    done = drill("FUSE hung, unstuck", lambda: faults.hang("bucket", variables, tmp_path))
    assert done.restarted == ["fuse-bucket"]


def test_the_worker_is_killed(drill: Callable[..., Drill]) -> None:
    done = drill("worker killed -9", lambda: kill(f"{NAME}-worker"))
    assert done.restarted == ["worker"]


def test_the_master_is_killed(drill: Callable[..., Drill]) -> None:
    done = drill("master killed -9", lambda: kill(f"{NAME}-master"))
    assert done.restarted == ["master"]


def test_the_master_is_away_for_a_minute(drill: Callable[..., Drill], variables: dict[str, Any]) -> None:
    done = drill("master away for a minute", lambda: faults.master_away(variables))
    assert done.restarted == ["master"]


@pytest.mark.parametrize(("what", "code"), [("answers 503", 503), ("refuses the key (403)", 403)])
def test_the_under_store_answers_errors(
    drill: Callable[..., Drill], store: RestartableStore, what: str, code: int
) -> None:
    done = drill(f"under store {what} for 20 s", lambda: store_refuses(store, code))
    assert done.restarted == []


def test_the_under_store_is_away(drill: Callable[..., Drill], store: RestartableStore) -> None:
    done = drill("under store away for 20 s", lambda: store_away(store))
    assert done.restarted == []


def test_teardown_takes_nothing_from_readers(readers: Readers, variables: dict[str, Any]) -> None:
    was = started()
    run = playbook("playbooks/teardown.yml", **{**variables, "alluxio_confirm": "production"})
    assert f"say -e alluxio_confirm={NAME}" in " ".join(run.output.split())
    run = playbook("playbooks/teardown.yml", **variables)
    assert run.status != 0
    assert re.search(rf"/mnt/{NAME} is read by python\d* \(", " ".join(run.output.split()))
    assert started() == was


def test_fuse_is_killed_for_memory(drill: Callable[..., Drill]) -> None:
    done = drill("FUSE killed for memory", lambda: faults.exhaust_memory("fuse-bucket"))
    assert "ENOTCONN" in done.saw
    assert done.restarted == ["fuse-bucket"]

"""Faults while others read, on this machine: what they saw, how long it took, and that no byte was wrong.

The order matters little: each drill begins when all is as before.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bundle import CHECKOUT, kill, playbook, podman, succeed
from drilled import NAME, java, started, status
from object_store import HTTPS_PORT, RestartableStore
from readers import Drill, Readers
from refusing import refusing


def test_fuse_is_killed(drill: Callable[..., Drill]) -> None:
    done = drill("FUSE killed -9", lambda: kill(f"{NAME}-fuse-bucket"))
    assert "ENOTCONN" in done.saw
    assert done.restarted == ["fuse-bucket"]


def test_a_hung_fuse_is_told_and_let_go(drill: Callable[..., Drill], variables: dict[str, Any], tmp_path: Path) -> None:
    """Stopped, it answers nothing: status tells without hanging itself, and unstick ends the waiting."""

    def hang() -> None:
        os.kill(java("fuse-bucket"), signal.SIGSTOP)
        time.sleep(2)
        run = status(variables)
        assert run.status == 2
        assert "FUSE process on localhost, bucket: the FUSE process is there and does not answer" in run.output
        run = succeed(playbook("playbooks/diagnose.yml", "-e", f"diagnose_dir={tmp_path}", **variables))
        assert "not in it  nodes/localhost/fuse-bucket-metrics.json" in run.output
        run = succeed(playbook("playbooks/unstick.yml", "-e", "alluxio_unstick=bucket", **variables))
        assert "requests waited; files were open in" in run.output

    done = drill("FUSE hung, unstuck", hang, 300)
    assert done.restarted == ["fuse-bucket"]


def test_the_worker_is_killed(drill: Callable[..., Drill]) -> None:
    done = drill("worker killed -9", lambda: kill(f"{NAME}-worker"))
    assert done.restarted == ["worker"]


def test_the_master_is_killed(drill: Callable[..., Drill]) -> None:
    done = drill("master killed -9", lambda: kill(f"{NAME}-master"))
    assert done.restarted == ["master"]


def test_the_master_is_away_for_a_minute(drill: Callable[..., Drill], variables: dict[str, Any]) -> None:
    def away() -> None:
        podman("stop", "--time", "5", f"{NAME}-master")
        run = status(variables)
        assert run.status == 2
        assert "FAILING  master:" in run.output
        time.sleep(50)
        podman("start", f"{NAME}-master")

    done = drill("master away for a minute", away, 300)
    assert done.restarted == ["master"]


@pytest.mark.parametrize(("what", "status_code"), [("answers 503", 503), ("refuses the key (403)", 403)])
def test_the_under_store_answers_errors(
    drill: Callable[..., Drill], store: RestartableStore, what: str, status_code: int
) -> None:
    def refuse() -> None:
        store.stop()
        with answering(status_code, store):
            time.sleep(20)
        store.start()

    done = drill(f"under store {what} for 20 s", refuse, 300)
    assert done.restarted == []


def test_the_under_store_is_away(drill: Callable[..., Drill], store: RestartableStore) -> None:
    def away() -> None:
        store.stop()
        time.sleep(20)
        store.start()

    done = drill("under store away for 20 s", away, 300)
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
    """Something else in its container takes all memory; the kernel is told that FUSE is to be ended for it."""

    def exhaust() -> None:
        Path(f"/proc/{java('fuse-bucket')}/oom_score_adj").write_text("1000")
        subprocess.run(["podman", "exec", f"{NAME}-fuse-bucket", "tail", "/dev/zero"], check=False, capture_output=True)

    done = drill("FUSE killed for memory", exhaust)
    (CHECKOUT / "playbooks/oom").unlink(missing_ok=True)  # conmon tells of it where the playbook has started it
    assert "ENOTCONN" in done.saw
    assert done.restarted == ["fuse-bucket"]


@contextmanager
def answering(code: int, store: RestartableStore) -> Iterator[None]:
    """In the store's place, a server that says no to everything."""

    server = refusing(store.address, HTTPS_PORT, code, store.about.ca_file.parent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()

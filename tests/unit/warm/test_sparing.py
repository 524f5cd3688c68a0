"""A task takes what readers leave: it is paced by files, too, and others have the processor first."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import selection, warmer
from ansible_collections.alluxio.fuse.plugins.module_utils.worker_client import Answer, File, WorkerClient
from warmed import Warmed

ROOT = Path(__file__).parents[3]


def test_workers_are_asked_at_the_same_pace() -> None:
    java = (ROOT / "images/alluxio/src/alluxio/image/Warm.java").read_text()
    assert re.findall(r"long LEAST = (\d+) << (\d+);", java) == [(str(selection.LEAST >> 10), "10")]


@pytest.mark.parametrize(("verb", "small"), [("load", True), ("free", True), ("compare", False)])
def test_only_digests_are_worth_a_large_compiler(tmp_path: Path, verb: str, small: bool) -> None:
    started = tmp_path / "arguments"
    program = f'echo "$@" >{started}'
    list(WorkerClient(verb, 8, 0, ["sh", "-c", program, "alluxio"]).ask(iter([File(0, 1, "/set/a")])))
    assert ("-XX:TieredStopAtLevel=1" in started.read_text()) is small


def test_what_stays_open_after_the_last_answer_is_not_waited_for() -> None:
    """As the pipe does that a fork of who asks inherited."""
    client = WorkerClient("load", 8, 0, ["sh", "-c", r"printf '0\tok\t1\t\n'; exec sleep 600", "alluxio"])
    try:
        assert [*filter(None, client.ask(iter([File(0, 1, "/set/a")])))] == [Answer(0, 1)]
        assert client._process.poll() is None
    finally:
        client.end()


def test_whoever_else_wants_the_processor_gets_it(warmed: Warmed) -> None:
    policies: list[int] = []

    def work() -> None:
        warmer.main(warmed.folder, ends=True)
        policies.append(os.sched_getscheduler(0))

    runner = threading.Thread(target=work)
    runner.start()
    runner.join()
    assert policies == [os.SCHED_IDLE]
    assert os.sched_getscheduler(0) == os.SCHED_OTHER

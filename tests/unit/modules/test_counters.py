"""Alluxio's counters: every name they are shown with, several processes, and none that answers."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.alluxio.fuse.plugins.module_utils import counters
from ansible_collections.alluxio.fuse.plugins.modules import alluxio_counters

METRICS = {
    "counters": {
        "Worker.BytesReadPerUfs.UFS:file:%2Fdata.User:": {"count": 100},
        "Worker.BytesReadPerUfs.UFS:s3:%2F%2Fb.User:": {"count": 20},
        "Worker.BytesReadPerUfsX": {"count": 5000},
        "Worker.BytesReadRemote": {"count": 7},
    },
    "meters": {"Client.CacheBytesReadCache": {"count": 42, "mean_rate": 1.0}},
    "gauges": {"Client.CacheSpaceUsed": {"value": 9}, "Master.RoleId": {"value": "PRIMARY"}},
    "timers": {"Client.Fuse.TotalCalls": {"count": 11, "p99": 0.1}},
}


@pytest.fixture
def process() -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/metrics/json/" else 404)
            self.end_headers()
            self.wfile.write(json.dumps(METRICS).encode())

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_counters_are_summed_over_tags_and_processes(process: str) -> None:
    values = counters.snapshot({"fuse": [process], "worker": [process, process]}, counters.SOURCES)
    assert values == {
        "unreachable": [],
        "client_cache": 42,
        "client_external": 0,
        "client_local": 0,
        "worker": 14,
        "under_store": 240,
        "fuse_calls": 11,
    }


def test_a_process_that_does_not_answer_is_said_and_counts_as_unknown(process: str) -> None:
    values = counters.snapshot({"fuse": [process], "worker": ["127.0.0.1:1"]}, counters.SOURCES)
    assert (values["client_cache"], values["under_store"]) == (42, None)
    assert "worker: " in values["unreachable"][0]
    grown = counters.difference(values, values)
    assert (grown["client_cache"], grown["under_store"]) == (0, None)
    assert grown["unreachable"] == values["unreachable"]


def test_a_process_without_address_is_unknown() -> None:
    assert counters.snapshot({}, counters.LEVELS) == {
        "unreachable": [],
        "client_cache_used": None,
        "worker_used": None,
        "worker_capacity": None,
    }


def test_a_proxy_is_not_asked(process: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert counters.snapshot({"fuse": [process]}, counters.LEVELS)["client_cache_used"] == 9


def test_a_restart_shows_as_a_negative_difference() -> None:
    before, after = {"unreachable": [], "client_cache": 100}, {"unreachable": [], "client_cache": 3}
    assert counters.difference(before, after)["client_cache"] == -97


@pytest.mark.parametrize(
    ("looks", "answer"),
    [([5, 9, 9], {"worker_used": 9}), ([9, 9], {"worker_used": 9}), ([None, 9, 9], {"worker_used": 9})],
)
def test_what_workers_hold_is_read_once_it_stays(
    looks: list[int | None], answer: dict[str, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert settled(looks, monkeypatch, capsys)["levels"].items() >= answer.items()


@pytest.mark.parametrize("looks", [[None] * 20, list(range(20))], ids=["nobody answers", "it goes on"])
def test_what_workers_hold_does_not_stay(
    looks: list[int | None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "did not stay the same for 2 s" in settled(looks, monkeypatch, capsys)["msg"]


def settled(
    looks: list[int | None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """What the module answers when it sees these bytes one after the other."""
    seen = iter(looks)
    monkeypatch.setattr(counters, "snapshot", lambda *_: {"unreachable": [], "worker_used": next(seen)})
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with patch_module_args({"metrics": {}, "settled": True}), pytest.raises(SystemExit):
        alluxio_counters.main()
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer

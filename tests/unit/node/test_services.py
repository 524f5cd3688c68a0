"""What answers on a node, of a unit that runs there."""

from __future__ import annotations

import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import system, units
from ansible_collections.alluxio.fuse.plugins.modules import unit_restart

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max processes             95709                95709                processes
Max open files            1024                 {}               files
"""


@pytest.mark.parametrize(("said", "files"), [("524288", 524288), ("unlimited", system.UNLIMITED)])
def test_the_hard_limit_counts(said: str, files: int) -> None:
    assert units.parse_files(LIMITS.format(said)) == files


def test_a_process_that_has_ended_has_no_limit() -> None:
    assert units.parse_files("") is None


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit's main process is this one."""
    monkeypatch.setattr(units, "main_process", lambda _unit: os.getpid())


@pytest.mark.usefixtures("own")
def test_sockets_that_the_process_listens_on_answer(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as bound:
        listener.bind(str(tmp_path / "listens"))
        bound.bind(str(tmp_path / "bound"))
        listener.listen()
        found = units.answering("any", [])
        assert str(tmp_path / "listens") in found
        assert str(tmp_path / "bound") not in found
    assert str(tmp_path / "listens") not in units.answering("any", [])


@pytest.mark.usefixtures("own")
def test_a_url_answers_with_status_200_only() -> None:
    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/healthz" else 500)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

    with HTTPServer(("127.0.0.1", 0), Health) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        found = units.answering("any", [f"{base}/healthz", f"{base}/other"])
        server.shutdown()
    assert (f"{base}/healthz" in found, f"{base}/other" in found) == (True, False)
    assert f"{base}/healthz" not in units.answering("any", [f"{base}/healthz"])


@pytest.mark.usefixtures("own")
def test_what_does_not_answer_again_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_restart, "LOOKS_S", 0.01)
    assert unit_restart.wait("any", {str(tmp_path / "gone")}, 0) == f"{tmp_path / 'gone'} does not answer after 0 s"
    assert unit_restart.wait("any", set(), 30) == ""


def test_a_process_that_changes_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = iter(range(1, 1_000_000))
    monkeypatch.setattr(unit_restart, "LOOKS_S", 0.01)
    monkeypatch.setattr(units, "main_process", lambda _unit: next(processes))
    assert unit_restart.wait("any", set(), 0) == "its process does not stay after 0 s"

"""Every group of tests begins without what an interrupted run left, and labels what it starts."""

from __future__ import annotations

from collections.abc import Iterator

import leftovers
import pytest
from hypothesis import settings
from object_store import ObjectStore, object_store

settings.register_profile("any machine", deadline=None)  # how long an example takes is no property of it
settings.load_profile("any machine")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before the first fixture."""
    for what in leftovers.remove():
        session.config.get_terminal_writer().line(f"left by an interrupted run, and removed: {what}")
    leftovers.label_processes()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """An S3 store of the module's own, on loopback, with TLS."""
    with object_store(tmp_path_factory.mktemp("store")) as running:
        yield running

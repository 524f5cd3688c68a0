"""Faults of an S3 store, each until it is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from object_store import HTTPS_PORT, RestartableStore
from refusing import refusing

AWAY_S = 20


def store_away(store: RestartableStore) -> None:
    """Nothing answers where the store is."""
    store.stop()
    time.sleep(AWAY_S)
    store.start()


def store_refuses(store: RestartableStore, code: int) -> None:
    """The store answers everything with an error."""
    store.stop()
    with _answering(code, store):
        time.sleep(AWAY_S)
    store.start()


@contextmanager
def _answering(code: int, store: RestartableStore) -> Iterator[None]:
    server = refusing(store.address, HTTPS_PORT, code, store.about.ca_file.parent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()

"""Lets so many bytes pass in a second."""

from __future__ import annotations

import time


class Pace:
    """What takes bytes waits until it may have them; without a limit, 0, at once."""

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = bytes_per_second
        self._next = time.monotonic()

    def take(self, count: int) -> None:
        """Some bytes more."""
        if not self._rate:
            return
        now = time.monotonic()
        self._next = max(self._next, now)
        time.sleep(self._next - now)
        self._next += count / self._rate

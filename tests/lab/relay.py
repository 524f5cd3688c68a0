"""Passes connections on, and counts them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

READ_BYTES = 1 << 16


class Relay:
    """Where it listens, on a port that was free, and how many connections it has passed on."""

    def __init__(self, host: str, to_port: int) -> None:
        self.host, self.port, self.connections = host, 0, 0
        self._to_port = to_port

    async def listen(self) -> asyncio.Server:
        """Listens."""
        server = await asyncio.start_server(self._pass_on, self.host)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        answer, onward = await asyncio.open_connection(self.host, self._to_port)
        await asyncio.gather(_copy(reader, onward), _copy(answer, writer), return_exceptions=True)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(READ_BYTES):
            target.write(data)
            await target.drain()
    finally:
        target.close()


@contextmanager
def relay(host: str, port: int) -> Iterator[Relay]:
    """One to a port of a host, listening on that host, until the context ends."""
    one, ready, ended = Relay(host, port), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with await one.listen():
            ready.set()
            await ended.wait()

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=lambda: runner.run(serve()))
        thread.start()
        ready.wait()
        try:
            yield one
        finally:
            loop.call_soon_threadsafe(ended.set)
            thread.join()

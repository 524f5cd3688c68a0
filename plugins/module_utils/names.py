"""What a node's resolver says of the fleet's other nodes."""

from __future__ import annotations

import socket
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

LIMIT = 4.0  # seconds: services look a peer up while a reader waits
Peer = dict[str, Any]


def look_up(peers: list[Peer], limit: float = LIMIT) -> list[dict[str, Any]]:
    """[{name, address, forward, reverse}] for peers {name, address}.

    forward: addresses of the name; reverse: names of the address; [] where nobody knows it, None where no answer came.
    """
    pool = ThreadPoolExecutor(max_workers=min(64, 2 * len(peers) or 1))
    forward = [pool.submit(addresses_of, peer["name"]) for peer in peers]
    reverse = [pool.submit(names_of, peer["address"]) for peer in peers]
    wait([*forward, *reverse], timeout=limit)
    pool.shutdown(wait=False, cancel_futures=True)
    return [
        {**peer, "forward": _answer(there), "reverse": _answer(back)}
        for peer, there, back in zip(peers, forward, reverse)  # noqa: B905 - Python 3.9 of Debian 11 has no strict
    ]


def _answer(asked: Future[list[str]]) -> list[str] | None:
    return asked.result() if asked.done() and not asked.cancelled() and asked.exception() is None else None


def addresses_of(name: str) -> list[str]:
    """Addresses that a name resolves to."""
    try:
        return sorted({str(found[4][0]) for found in socket.getaddrinfo(name, None, proto=socket.IPPROTO_TCP)})
    except socket.gaierror as error:
        return _none(error)


def names_of(address: str) -> list[str]:
    """Names that an address resolves to, without their domains' dots at the end."""
    try:
        name, aliases, _ = socket.gethostbyaddr(address)
    except socket.gaierror as error:
        return _none(error)
    except socket.herror:
        return []
    return [found.rstrip(".") for found in (name, *aliases)]


def _none(error: socket.gaierror) -> list[str]:
    if error.errno == socket.EAI_AGAIN:
        raise TimeoutError(error.errno, "the resolver does not answer") from error
    return []

"""A backup of Alluxio's journal, read back: whether it is whole."""

from __future__ import annotations

import gzip
import zlib
from typing import BinaryIO

CHUNK = 1 << 20


class DamagedError(Exception):
    """Not a whole backup."""


def entries(path: str) -> int:
    """How many journal entries a backup holds: gzip over messages, each after its length as a protobuf varint."""
    try:
        with gzip.open(path) as stream:
            return _count(stream)
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedError(str(error)) from None


def _count(stream: BinaryIO) -> int:
    count = 0
    while (length := _length(stream)) is not None:
        _skip(stream, length)
        count += 1
    return count


def _length(stream: BinaryIO) -> int | None:
    """The next message's; None at the end."""
    length = shift = 0
    while byte := stream.read(1):
        length |= (byte[0] & 0x7F) << shift
        if not byte[0] & 0x80:
            return length
        shift += 7
    if shift:
        raise DamagedError("it ends within the length of an entry")
    return None


def _skip(stream: BinaryIO, length: int) -> None:
    while length:
        got = len(stream.read(min(length, CHUNK)))
        if not got:
            raise DamagedError("it ends within an entry")
        length -= got

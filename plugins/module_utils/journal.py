"""A backup of Alluxio's journal: whether it is whole, and a copy that is another cluster's."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

CHUNK = 1 << 20
CLUSTER_INFO = 42  # the field of a JournalEntry that says which cluster the journal is of
FIXED = {1: 8, 5: 4}  # bytes of protobuf's types of a fixed size
VARINT, COUNTED = 0, 2


class DamagedError(Exception):
    """Not a whole backup."""


def entries(path: str) -> int:
    """How many journal entries a backup holds: gzip over messages, each after its length as a protobuf varint."""
    try:
        with gzip.open(path) as stream:
            return sum(1 for _ in _messages(stream))
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedError(str(error)) from None


def disown(source: str, target: Path) -> int:
    """Copies a backup without the id of its cluster, so that the master that begins with it gives itself another.

    Returns how many entries the copy holds; it is there once it is whole, and its owner's alone.
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file, gzip.open(file, "wb", compresslevel=6) as copy:
            count = _copy(source, copy)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink()
        raise
    return count


def _copy(source: str, copy: gzip.GzipFile) -> int:
    count = 0
    try:
        with gzip.open(source) as stream:
            for message in _messages(stream):
                if CLUSTER_INFO not in _fields(message):
                    copy.write(_varint(len(message)) + message)
                    count += 1
    except (gzip.BadGzipFile, FileNotFoundError, EOFError, zlib.error) as error:
        raise DamagedError(str(error)) from None
    return count


def _messages(stream: gzip.GzipFile) -> Iterator[bytes]:
    while (length := _length(stream)) is not None:
        yield _message(stream, length)


def _length(stream: gzip.GzipFile) -> int | None:
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


def _message(stream: gzip.GzipFile, length: int) -> bytes:
    """Piece by piece: a length that is damaged asks for more than there is memory."""
    message = bytearray()
    while len(message) < length:
        piece = stream.read(min(length - len(message), CHUNK))
        if not piece:
            raise DamagedError("it ends within an entry")
        message += piece
    return bytes(message)


def _fields(message: bytes) -> set[int]:
    """Numbers of the fields that a protobuf message holds at its top."""
    fields, at = set(), 0
    try:
        while at < len(message):
            tag, at = _read(message, at)
            fields.add(tag >> 3)
            kind = tag & 7
            if kind == VARINT:
                _, at = _read(message, at)
            elif kind == COUNTED:
                length, at = _read(message, at)
                at += length
            else:
                at += FIXED[kind]
    except (IndexError, KeyError):
        at = len(message) + 1
    if at > len(message):
        raise DamagedError("it holds what is no entry of a journal")
    return fields


def _read(message: bytes, at: int) -> tuple[int, int]:
    """A varint, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
        shift += 7


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)

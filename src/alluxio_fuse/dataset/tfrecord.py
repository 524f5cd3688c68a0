"""TFRecord framing and the tf.train.Example of ImageNet, without TensorFlow.

A record is: length (uint64, little-endian), masked crc32c of the length, data, masked crc32c of the data.
"""

import struct
from collections.abc import Iterator

import google_crc32c


def masked_crc(data: bytes) -> int:
    """TFRecord's checksum: crc32c, rotated and offset, so that a checksum of checksums stays useful."""
    crc = int(google_crc32c.value(data))
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def frame(data: bytes) -> bytes:
    """One record."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def records(stream: bytes) -> Iterator[bytes]:
    """The data of each record of a whole file; a ValueError says at which byte the framing is wrong."""
    at = 0
    while at < len(stream):
        head = stream[at : at + 12]
        if len(head) < 12 or masked_crc(head[:8]) != struct.unpack("<I", head[8:])[0]:
            raise ValueError(f"no record begins at byte {at}")
        (length,) = struct.unpack("<Q", head[:8])
        data, crc = stream[at + 12 : at + 12 + length], stream[at + 12 + length : at + 16 + length]
        if len(crc) < 4 or masked_crc(data) != struct.unpack("<I", crc)[0]:
            raise ValueError(f"the record at byte {at} is damaged")
        yield data
        at += 16 + length


def example(encoded: bytes, label: int) -> bytes:
    """tf.train.Example with features `image/encoded` (bytes) and `image/class/label` (int64)."""
    features = _feature("image/encoded", _field(1, _field(1, encoded)))
    features += _feature("image/class/label", _field(3, _field(1, _varint(label))))
    return _field(1, features)


def _feature(name: str, value: bytes) -> bytes:
    return _field(1, _field(1, name.encode()) + _field(2, value))


def _field(number: int, payload: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)

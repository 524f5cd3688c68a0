"""JPEG files of an exact size: noise of the right entropy, topped up with comment segments."""

import io
import random
from math import sqrt

from PIL import Image

QUALITY = 92
CELL = 3  # pixels between two noise samples; smaller cells cost more time per byte of output
BYTES_PER_PIXEL = 0.617  # what QUALITY and CELL come to, measured
HEADER_BYTES = 650
FILL = 0.95  # aim a little below the wanted size, the comment makes up the rest
SMALLEST = 4096
_SEGMENT = 65537  # marker, length and payload of the longest comment


def encode(size: int, seed: str) -> bytes:
    """A decodable JPEG of exactly `size` bytes, the same for the same seed."""
    if size < SMALLEST:
        raise ValueError(f"a JPEG of {size} bytes: at least {SMALLEST} are needed")
    noise = random.Random(seed)
    pixels = (size * FILL - HEADER_BYTES) / BYTES_PER_PIXEL
    while len(image := _picture(pixels, noise)) > size - 4:
        pixels *= 0.9
    return image[:2] + comments(size - len(image), noise.randbytes(_SEGMENT)) + image[2:]


def _picture(pixels: float, noise: random.Random) -> bytes:
    width, height = max(8, int(sqrt(pixels * 4 / 3))), max(8, int(sqrt(pixels * 3 / 4)))
    coarse = (width // CELL + 1, height // CELL + 1)
    source = Image.frombytes("RGB", coarse, noise.randbytes(coarse[0] * coarse[1] * 3))
    out = io.BytesIO()
    source.resize((width, height), Image.Resampling.BILINEAR).save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


def comments(size: int, filler: bytes) -> bytes:
    """Comment segments of `size` bytes together (a segment has at least 4), filled with `filler` over and over."""
    segments = bytearray()
    while size:
        length = min(size, _SEGMENT)
        if 0 < size - length < 4:
            length -= 4
        segments += b"\xff\xfe" + (length - 2).to_bytes(2, "big") + (filler * (length // len(filler) + 1))[: length - 4]
        size -= length
    return bytes(segments)

"""Sizes and durations as users write them. Sizes are binary or plain bytes: `64G` is never guessed at."""

import re
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

KIB: Final = 1 << 10
MIB: Final = 1 << 20
GIB: Final = 1 << 30
TIB: Final = 1 << 40

_BINARY: Final = {"Ki": KIB, "Mi": MIB, "Gi": GIB, "Ti": TIB, "Pi": 1 << 50}
_DECIMAL: Final = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_size(value: Any) -> int:
    """Bytes of `64Gi`, `1.5Ti`, `512Mi` or a plain number of bytes; decimal letters are refused, not guessed at."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = str(value).strip()
    if re.fullmatch(r"\d+", text):
        return int(text)
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGTP]i)", text):
        return int(float(match[1]) * _BINARY[match[2]])
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKMGTP])(B?)", text):
        decimal = int(float(match[1]) * _DECIMAL[match[2].upper()])
        remedy = f"write {match[1]}{match[2].upper()}i (binary), or {decimal} (bytes) if powers of ten are meant"
        raise PydanticCustomError(
            "size", "'{letter}' may mean powers of ten or of two", {"letter": match[2] + match[3], "remedy": remedy}
        )
    raise PydanticCustomError("size", "not a size", {"remedy": "write 64Gi, 512Mi or a number of bytes"})


def parse_duration(value: Any) -> int:
    """Seconds of `30s`, `10m`, `2h`, `1d`."""
    if isinstance(value, str) and (match := re.fullmatch(r"(\d+)\s*([smhd])", value.strip())):
        return int(match[1]) * _SECONDS[match[2]]
    raise PydanticCustomError("duration", "not a duration", {"remedy": "write 30s, 10m, 2h or 1d"})


Size = Annotated[int, BeforeValidator(parse_size), Field(ge=0)]
"""Bytes; written `64Gi`, `512Mi` or a number."""


def format_size(size: float) -> str:
    """`1.5Gi` and alike, about three digits; whole units read back as themselves."""
    for unit in ("Pi", "Ti", "Gi", "Mi", "Ki"):
        if abs(size) >= _BINARY[unit]:
            amount = size / _BINARY[unit]
            if amount == int(amount) or abs(amount) >= 100:
                return f"{amount:.0f}{unit}"
            return f"{amount:.2f}{unit}" if unit == "Ti" else f"{amount:.1f}{unit}"
    return f"{size:.0f}"


def at_most(size: float) -> str:
    """The largest whole `Gi` or `Mi` that is not above a size: what a remedy may promise to fit."""
    unit, name = (GIB, "Gi") if size >= 64 * GIB else (MIB, "Mi")
    return f"{int(size // unit)}{name}"


def at_least(size: float) -> str:
    """The smallest whole `Gi` or `Mi` that is not below a size: what a remedy may promise to be enough."""
    unit, name = (GIB, "Gi") if size >= 64 * GIB else (MIB, "Mi")
    return f"{-int(-size // unit)}{name}"


def format_duration(seconds: float) -> str:
    """`10m`, `2h` and alike."""
    for unit in ("d", "h", "m"):
        if seconds >= _SECONDS[unit] and seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:.0f}{unit}"
    return f"{seconds:g}s"


def round_up(size: float, step: int) -> int:
    """The next multiple of `step`."""
    return -int(-size // step) * step


def round_down(size: float, step: int) -> int:
    """The last multiple of `step`, never below zero."""
    return max(0, int(size // step) * step)

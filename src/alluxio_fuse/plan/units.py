"""Sizes, durations, numbers and switches as users write them.

Sizes are binary or plain bytes: `64G` is never guessed at. `-e key=value` gives text in Ansible, so numbers and
switches may be text.
"""

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
_SWITCH: Final = dict.fromkeys(("true", "yes", "on", "y", "t", "1"), True) | dict.fromkeys(
    ("false", "no", "off", "n", "f", "0"), False
)


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


def parse_amount(value: Any) -> int:
    """A size of memory, caches or bandwidth: less than 1 MiB without a unit is one whose unit was forgotten."""
    size = parse_size(value)
    if 0 < size < MIB and str(value).strip().isdigit():
        remedy = f"write the unit: {size}Gi or {size}Mi"
        raise PydanticCustomError("size", "without a unit these are bytes", {"remedy": remedy})
    return size


def parse_duration(value: Any) -> int:
    """Seconds of `30s`, `10m`, `2h`, `1d`."""
    if isinstance(value, str) and (match := re.fullmatch(r"(\d+)\s*([smhd])", value.strip())):
        return int(match[1]) * _SECONDS[match[2]]
    raise PydanticCustomError("duration", "not a duration", {"remedy": "write 30s, 10m, 2h or 1d"})


def parse_switch(value: Any) -> Any:
    """True or False of what Ansible takes for it, in text or as 1 and 0; anything else as it is."""
    written = isinstance(value, str | int) and not isinstance(value, bool)
    return _SWITCH.get(str(value).strip().lower(), value) if written else value


def parse_whole(value: Any) -> Any:
    """The whole number that a text is; anything else as it is."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d+\s*", value, re.ASCII) else value


def parse_number(value: Any) -> Any:
    """The number that a text is; anything else as it is."""
    decimal = r"\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*"
    return float(value) if isinstance(value, str) and re.fullmatch(decimal, value, re.ASCII | re.IGNORECASE) else value


Switch = Annotated[bool, BeforeValidator(parse_switch)]
"""True or false; also as text, like `no`."""

Whole = Annotated[int, BeforeValidator(parse_whole)]
"""A whole number; also as text."""

Number = Annotated[float, BeforeValidator(parse_number), Field(allow_inf_nan=False)]
"""A number; also as text."""

Size = Annotated[int, BeforeValidator(parse_size), Field(ge=0)]
"""Bytes; written `64Gi`, `512Mi` or a number."""


Amount = Annotated[int, BeforeValidator(parse_amount), Field(ge=0)]
"""Bytes of memory, caches or bandwidth, which are never a few."""


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

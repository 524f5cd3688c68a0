"""What the models of an inventory's variables share."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from alluxio_fuse.plan.units import Number, Whole, parse_whole

Medium = Literal["memory", "ssd", "hdd"]
Java = Annotated[Literal[8, 11, 17, 21, 25], BeforeValidator(parse_whole)]
Libfuse = Annotated[Literal[2, 3], BeforeValidator(parse_whole)]


def wrong(kind: str, reason: str, remedy: str, at: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """What validators raise: what is wrong with a value, and what to write instead. kind: `secret` hides the value.

    at: where in the value, if a part of it is meant.
    """
    return PydanticCustomError("wrong", "{reason}", {"kind": kind, "reason": reason, "remedy": remedy, "at": at})


def _name(value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", value):
        raise wrong("name", "not a name", "use up to 40 small letters, digits and hyphens, a letter first")
    return value


def _path(value: str) -> str:
    if value.startswith("~"):
        raise wrong("path", "not an absolute path; ~ is not expanded", "write it from /, like /home/…")
    if not value.startswith("/") or "/../" in f"{value}/" or value == "/":
        raise wrong("path", "not an absolute path", "write it from /, without ..")
    return value.rstrip("/")


Name = Annotated[str, AfterValidator(_name)]
Path = Annotated[str, AfterValidator(_path)]
Share = Annotated[Number, Field(gt=0, le=1)]
Port = Annotated[Whole, Field(ge=0, le=15000)]


class Strict(BaseModel):
    """A model that knows no key but its own and converts nothing silently."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

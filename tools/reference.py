"""Generates docs/variables.md from the model of the user's intent, so that the reference cannot drift from the code."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from alluxio_fuse.plan.intent.datasets import read_freshness
from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.intent.nodes import NodeIntent
from alluxio_fuse.plan.units import format_size, parse_amount, parse_size

#: Of validators that read a text as a number: what the user writes.
SHAPES: dict[Any, str] = {
    parse_size: "size",
    parse_amount: "size",
    read_freshness: '`immutable` or `"within: 10m"`',
}

_HEAD = """\
# Variables

Generated from `src/alluxio_fuse/plan/intent/` by `make docs`; do not edit. What is derived from them, and why, is in
every plan (`playbooks/plan.yml`). Sizes are bytes or carry a binary unit (`64Gi`, `512Mi`); of memory, caches and
bandwidth, less than 1 MiB without a unit is refused, but for 0. Numbers and switches may be text, as `-e key=value`
gives them: `3`, `0.5`, `yes`, `no`.

`alluxio_credentials` (keys of object stores, by dataset: `{imagenet: {access_key: …, secret_key: …}}`, for OSS maybe
with `security_token`) belongs into a vault, and so does `alluxio_cluster_password` (that of `alluxio_cluster`, with
its `password: true`): preflight refuses them from an unencrypted file of an inventory. They never enter the plan, a log
or a report. Give keys that can only read and list the dataset's own prefix:
[who can get at the keys](upkeep.md#who-can-get-at-the-keys).
"""


def variables() -> str:
    """The text of docs/variables.md."""
    parts = [_HEAD]
    parts += _section("For the whole fleet", FleetIntent)
    parts += _section("For a host or group", NodeIntent)
    for model in _nested(FleetIntent, NodeIntent):
        parts += _section(f"`{model.__name__}`", model)
    return "\n".join(parts)


def _section(title: str, model: type[BaseModel]) -> list[str]:
    about = [] if title.startswith("For") else [f"{(model.__doc__ or '').strip()}\n"]
    rows = [
        f"| `{name}` | {_shape(field)} | {_default(field)} | {field.description or ''} |"
        for name, field in model.model_fields.items()
    ]
    return [f"## {title}\n", *about, "| name | shape | default | meaning |", "|---|---|---|---|", *rows, ""]


def _nested(*models: type[BaseModel]) -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = []
    queue = list(models)
    while queue:
        for field in queue.pop(0).model_fields.values():
            for inner in _models_in(field.annotation):
                if inner not in found:
                    found.append(inner)
                    queue.append(inner)
    return found


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


def _shape(field: FieldInfo) -> str:
    return _read_as(field.metadata) or _type(field.annotation)


def _read_as(metadata: typing.Iterable[Any]) -> str:
    """The shape of what a validator reads; empty where the type itself says it."""
    readers = [one.func for one in metadata if isinstance(one, BeforeValidator)]
    return next((SHAPES[reader] for reader in readers if reader in SHAPES), "")


def _type(annotation: Any) -> str:
    arguments = typing.get_args(annotation)
    known: dict[Any, Callable[[], str]] = {
        typing.Literal: lambda: " \\| ".join(f"`{argument}`" for argument in arguments),
        typing.Annotated: lambda: _read_as(arguments[1:]) or _type(arguments[0]),
        typing.Union: lambda: " or ".join(_type(one) for one in arguments if one is not type(None)),
        types.UnionType: lambda: " or ".join(_type(one) for one in arguments if one is not type(None)),
        list: lambda: f"list of {_type(arguments[0])}",
        dict: lambda: "mapping",
    }
    origin = typing.get_origin(annotation)
    if origin in known:
        return known[origin]()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    names = {"str": "text", "int": "number", "float": "number", "bool": "true or false"}
    return names.get(getattr(annotation, "__name__", ""), "value")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "*required*"
    default = field.get_default(call_default_factory=True)
    if default is None or default is PydanticUndefined or default in ("", [], {}) or isinstance(default, BaseModel):
        return ""
    if _shape(field) == "size":
        return f"`{format_size(default)}`"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(variables())

"""What every filter plugin needs between Ansible and this package."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from functools import wraps
from inspect import signature
from types import ModuleType
from typing import Any, Final, get_type_hints

from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.loading import load_service
from alluxio_fuse.plan.values import Service

#: By the annotation of a parameter, what makes such an argument of what plan.json holds.
_LOADERS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    Plan: Plan.load,
    Plan | None: lambda raw: Plan.load(raw) if raw else None,
    Sequence[Plan]: lambda raw: [Plan.load(one) for one in raw],
    Service: load_service,
}


def plain(value: Any) -> Any:
    """Ordinary containers of Ansible's lazy ones, rendered: what pydantic, and any other library, can read."""
    return json.loads(json.dumps(value, default=str))


def as_filter(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as a filter: it gets plain arguments, and plans as the type that its parameters are annotated with.

    A dataclass that it returns, a view, is given on as a dictionary.
    """
    taken, hints = signature(function), get_type_hints(function)

    @wraps(function)
    def through(*arguments: Any, **named: Any) -> Any:
        bound = taken.bind(*plain(arguments), **plain(named))
        for name in bound.arguments.keys() & hints.keys():
            if load := _LOADERS.get(hints[name]):
                bound.arguments[name] = load(bound.arguments[name])
        result = function(*bound.args, **bound.kwargs)
        return asdict(result) if is_dataclass(result) and not isinstance(result, type) else result

    return through


def filters(module: ModuleType, *names: str) -> dict[str, Callable[..., Any]]:
    """Functions of a module as filters of the same names."""
    return {name: as_filter(getattr(module, name)) for name in names}

"""What every filter plugin needs between Ansible and this package."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any


def plain(value: Any) -> Any:
    """Ordinary containers of Ansible's lazy ones, rendered: what pydantic, and any other library, can read."""
    return json.loads(json.dumps(value, default=str))


def filters(module: ModuleType, *names: str) -> dict[str, Callable[..., Any]]:
    """Functions of a module as filters of the same names, which get plain arguments."""
    return {name: _door(getattr(module, name)) for name in names}


def _door(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **named: function(*plain(arguments), **plain(named))

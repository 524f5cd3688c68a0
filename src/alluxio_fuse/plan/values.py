"""A planned value: how much, by which rule, why, and where the figure comes from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

from alluxio_fuse.plan.parts import plain

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Value(Generic[T]):
    """One planned value. `overridden` holds what the rule would have given, when the user said otherwise."""

    amount: T
    rule: str
    why: str
    source: str
    overridden: Any = None
    parts: "Mapping[str, Value[Any]]" = field(default_factory=dict)

    def dump(self) -> dict[str, Any]:
        """The value as plan.json holds it."""
        raw: dict[str, Any] = {
            "amount": plain(self.amount),
            "rule": self.rule,
            "why": self.why,
            "source": self.source,
        }
        if self.overridden is not None:
            raw["overridden"] = plain(self.overridden)
        if self.parts:
            raw["parts"] = {key: part.dump() for key, part in self.parts.items()}
        return raw

    @classmethod
    def load(cls, raw: Mapping[str, Any]) -> "Value[Any]":
        """The value that plan.json holds."""
        return cls(**{**raw, "parts": {key: cls.load(part) for key, part in raw.get("parts", {}).items()}})

    def override(self, amount: T, said: str) -> "Value[T]":
        """The same value with the user's amount."""
        return replace(self, amount=amount, why=f"overridden by {said}", source=said, overridden=self.amount)


Service = dict[str, Value[Any]]
"""The planned values of one service on one node."""
Amounts = dict[str, Any]
"""The same without their reasons."""


def dump_service(service: Service) -> dict[str, Any]:
    """The values of a service as plan.json holds them."""
    return {key: value.dump() for key, value in service.items()}


def amounts(service: Service) -> Amounts:
    """The values of a service without their reasons."""
    return {key: value.amount for key, value in service.items()}


def rule(source: str) -> Callable[[Callable[P, tuple[T, str]]], Callable[P, Value[T]]]:
    """Make a function of plain arguments that returns (amount, why) into one that returns a Value named after it."""

    def decorate(function: Callable[P, tuple[T, str]]) -> Callable[P, Value[T]]:
        name = function.__name__

        @wraps(function)
        def planned(*args: P.args, **kwargs: P.kwargs) -> Value[T]:
            amount, why = function(*args, **kwargs)
            return Value(amount, name, why, source)

        return planned

    return decorate


def table(rule_name: str, parts: Mapping[str, Value[str]], why: str, source: str) -> Value[dict[str, str]]:
    """A value that is a mapping, each of whose entries has a reason of its own."""
    return Value({key: part.amount for key, part in parts.items()}, rule_name, why, source, None, parts)

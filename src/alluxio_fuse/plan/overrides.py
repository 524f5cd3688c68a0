"""Derived values said otherwise by the user, named `<service>.<key>`."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, Final, TypeVar

from pydantic_core import PydanticCustomError

from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.refusals import did_you_mean
from alluxio_fuse.plan.units import parse_amount, parse_whole
from alluxio_fuse.plan.values import Value

T = TypeVar("T")


def _count(value: Any) -> int:
    value = parse_whole(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise PydanticCustomError("count", "not a number", {"remedy": "write a whole number"})


def _texts(value: Any) -> list[str]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    raise PydanticCustomError("texts", "not a list of strings", {"remedy": "write a list of strings"})


def _properties(value: Any) -> dict[str, str]:
    if isinstance(value, dict) and all(isinstance(item, str | int | float) for item in value.values()):
        return {str(key): str(item).lower() if isinstance(item, bool) else str(item) for key, item in value.items()}
    raise PydanticCustomError("properties", "not a mapping of Alluxio keys", {"remedy": "write {alluxio.key: value}"})


_JVM: Final[dict[str, Callable[[Any], Any]]] = {
    "heap": parse_amount,
    "direct_memory": parse_amount,
    "container_memory": parse_amount,
    "nofile": _count,
    "cpu_request": _count,
    "properties": _properties,
    "jvm_flags": _texts,
}
OVERRIDABLE: Final[dict[str, dict[str, Callable[[Any], Any]]]] = {
    "node": {
        "memory_reserve": parse_amount,
        "page_cache_floor": parse_amount,
        "read_ahead_kb": _count,
    },
    "master": _JVM,
    "job_master": _JVM,
    "worker": {**_JVM, "tier_quota": parse_amount},
    "job_worker": _JVM,
    "fuse": {
        **_JVM,
        "mount_options": _texts,
        "client_cache_size": parse_amount,
        "metadata_cache_entries": _count,
        "read_ahead_kb": _count,
        "max_background": _count,
        "congestion_threshold": _count,
    },
}


class Overrides:
    """The user's overrides, checked for names and shapes; `apply` marks a value as overridden."""

    def __init__(self, said: Mapping[str, Any], datasets: frozenset[str], problems: Problems) -> None:
        self._said: dict[str, Any] = {}
        for path, amount in said.items():
            where = f"alluxio_overrides[{path}]"
            service, _, key = path.rpartition(".")
            kind, _, dataset = service.partition("/")
            if kind not in OVERRIDABLE or (dataset and (kind != "fuse" or dataset not in datasets)):
                names = [*OVERRIDABLE, *(f"fuse/{name}" for name in datasets)]
                problems.refuse(where, amount, f"no service {service!r}", did_you_mean(service, names))
            elif key not in OVERRIDABLE[kind]:
                problems.refuse(
                    where, amount, f"{key!r} of {kind} cannot be overridden", did_you_mean(key, OVERRIDABLE[kind])
                )
            else:
                try:
                    self._said[path] = OVERRIDABLE[kind][key](amount)
                except PydanticCustomError as error:
                    problems.refuse(where, amount, error.message(), str((error.context or {}).get("remedy", "")))

    def of_memory(self) -> list[str]:
        """Names of the overrides that take memory away from caches."""
        keys = ("heap", "direct_memory", "memory_reserve", "page_cache_floor")
        return [name for name in self._said if name.rpartition(".")[2] in keys]

    def said(self, name: str) -> int:
        """The size that one of them says, bytes."""
        return int(self._said[name])

    def without(self, names: Iterable[str]) -> "Overrides":
        """The others."""
        fewer = copy(self)
        fewer._said = {name: amount for name, amount in self._said.items() if name not in names}
        return fewer

    def get(self, service: str, key: str) -> tuple[str, Any] | None:
        """(name, amount) of the most specific override of a value; `fuse/x` before `fuse`."""
        if not self._said:
            return None
        for name in (f"{service}.{key}", f"{service.partition('/')[0]}.{key}"):
            if name in self._said:
                return name, self._said[name]
        return None

    def apply(self, service: str, key: str, value: Value[T]) -> Value[T]:
        """The value, with the user's amount if there is one."""
        said = self.get(service, key)
        return value if said is None else value.override(said[1], f"alluxio_overrides[{said[0]}]")

    def properties(self, service: str) -> dict[str, tuple[str, str]]:
        """{Alluxio key: (value, name of the override)}; those of `fuse/x` win over those of `fuse`."""
        merged: dict[str, tuple[str, str]] = {}
        for name in dict.fromkeys((service.partition("/")[0], service)):
            said = self._said.get(f"{name}.properties", {})
            merged |= {key: (text, f"alluxio_overrides[{name}.properties]") for key, text in said.items()}
        return merged

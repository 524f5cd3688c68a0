"""Plans of a few amounts, for tests of what reads them."""

from collections.abc import Mapping
from typing import Any

from alluxio_fuse.plan import Plan, Value
from alluxio_fuse.plan.loading import typed
from alluxio_fuse.plan.values import Amounts, Service


def value(amount: Any, key: str = "") -> Value[Any]:
    """A value whose reasons nobody reads; of the type that the value `key` has."""
    return Value(typed(key, amount), "r", "w", "s")


def plan_of(name: str, fleet: Amounts, nodes: Mapping[str, Mapping[str, Amounts]]) -> Plan:
    """A plan of these amounts: of the fleet, and {host: {service: amounts}}."""
    valued = {host: {name: _valued(one) for name, one in services.items()} for host, services in nodes.items()}
    return Plan("", name, "tuned", _valued(fleet), valued, [], [])


def _valued(amounts: Amounts) -> Service:
    return {key: value(amount, key) for key, amount in amounts.items()}

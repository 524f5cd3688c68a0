"""Plans of a few amounts, for tests of what reads them."""

from collections.abc import Mapping
from typing import Any

from alluxio_fuse.plan import Plan, Value
from alluxio_fuse.plan.values import Amounts


def value(amount: Any) -> Value[Any]:
    """A value whose reasons nobody reads."""
    return Value(amount, "r", "w", "s")


def plan_of(name: str, fleet: Amounts, nodes: Mapping[str, Mapping[str, Amounts]]) -> Plan:
    """A plan of these amounts: of the fleet, and {host: {service: amounts}}."""
    valued = {
        host: {
            service: {key: value(amount) for key, amount in amounts.items()} for service, amounts in services.items()
        }
        for host, services in nodes.items()
    }
    return Plan("", name, "tuned", {key: value(amount) for key, amount in fleet.items()}, valued, [], [])

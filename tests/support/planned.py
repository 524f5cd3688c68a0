"""Plans of a few amounts, for tests of what reads them."""

from collections.abc import Mapping
from typing import Any, Final

from alluxio_fuse.plan import Plan, Value
from alluxio_fuse.plan.loading import typed
from alluxio_fuse.plan.values import Amounts, Service

#: What a dataset has where a test does not say it.
_UNSAID: Final = {
    **dict.fromkeys(("alluxio_path", "source", "folder", "manifest", "mount_point", "path"), ""),
    **dict.fromkeys(("s3", "oss", "hdfs", "marker", "sample")),
    "listed_by": "controller",
    "files": 1,
    "bytes": 1,
    "writable": False,
    "freshness": "immutable",
    "caches_freshness": "immutable",
    "pin": False,
    "through": "cluster",
    "readers": {"uid": 0, "gid": 0, "mode": "0755"},
    "options": {},
    "unreadable_names": "refuse",
}


def value(amount: Any, key: str = "") -> Value[Any]:
    """A value whose reasons nobody reads; of the type that the value `key` has. Datasets need a name alone."""
    whole = [_UNSAID | one for one in amount] if key == "datasets" else amount
    return Value(typed(key, whole), "r", "w", "s")


def plan_of(name: str, fleet: Amounts, nodes: Mapping[str, Mapping[str, Amounts]]) -> Plan:
    """A plan of these amounts: of the fleet, and {host: {service: amounts}}."""
    valued = {host: {name: _valued(one) for name, one in services.items()} for host, services in nodes.items()}
    return Plan("", name, "tuned", _valued(fleet), valued, [], [])


def _valued(amounts: Amounts) -> Service:
    return {key: value(amount, key) for key, amount in amounts.items()}

"""A plan without its reasons: what roles are passed."""

from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.parts import plain
from alluxio_fuse.plan.values import Amounts


def amounts(plan: Plan, host: str) -> dict[str, Amounts]:
    """{fleet: {key: amount}, <service>: {key: amount}} of one host."""
    if host not in plan.nodes:
        known = ", ".join(plan.nodes)
        raise KeyError(f"the plan has no host {host!r}; it has {known}")
    services = {"fleet": plan.fleet, **plan.nodes[host]}
    return {name: {key: plain(value.amount) for key, value in one.items()} for name, one in services.items()}

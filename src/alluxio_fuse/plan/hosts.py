"""What differs between nodes of one kind: addresses, and the site files that hold them."""

from collections.abc import Iterable, Iterator, Mapping

from alluxio_fuse.plan import mount_settings
from alluxio_fuse.plan.fleet import Fleet, Node
from alluxio_fuse.plan.layout import ALIASES
from alluxio_fuse.plan.node import NodePlan
from alluxio_fuse.plan.places import folder
from alluxio_fuse.plan.rules import ports, properties
from alluxio_fuse.plan.rules.properties import Properties, TierDir
from alluxio_fuse.plan.site import site
from alluxio_fuse.plan.summary import worker_share
from alluxio_fuse.plan.values import Service, Value

USER_HOSTNAME = "alluxio.user.hostname"


class Nodes(Mapping[str, dict[str, Service]]):
    """{host: {service: {key: Value}}}. Nodes alike share one plan; a host's own address is filled in on the way out."""

    def __init__(self, nodes: Iterable[Node], plans: Mapping[str, NodePlan], fleet: Fleet) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._plans, self._fleet = plans, fleet
        self._share = worker_share(fleet, plans)

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __getitem__(self, host: str) -> dict[str, Service]:
        node, planned = self._nodes[host], self._plans[host]
        services = {name: dict(service) for name, service in planned.services.items()}
        offset, quorum = self._fleet.intent.alluxio_port_offset, len(self._fleet.cluster.masters) > 1
        bind = Value(node.bind, "bind_address", "listens here only", "alluxio_bind_address")
        own = {USER_HOSTNAME: properties.own_address(node.address)}
        if self._share < 1 and self._fleet.runs_cluster and not self._fleet.upstream:
            own[properties.READ_TYPE] = properties.read_past_workers(self._share)
        for name, service in services.items():
            if name.startswith("fuse/"):
                service["properties"] = _with(service["properties"], own)
                service.update(mount_settings.tuned(service, node.tuned.get(name.removeprefix("fuse/"))))
            elif name != "node":
                service["bind_address"] = bind
                service["ports"] = ports.ports(name, offset, quorum)
                service["properties"] = site(_site(name, node, planned, self._fleet), name, self._fleet)
        return services


def _site(name: str, node: Node, planned: NodePlan, fleet: Fleet) -> Properties:
    if name == "master":
        return properties.master(fleet.cluster, node.bind, node.address)
    if name == "job_master":
        return properties.job_master(fleet.cluster, node.bind, node.address)
    if name == "job_worker":
        return properties.job_worker(fleet.cluster, node.bind, node.address, planned.cpus)
    tiers = tuple(
        TierDir(ALIASES[tier.space.medium], folder(fleet, tier.space, "tier"), tier.quota)
        for tier in planned.layout.tiers
    )
    return properties.worker(fleet.cluster, node.bind, node.address, tiers)


def _with(shared: Value[dict[str, str]], own: Mapping[str, Value[str]]) -> Value[dict[str, str]]:
    """A site file that nodes alike share, with what follows from this node and from the whole fleet."""
    amount = {key: value.amount for key, value in own.items()} | shared.amount
    return Value(amount, shared.rule, shared.why, shared.source, shared.overridden, {**own, **shared.parts})

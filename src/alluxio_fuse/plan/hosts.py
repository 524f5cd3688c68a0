"""What differs between nodes of one kind: addresses, and the site files that hold them."""

from alluxio_fuse.plan.fleet import Fleet, Node
from alluxio_fuse.plan.layout import ALIASES
from alluxio_fuse.plan.node import NodePlan, folder
from alluxio_fuse.plan.overrides import Overrides
from alluxio_fuse.plan.rules import fuse, ports, properties
from alluxio_fuse.plan.rules.properties import Client, Properties, TierDir
from alluxio_fuse.plan.values import Service, Value, table

SITE_FILE = "the site file of this service is exactly this"


def site(made: Properties, service: str, overrides: Overrides) -> Value[dict[str, str]]:
    """A site file, with the user's properties in it."""
    for key, (text, said) in overrides.properties(service).items():
        known = made.get(key) or Value("", "properties", "not set by the plan", said)
        made[key] = known.override(text, said)
    return table("properties", made, SITE_FILE, "each entry has its own")


def fuse_sites(planned: NodePlan, fleet: Fleet, overrides: Overrides) -> dict[str, Value[dict[str, str]]]:
    """The site files of FUSE on one kind of node, without the node's address."""
    return {
        f"fuse/{shape.name}": site(
            properties.fuse(fleet.cluster, None, _client(planned, fleet, shape.index)), f"fuse/{shape.name}", overrides
        )
        for shape in fleet.shapes
        if f"fuse/{shape.name}" in planned.services
    }


def _client(planned: NodePlan, fleet: Fleet, index: int) -> Client:
    shape = fleet.shapes[index]
    service = planned.services[f"fuse/{shape.name}"]
    cache = service["client_cache"].amount
    tiers = planned.layout.tiers
    direct = (
        fleet.intent.alluxio_platform == "host"
        and not any(each.writable for each in fleet.shapes)
        and len(tiers) == 1
        and cache["path"] is None
    )
    return Client(
        dataset=shape.name,
        writable=shape.writable,
        freshness=fuse.freshness_layers(shape.within),
        cache_path=cache["path"],
        cache_size=cache["size"],
        entries=service["metadata_cache_entries"].amount,
        libfuse=service["libfuse_version"].amount,
        web_port=service["ports"].amount.get("web"),
        workers=fleet.workers,
        direct_local_reads=direct,
    )


def host_services(
    node: Node, planned: NodePlan, fleet: Fleet, overrides: Overrides, fuse_files: dict[str, Value[dict[str, str]]]
) -> dict[str, Service]:
    """All services of one host."""
    services = dict(planned.services)
    quorum = len(fleet.cluster.masters) > 1
    bind = Value(node.bind, "bind_address", "listens here only", "alluxio_bind_address")
    tiers = tuple(
        TierDir(ALIASES[tier.room.medium], folder(fleet, tier.room, "tier"), tier.quota)
        for tier in planned.layout.tiers
    )
    sites = {
        "master": lambda: properties.master(fleet.cluster, node.bind, node.address),
        "job_master": lambda: properties.job_master(fleet.cluster, node.bind, node.address),
        "worker": lambda: properties.worker(fleet.cluster, node.bind, node.address, tiers),
        "job_worker": lambda: properties.job_worker(fleet.cluster, node.bind, node.address, planned.cpus),
    }
    for name, made in sites.items():
        if name in services:
            services[name] = services[name] | {
                "bind_address": bind,
                "ports": ports.ports(name, fleet.intent.alluxio_port_offset, quorum),
                "properties": site(made(), name, overrides),
            }
    own = Value(node.address, "addresses", "by this name the client finds the worker of its own node", properties.OWN)
    for name, shared in fuse_files.items():
        services[name] = {
            **services[name],
            "properties": Value(
                {**shared.amount, "alluxio.user.hostname": node.address},
                shared.rule,
                shared.why,
                shared.source,
                None,
                {**shared.parts, "alluxio.user.hostname": own},
            ),
        }
    return services

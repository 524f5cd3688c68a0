"""plan(): a pure function from what hosts say and are to every value, or to every reason against it."""

import gc
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from alluxio_fuse import names
from alluxio_fuse.plan.assumptions import assumptions, shapes_given
from alluxio_fuse.plan.budget import budget
from alluxio_fuse.plan.checks.fleet import check_fleet
from alluxio_fuse.plan.checks.folders import check_folders, check_paths
from alluxio_fuse.plan.checks.nodes import check_distributions, warn_of_restarts, warn_of_swap
from alluxio_fuse.plan.checks.platform import check_platform
from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.facts import Facts
from alluxio_fuse.plan.fleet import Fleet, Kind, Node
from alluxio_fuse.plan.hosts import Nodes
from alluxio_fuse.plan.intent.clusters import Headroom
from alluxio_fuse.plan.intent.fleet import SECRETS, FleetIntent
from alluxio_fuse.plan.intent.nodes import NodeIntent
from alluxio_fuse.plan.invariants import check_mounts, check_node, check_properties
from alluxio_fuse.plan.layout import Shape
from alluxio_fuse.plan.mounts import Mounts
from alluxio_fuse.plan.node import NodePlan, plan_node
from alluxio_fuse.plan.overrides import Overrides
from alluxio_fuse.plan.pools import inventory_groups, pooled
from alluxio_fuse.plan.problems import INVARIANTS, Problems
from alluxio_fuse.plan.reading import address_of, kind_of, read_fleet_intent, read_node, read_shapes, trained_needs
from alluxio_fuse.plan.refusals import Refused, did_you_mean
from alluxio_fuse.plan.rules.caches import BLOCK
from alluxio_fuse.plan.rules.jvm import Load, load_batch, requests_scarce
from alluxio_fuse.plan.rules.memory import cpus_workload
from alluxio_fuse.plan.rules.ports import PORTS
from alluxio_fuse.plan.rules.properties import Cluster
from alluxio_fuse.plan.schemes import OBJECT_STORES
from alluxio_fuse.plan.sizes import Sizes
from alluxio_fuse.plan.summary import fleet_values


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles: planning makes none, and a fifth of its time went into looking for them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@_uncollected()
def plan(hosts: Mapping[str, Mapping[str, Any]], digest: str = "") -> Plan:
    """The plan of {host: {groups, variables, facts}}; raises Refused with every finding.

    digest: of the image that a run pushed or imported; empty where it did not.
    """
    problems = Problems(frozenset())
    said = {
        name: {**host, "variables": {key: value for key, value in host["variables"].items() if key not in SECRETS}}
        for name, host in hosts.items()
    }
    if not said:
        problems.refuse("inventory", "empty", "there is no host", "name at least one host in masters and gpu_nodes")
        raise Refused(problems.findings)
    intent = read_fleet_intent(said, problems)
    read = {name: known for name, host in said.items() if (known := read_node(name, host, problems))}
    if intent is None or len(read) < len(said):
        raise Refused(problems.findings)
    problems.force = frozenset(intent.alluxio_force)
    for name in problems.force - INVARIANTS.keys():
        problems.refuse("alluxio_force", name, "no such invariant", did_you_mean(name, INVARIANTS))
    check_platform(intent, problems)
    check_folders(intent, problems)
    if not intent.capabilities.runs_cluster and (
        unused := [name for name in said if "masters" in said[name]["groups"]]
    ):
        problems.warn(
            "masters", f"platform host runs no masters: that {', '.join(unused)} is in this group means nothing"
        )
    facts = {name: known for name, (_, known) in read.items()}
    check_distributions(facts, problems)
    warn_of_restarts(intent, facts, problems)
    state_dir = names.state_dir(intent.alluxio_name)
    in_groups = (
        intent.capabilities.in_pods and not intent.capabilities.by_fluid and not intent.alluxio_kubernetes.node_selector
    )
    below = inventory_groups({name: host["groups"] for name, host in said.items()}) if in_groups else {}
    kinds = {
        name: kind_of(
            list(said[name]["groups"]),
            *known,
            state_dir,
            runs_cluster=intent.capabilities.runs_cluster,
            below=below.get(name, ()),
        )
        for name, known in read.items()
    }
    nodes = _nodes(read, kinds, intent, problems)
    fleet = _fleet(intent, nodes, facts, problems)
    if problems.findings:
        raise Refused(problems.findings)
    fleet = replace(fleet, image_digest=digest)
    with suppress(Refused):
        return _planned(fleet, nodes, facts, problems.copy())
    # no plan is refused for what it need not have
    return _planned(replace(fleet, caches_rests=False), nodes, facts, problems)


def _nodes(
    read: Mapping[str, tuple[NodeIntent, Facts]], kinds: Mapping[str, Kind], intent: FleetIntent, problems: Problems
) -> list[Node]:
    # where nothing listens for other nodes, no address is asked for
    alone = len(read) == 1 or not (intent.capabilities.runs_cluster or intent.alluxio_cluster.masters)
    nodes = []
    for name, (said, facts) in read.items():
        address, bind = address_of(
            name, said.alluxio_bind_address, facts, problems, in_pods=intent.capabilities.in_pods, alone=alone
        )
        nodes.append(Node(name, address, bind, kinds[name], facts.tuned))
    return nodes


def _fleet(intent: FleetIntent, nodes: list[Node], facts: Mapping[str, Facts], problems: Problems) -> Fleet:
    shapes = read_shapes(intent, facts, problems)
    masters = [node for node in nodes if node.kind.master]
    mounting = [node for node in nodes if node.kind.gpu_node]
    own = intent.capabilities.runs_cluster
    for group, found in (("masters", masters), ("gpu_nodes", mounting)):
        if not found and (own or group != "masters"):
            problems.refuse(group, "empty", "no host is in this group", f"put at least one host into {group}")
    if masters and len(masters) % 2 == 0:
        problems.refuse(
            "masters",
            str(len(masters)),
            "an even number of masters survives no more than one less does",
            "one or three masters",
        )
    datasets = max(len(shapes), intent.alluxio_room.datasets)
    offset = intent.alluxio_port_offset
    quorum = tuple(node.address for node in masters)
    if intent.capabilities.in_pods:
        quorum = tuple(f"{intent.alluxio_name}-master-{number}" for number in range(len(masters)))
    cluster = Cluster(
        masters=quorum if own else tuple(intent.alluxio_cluster.masters),
        external=not own,
        password=(own and not intent.capabilities.by_fluid) or intent.alluxio_cluster.password,
        offset_ports={service: {name: port + offset for name, port in own.items()} for service, own in PORTS.items()},
        state_dir=names.state_dir(intent.alluxio_name),
        upstream=intent.alluxio_profile == "upstream",
        clients=len(mounting) * (datasets + 1),
        object_store=any(dataset.source.startswith(OBJECT_STORES) for dataset in intent.alluxio_datasets),
    )
    overrides = Overrides(intent.alluxio_overrides, frozenset(shape.name for shape in shapes), problems)
    workers = len(mounting) if own else 0
    return Fleet(
        intent,
        shapes,
        cluster,
        masters=len(masters),
        workers=workers,
        load=_load(shapes, datasets, intent.alluxio_room, nodes, workers),
        overrides=overrides,
        scarce_cpus=any(requests_scarce(_cpus_left(node.kind), datasets) for node in mounting),
        trained=trained_needs({name: one.trained for name, one in facts.items()}),
    )


def _cpus_left(kind: Kind) -> float:
    """Processors of a GPU node beside training."""
    return kind.cpus - cpus_workload(kind.cpus, kind.workload_cpus, trains=True).amount


def _load(shapes: tuple[Shape, ...], datasets: int, headroom: Headroom, nodes: list[Node], workers: int) -> Load:
    gpus = max((sum(count for _, count in node.kind.gpus) for node in nodes), default=0)
    active = min(datasets, max(1, gpus))
    held = sum(shape.blocks for shape in shapes)
    return Load(
        files=max(sum(shape.files for shape in shapes), headroom.files),
        blocks=max(held, Sizes.unlisted(headroom.files, headroom.bytes).parts(BLOCK)) // max(1, workers),
        nodes=len(nodes),
        clients=2 * active,
    )


def _planned(fleet: Fleet, nodes: list[Node], facts: Mapping[str, Facts], problems: Problems) -> Plan:
    examples: dict[Kind, str] = {}
    for node in nodes:
        examples.setdefault(node.kind, node.name)
    alike = Counter(node.kind for node in nodes)
    titles = {k: name if alike[k] == 1 else f"{name} and {alike[k] - 1} alike" for k, name in examples.items()}
    with_worker = {
        kind: budget(kind, fleet, hosts_worker=True) for kind in examples if fleet.runs_cluster and kind.gpu_node
    }
    bearing = {kind for kind, divided in with_worker.items() if divided.caches >= 0} or set(with_worker)
    fleet = replace(fleet, workers=sum(node.kind in bearing for node in nodes))
    mounts = Mounts(fleet)
    plans: dict[Kind, NodePlan] = {}
    for kind, title in titles.items():
        hosts_worker = kind in bearing
        divided = with_worker[kind] if hosts_worker else budget(kind, fleet, hosts_worker=False)
        plans[kind] = plan_node(kind, title, fleet, mounts, problems, divided=divided, hosts_worker=hosts_worker)
    if fleet.intent.capabilities.in_pods and not problems.findings:
        plans = pooled(plans, nodes, fleet, problems)
    for kind, title in titles.items():
        check_node(plans[kind], problems)
        check_mounts(plans[kind], fleet, problems)
        if fleet.runs_cluster and kind.gpu_node and not plans[kind].hosts_worker:
            _warn_of_remote_worker(title, plans[kind], problems)
    by_host = {node.name: plans[node.kind] for node in nodes}
    warn_of_swap(facts, by_host, problems)
    check_paths(fleet, [tier.path for kind in plans for tier in kind.tiers if tier.path], problems)
    if not problems.findings:
        check_fleet(fleet, by_host, problems)
    lean = any(planned.budget.level == "lean" for planned in plans.values())
    fleet = replace(fleet, cluster=replace(fleet.cluster, load_batch=load_batch("lean" if lean else "full")))
    made = Nodes(nodes, by_host, fleet)
    for example in examples.values():
        check_properties(fleet, made[example], problems)
    if problems.findings:
        raise Refused(problems.findings)
    return Plan(
        environment=fleet.intent.alluxio_environment,
        name=fleet.name,
        profile=fleet.intent.alluxio_profile,
        fleet=fleet_values(fleet, by_host),
        nodes=made,
        warnings=[{"path": path, "message": message} for path, message in dict.fromkeys(problems.warnings)],
        assumptions=assumptions(fleet, plans.values(), shapes_given(fleet)),
    )


def _warn_of_remote_worker(title: str, planned: NodePlan, problems: Problems) -> None:
    mounts = [service["expected"].amount for name, service in planned.services.items() if name.startswith("fuse/")]
    least = min(mounts, key=lambda each: int(each["files_per_s"]))
    problems.warn(
        f"{title}: memory",
        "too little for a worker of its own: it reads from other nodes' workers; to be expected from the"
        f" {least['path']}: {least['files_per_s']:,} files/s, {least['mb_per_s']:,} MB/s as measured on 2 cores",
    )

"""Pools: in a Kubernetes cluster, GPU nodes that have the same pods, since a DaemonSet is the same on every node."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from alluxio_fuse import names
from alluxio_fuse.plan.fleet import Fleet, Kind, Node
from alluxio_fuse.plan.node import NodePlan, alike, fits
from alluxio_fuse.plan.parts import PlannedPool
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.values import Amounts, Service, Value, amounts

LONGEST = 30  # characters: names of pods hold those of the release and the dataset, too
_OF_ALL = frozenset({"all", "ungrouped", "gpu_nodes", "masters"})
_OF_THE_NODE = frozenset({"node", "master", "job_master"})


def inventory_groups(groups: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """By GPU node, those of its groups that hold nothing but GPU nodes; groups: {host: names of its groups}."""
    gpu_nodes = [host for host, its in groups.items() if "gpu_nodes" in its]
    others = {group for host, its in groups.items() if host not in gpu_nodes for group in its}
    return {host: tuple(sorted(set(groups[host]) - others - _OF_ALL)) for host in gpu_nodes}


def pooled(
    plans: Mapping[Kind, NodePlan], nodes: Sequence[Node], fleet: Fleet, problems: Problems
) -> dict[Kind, NodePlan]:
    """The plans with pods that are the same in each pool, and its name: that of an inventory group it holds whole.

    Within a group, nodes with and without a worker are apart. The pool of the first GPU node has no name: its pods keep
    theirs while that node stays the first.
    """
    made = dict(plans)
    apart: dict[tuple[tuple[str, ...], bool], list[NodePlan]] = {}
    for kind, one in plans.items():
        if kind.gpu_node:
            apart.setdefault((kind.groups, one.hosts_worker), []).append(one)
    pools: list[tuple[Amounts, set[Kind]]] = []
    for members in apart.values():
        same = _one_shape(members, fleet, problems)
        made |= same
        pods = _pods(next(iter(same.values())))
        known = next((kinds for shape, kinds in pools if shape == pods), None)
        if known is None:
            pools.append((pods, set(same)))
        else:
            known |= set(same)
    first = next(node.kind for node in nodes if node.kind.gpu_node)
    for _, kinds in pools:
        bearing = any(made[kind].hosts_worker for kind in kinds)
        name = "" if first in kinds else _name(kinds, nodes, "workers" if bearing else "mounts")
        _refuse_name(name, problems)
        made |= {kind: _placed(made[kind], name, fleet) for kind in kinds}
    return {kind: one if kind.gpu_node else _placed(one, "", fleet) for kind, one in made.items()}


def planned_pools(plans: Mapping[str, NodePlan]) -> Value[list[PlannedPool]]:
    """The pools of a fleet; plans: by host."""
    nodes: dict[str, list[str]] = {}
    for host, planned in plans.items():
        if planned.kind.gpu_node:
            nodes.setdefault(planned.services["node"]["pool"].amount, []).append(host)
    amount = [PlannedPool(name, hosts) for name, hosts in nodes.items()]
    why = "pods are the same on every node of a pool, and no inventory group has pods of another one's shape"
    return Value(amount, "pools", why, "groups of the inventory below gpu_nodes")


def _pods(planned: NodePlan) -> Amounts:
    """What makes pods what they are. What is expected of them follows, and may differ by the node."""
    shared = {name: amounts(one) for name, one in planned.services.items() if name not in _OF_THE_NODE}
    return {name: {key: one[key] for key in one if key != "expected"} for name, one in shared.items()}


def _name(kinds: set[Kind], nodes: Sequence[Node], suffix: str) -> str:
    """The largest inventory group all of whose nodes are in the pool; where it holds none whole, all of theirs."""
    here: dict[str, int] = {}
    for node in nodes:
        if node.kind in kinds:
            here |= {group: here.get(group, 0) + 1 for group in node.kind.groups}
    beyond = {group for node in nodes if node.kind not in kinds for group in node.kind.groups}
    whole = sorted(here.keys() - beyond, key=lambda group: (-here[group], group))
    name = whole[0] if whole else "-".join([*sorted(here), suffix])
    return name.replace("_", "-").lower()


def _refuse_name(name: str, problems: Problems) -> None:
    """What no label and no DaemonSet may be called, before nodes get it as a label."""
    if name and (len(name) > LONGEST or not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)):
        problems.refuse(
            "gpu_nodes",
            name,
            f"a pool is called by its inventory group, in at most {LONGEST} letters, digits and dashes",
            "give the group below gpu_nodes a shorter name of these",
        )


def _placed(planned: NodePlan, pool: str, fleet: Fleet) -> NodePlan:
    """With its pool, and the labels of the Node object by which pods find it: their amount tells pools apart."""
    kind, picked = planned.kind, bool(fleet.intent.alluxio_kubernetes.node_selector)
    runs = {"master": kind.master, "worker": planned.hosts_worker and not picked, "fuse": kind.gpu_node and not picked}
    labels = {
        names.node_label(fleet.name, service): "true" if service == "master" or not pool else pool
        for service, here in runs.items()
        if here
    }
    if runs["fuse"]:
        labels |= {names.dataset_label(fleet.name, dataset): how for dataset, how in _read_here(planned).items()}
    why = "pods run where the plan put them, and consumers prefer nodes that hold what they read"
    own: Service = {
        "labels": Value(labels, "labels", why, "groups masters and gpu_nodes"),
        "pool": Value(pool, "pool", "which pods run here; the first pool has no name", "groups below gpu_nodes"),
    }
    return replace(planned, services={**planned.services, "node": {**planned.services["node"], **own}})


def _read_here(planned: NodePlan) -> dict[str, str]:
    """By dataset, how the node reads it: `staged` whole, `part` of it staged, or all through `fuse`."""
    copies = {
        kind.removeprefix("fuse/"): one["stage"].amount if "stage" in one else None
        for kind, one in planned.services.items()
        if kind.startswith("fuse/")
    }
    return {
        dataset: "fuse" if copy is None or not copy.folder else "part" if copy.budget else "staged"
        for dataset, copy in copies.items()
    }


def _one_shape(members: Sequence[NodePlan], fleet: Fleet, problems: Problems) -> dict[Kind, NodePlan]:
    """Of the members' own plans the first that fits all, least memory first."""
    ordered = sorted(members, key=lambda one: one.budget.caches)
    for model in ordered:
        made = {one.kind: alike(one, model, fleet) for one in ordered}
        if all(fits(one) for one in made.values()):
            break
    else:
        paths = sorted({space.base for one in ordered for space in one.layout.spaces if space.medium != "memory"})
        problems.refuse(
            "gpu_nodes",
            ", ".join(one.example for one in ordered),
            "pods are the same on every node of an inventory group, and no node's caches fit all others"
            f" (media: {', '.join(paths)})",
            "put each kind of node into a group of its own below gpu_nodes, mount their media at the same path,"
            " or bound them by alluxio_cache_tiers[].budget",
        )
        return {one.kind: one for one in ordered}
    more = [one.example for one in ordered if one.layout.capacity > model.layout.capacity]
    if more:
        problems.warn(
            "gpu_nodes",
            f"pods are the same on every node of an inventory group, as {model.example} can have them: what"
            f" {', '.join(more)} could hold more is page cache, unless it is in a group of its own below gpu_nodes",
        )
    return made

"""Views of a deployment that Fluid runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from alluxio_fuse import containers, names
from alluxio_fuse.fluid import findings as against
from alluxio_fuse.fluid import state
from alluxio_fuse.fluid.render import render, trust_name
from alluxio_fuse.kubernetes import objects
from alluxio_fuse.kubernetes.objects import Object
from alluxio_fuse.plan import Plan
from alluxio_fuse.preflight import findings_text
from alluxio_fuse.views.preflight import Findings

#: What role `platform_fluid` knows of the cluster: {namespace, pull_secrets, secrets, fluid: {runtime, dataset, ...}}.
Cluster = Mapping[str, Any]


@dataclass(frozen=True)
class Fluid:
    """Objects of Fluid for a plan, in the order in which they are made, and what they are against those there are.

    ca_files: on the controller. trust: the ConfigMap with their certificates, None without any. differing: fields of
    objects that are there which are planned otherwise now, and which Fluid would not act on. former_load: whether there
    is a DataLoad that is not to stay. mounted_by_keys: whether the source is mounted, by keys. refused: findings on
    objects of others, and on ResourceQuotas that the pods do not fit into, as text.
    """

    objects: list[Object]
    ca_files: list[str]
    trust: Object | None
    differing: list[str]
    former_load: bool
    mounted_by_keys: bool
    refused: str


def fluid(
    plan: Plan,
    *,
    nodes: Mapping[str, Mapping[str, Any]],
    facts: Mapping[str, Any],
    authorities: Sequence[str] = (),
) -> Fluid:
    """Objects of Fluid for a plan.

    nodes: as the module `cluster_facts` returns them; facts: as `fluid_facts` does. authorities: texts of private CAs.
    """
    made, name = render(plan, nodes), trust_name(plan)
    into = plan.fleet["kubernetes"].amount.namespace
    certificates = "\n".join(authorities) + "\n"
    mounted = sum(1 for host in plan.nodes if plan.mounts(host))
    dataset, runtime = made[0], made[1]
    taken = against.taken_findings(facts, plan.name, dataset["metadata"]["name"], runtime["kind"])
    refused = [asdict(one) for one in (*taken, *against.quota_findings(facts, made, mounted))]
    return Fluid(
        objects=made,
        ca_files=containers.ca_files(plan),
        trust=objects.trust(plan.name, into, certificates) if name and authorities else None,
        differing=state.differing(facts["objects"], made),
        former_load=state.former_load(facts["objects"], made),
        mounted_by_keys=state.mounted_by_keys(facts["objects"]),
        refused=findings_text(refused) if refused else "",
    )


def fluid_findings(
    facts: Mapping[str, Any], deployment: str, *, cluster: Cluster, credentials: Mapping[str, Mapping[str, str]]
) -> Findings:
    """What speaks against a cluster with or without Fluid, before anything is made in it.

    facts: as the module `fluid_facts` returns them. credentials: keys by dataset.
    """
    said = cluster["fluid"]
    found = against.fluid_findings(
        facts,
        deployment,
        dataset=said["dataset"],
        runtime=said["runtime"],
        secrets=list(cluster["secrets"].values()),
        temporary=said["dataset"] not in cluster["secrets"]
        and bool(credentials.get(said["dataset"], {}).get("security_token")),
    )
    every = [asdict(one) for one in found]
    return Findings(found=every, text=findings_text(every) if every else "")


def fluid_pods(
    facts: Mapping[str, Any],
    deployment: str,
    *,
    cluster: Cluster,
    image: str,
    hosts: Sequence[str],
    inventory: Sequence[str] = (),
    folders: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> list[Object]:
    """The pods that stand in for nodes, and that which lists the source's claim.

    The former see that claim, too, and the Dataset's where it is Bound. folders: by host, {path, read_only} of what a
    pod sees of its node. inventory: all nodes of ours, on one of which the claim is listed.
    """
    said = cluster["fluid"]
    point = names.mount_point(deployment, said["dataset"]) if state.bound(facts["objects"]) else ""
    claims = dict(cluster["claims"])
    if point:
        claims[point] = f"{said['dataset']}/{said['dataset']}"
    into, pull_secrets = cluster["namespace"], cluster["pull_secrets"]
    shape: dict[str, Any] = {"deployment": deployment, "into": into, "image": image, "pull_secrets": pull_secrets}
    seen: dict[str, Any] = {"folders": folders, "claims": claims, "stays": True, "hosts_mounts": False, "reads": point}
    return [
        *(objects.access_pod(host, **shape, **seen) for host in hosts),
        *([objects.sources_pod(inventory, **shape, claims=cluster["claims"])] if cluster["claims"] else []),
    ]

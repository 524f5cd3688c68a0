"""All objects of Fluid for a plan, in the order in which they are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alluxio_fuse import containers
from alluxio_fuse.fluid import objects
from alluxio_fuse.fluid.alluxio import alluxio_runtime
from alluxio_fuse.fluid.jindo import jindo_runtime
from alluxio_fuse.fluid.sources import source_of
from alluxio_fuse.fluid.traps import traps
from alluxio_fuse.kubernetes.objects import Object
from alluxio_fuse.kubernetes.pods import COMPONENT
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.intent.clusters import Fluid, Kubernetes
from alluxio_fuse.plan.refusals import Finding, Refused
from alluxio_fuse.plan.schemes import CLAIM
from alluxio_fuse.plan.values import Amounts, amounts


def render(plan: Plan, nodes: Mapping[str, Mapping[str, Any]]) -> list[Object]:
    """Dataset, runtime, and a DataLoad where one is wanted; raises Refused where the user's further fields are wrong.

    nodes: of the cluster, as the module `cluster_facts` returns them.
    """
    fluid: Fluid = plan.fleet["fluid"].amount
    cluster: Kubernetes = plan.fleet["kubernetes"].amount
    planned = plan.datasets[0]
    name, into = planned.name, str(cluster.namespace)
    terms = objects.node_terms(fluid, cluster, nodes, [host for host in plan.nodes if plan.mounts(host)])
    mounted = source_of(planned, fluid.runtime)
    specs = {
        "Dataset": objects.dataset(name, mounted, secret_name(plan), terms, objects.tolerations(cluster)),
        objects.KINDS[fluid.runtime]: _runtime(plan, fluid, cluster, claimed=mounted.mount_point.startswith(CLAIM)),
    }
    said = {"Dataset": fluid.further.dataset, objects.KINDS[fluid.runtime]: fluid.further.runtime}
    findings: list[Finding] = []
    made = []
    for kind, spec in specs.items():
        where = "alluxio_fluid.further." + ("dataset" if kind == "Dataset" else "runtime")
        whole = _joined(spec, said[kind], where, findings)
        made.append(objects.made(kind, name, into, plan.name, whole))
    findings += traps(made)
    if findings:
        raise Refused(findings)
    if fluid.load != "off":
        made.append(objects.made("DataLoad", name, into, plan.name, objects.data_load(name, into, fluid.load)))
    return made


def refusals(plan: Plan) -> list[Finding]:
    """What speaks against the objects of a plan, further fields included; nothing on another platform."""
    if not plan.capabilities.by_fluid:
        return []
    try:
        render(plan, {})
    except Refused as refused:
        return list(refused.findings)
    return []


def secret_name(plan: Plan) -> str:
    """Name of the Secret with the dataset's keys: the user's, or ours."""
    name = plan.datasets[0].name
    return str(plan.fleet["kubernetes"].amount.secrets.get(name, f"{plan.name}-{name}"))


def trust_name(plan: Plan) -> str:
    """Name of the ConfigMap with the CAs of private stores, "" without any."""
    return f"{plan.name}-trust" if containers.ca_files(plan) else ""


def _runtime(plan: Plan, fluid: Fluid, cluster: Kubernetes, *, claimed: bool) -> Object:
    services = {name: _first(plan, name) for name in ("master", "job_master", "worker", "job_worker")}
    services["fuse"] = _first(plan, f"fuse/{plan.datasets[0].name}")
    parts = {"master": "master", "worker": "worker", "fuse": f"fuse-{plan.datasets[0].name}"}
    ours = {part: {objects.DEPLOYMENT: plan.name, COMPONENT: component} for part, component in parts.items()}
    shape: dict[str, Any] = {
        "masters": len(plan.fleet["masters"].amount),
        "workers": len(plan.each("worker")),
        "pull_secrets": cluster.pull_secrets,
    }
    if fluid.runtime == "jindo":
        return jindo_runtime(services, ours, whole_image=fluid.image, **shape)
    shape |= {"whole_image": fluid.image or plan.fleet["image"].amount, "trust": trust_name(plan), "claimed": claimed}
    return alluxio_runtime(services, ours, **shape)


def _first(plan: Plan, service: str) -> Amounts:
    """A service of the plan: in pods, all of a kind are alike."""
    return amounts(plan.each(service)[0])


def _joined(planned: Object, said: Mapping[str, Any], where: str, findings: list[Finding]) -> Object:
    """The planned spec with the user's further fields; one that the plan writes is a finding."""
    whole = dict(planned)
    for key, value in said.items():
        at = f"{where}.{key}"
        if key not in planned:
            whole[key] = value
        elif isinstance(planned[key], dict) and isinstance(value, dict):
            whole[key] = _joined(planned[key], value, at, findings)
        elif planned[key] != value:
            findings.append(
                Finding(at, str(value), "the plan writes it", "take it out; alluxio_overrides changes the plan")
            )
    return whole

"""What a platform's role is told of a deployment."""

from __future__ import annotations

from typing import Any

from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.nfs import exports
from alluxio_fuse.plan.parts import plain
from alluxio_fuse.plan.pvc import claims


def deployment(plan: Plan, host: str) -> dict[str, Any]:
    """What a platform's role is told of a deployment whose plan is known; preflight's questions hold the same keys.

    Returns {name, platform, verbs, lacks: {playbook: why not}, in_pods, image, state_dir: the folder on `host`,
    mount_root, kubernetes: {node_access, claims: {folder: claim}, exports: {folder: {server, path}}, ...}}.
    """
    node = plan.nodes[host]["node"]
    cluster, sources = plan.fleet.get("kubernetes"), {one.name: one.source for one in plan.datasets}
    return {
        "name": plan.name,
        "platform": plan.platform,
        "verbs": list(plan.capabilities.verbs),
        "lacks": dict(plan.capabilities.lacks),
        "in_pods": plan.capabilities.in_pods,
        "image": plan.fleet["image"].amount,
        "state_dir": node["state_dir"].amount,
        "mount_root": node["mount_root"].amount,
        "kubernetes": {
            **(plain(cluster.amount) if cluster else {}),
            **({"fluid": _fluid(plan)} if plan.capabilities.by_fluid else {}),
            "claims": claims(sources),
            "exports": exports(sources),
            "node_access": plan.fleet["node_access"].amount,
        },
    }


def _fluid(plan: Plan) -> dict[str, Any]:
    """What is one thing in Fluid: {runtime, dataset}."""
    return {"runtime": plan.fleet["fluid"].amount.runtime, "dataset": plan.datasets[0].name}

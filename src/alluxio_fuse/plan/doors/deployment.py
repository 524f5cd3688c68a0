"""What a platform's role is told of a deployment."""

from __future__ import annotations

from typing import Any

from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.parts import plain


def deployment(plan: Plan, host: str) -> dict[str, Any]:
    """What a platform's role is told of a deployment whose plan is known; preflight's questions hold the same keys.

    Returns {name, platform, verbs, image, state_dir: the folder on `host`, mount_root, kubernetes: {node_access, ...}}.
    """
    node, cluster = plan.nodes[host]["node"], plan.fleet.get("kubernetes")
    return {
        "name": plan.name,
        "platform": plan.platform,
        "verbs": list(plan.capabilities.verbs),
        "image": plan.fleet["image"].amount,
        "state_dir": node["state_dir"].amount,
        "mount_root": node["mount_root"].amount,
        "kubernetes": {**(plain(cluster.amount) if cluster else {}), "node_access": plan.fleet["node_access"].amount},
    }

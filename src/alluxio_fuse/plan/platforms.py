"""What each platform can do, and what its role is told: the contract of the roles `platform_<name>`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from alluxio_fuse.plan.document import Plan

_ALL: Final = ("main", "endpoints", "status", "restart")
#: Entry points of each platform's role. A platform leaves out what it cannot do, or has no need of: what it makes on
#: nodes, role `undo` removes.
VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "containers": (*_ALL, "restore", "restored"),
    "host": _ALL,
    "kubernetes": (*_ALL, "preflight", "image", "policy", "consumers", "diagnose", "remove", "restore", "restored"),
}


def deployment(plan: Plan, host: str) -> dict[str, Any]:
    """What a platform's role is told of a deployment whose plan is known; preflight's questions hold the same keys.

    Returns {name, platform, verbs, image, state_dir: the folder on `host`, mount_root, kubernetes: {node_access, ...}}.
    """
    node, cluster = plan.nodes[host]["node"], plan.fleet.get("kubernetes")
    return {
        "name": plan.name,
        "platform": plan.platform,
        "verbs": list(VERBS[plan.platform]),
        "image": plan.fleet["image"].amount,
        "state_dir": node["state_dir"].amount,
        "mount_root": node["mount_root"].amount,
        "kubernetes": {**(cluster.amount if cluster else {}), "node_access": plan.fleet["node_access"].amount},
    }

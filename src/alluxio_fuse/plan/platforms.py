"""What each platform can do: half of the contract of the roles `platform_<name>`; the other is what they are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a platform can do.

    verbs: entry points of its role. It leaves out what it cannot do, or has no need of: what it makes on nodes, role
    `undo` removes. runs_cluster: masters and workers are the deployment's own, else FUSE alone is, on the node itself,
    with the node's libfuse and as a unit of systemd. in_pods: Kubernetes places the services, in pods that are
    alike in each pool of nodes, with networks and memory of their own.
    """

    verbs: tuple[str, ...]
    runs_cluster: bool
    in_pods: bool


#: Of a platform that there is not: the plan refuses it.
NOTHING: Final = Capabilities(verbs=(), runs_cluster=False, in_pods=False)
_ALL: Final = ("main", "endpoints", "status", "restart")
_JOURNAL: Final = ("restore", "restored")
_CLUSTER: Final = ("preflight", "values", "image", "policy", "consumers", "diagnose", "remove")
CAPABILITIES: Final[Mapping[str, Capabilities]] = {
    "containers": Capabilities(verbs=(*_ALL, *_JOURNAL), runs_cluster=True, in_pods=False),
    "host": Capabilities(verbs=_ALL, runs_cluster=False, in_pods=False),
    "kubernetes": Capabilities(verbs=(*_ALL, *_CLUSTER, *_JOURNAL), runs_cluster=True, in_pods=True),
}

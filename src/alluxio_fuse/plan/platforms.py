"""What each platform can do: half of the contract of the roles `platform_<name>`; the other is what they are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a platform can do.

    verbs: entry points of its role. It leaves out what it cannot do, or has no need of: what it makes on nodes, role
    `undo` removes. runs_cluster: masters and workers are the deployment's own, else FUSE alone is, on the node itself,
    with the node's libfuse and as a unit of systemd. in_pods: Kubernetes places the services, in pods that are
    alike in each pool of nodes, with networks and memory of their own. by_fluid: its controllers make the services, one
    cluster for each dataset; what nodes are is looked at from pods only. stages: nodes keep copies of datasets, which
    stand in the place of FUSE mounts. lacks: by playbook that it cannot do, why.
    """

    verbs: tuple[str, ...]
    runs_cluster: bool
    in_pods: bool
    by_fluid: bool = False
    stages: bool = False
    lacks: Mapping[str, str] = field(default_factory=dict)


#: Of a platform that there is not: the plan refuses it.
NOTHING: Final = Capabilities(verbs=(), runs_cluster=False, in_pods=False)
_ALL: Final = ("main", "endpoints", "status", "restart")
_PROGRAMS: Final = ("keeper", "warm")  # ours, beside the services
_JOURNAL: Final = ("restore", "restored")
_CLUSTER: Final = ("preflight", "values", "image", "policy", "consumers", "diagnose", "remove")
_OF_FLUID: Final[Mapping[str, str]] = {
    "backup": "the journal of a cluster of Fluid's lives as long as its master's pod",
    "diagnose": "objects and logs are Fluid's: its own tools/diagnose-fluid-alluxio.sh collects them",
    "drift": "Fluid's controllers undo what differs from its objects; services.yml names what differs in those",
    "refresh": "nothing tells the FUSE of Fluid's pods to forget names: changes show within the freshness",
    "restore": "the journal of a cluster of Fluid's lives as long as its master's pod",
    "train": "training runs on the other platforms; read with playbooks/check.yml",
    "tune": "settings of a mount are set on its node, and Fluid's mounts belong to Fluid",
    "warm": "a DataLoad of Fluid's loads named paths; playbooks/warm.yml without alluxio_warm warms as planned",
    "unstick": "Fluid's own FUSE recovery mounts again (feature gate FuseRecovery)",
}
CAPABILITIES: Final[Mapping[str, Capabilities]] = {
    "containers": Capabilities(verbs=(*_ALL, *_JOURNAL, *_PROGRAMS), runs_cluster=True, in_pods=False, stages=True),
    "host": Capabilities(verbs=(*_ALL, *_PROGRAMS), runs_cluster=False, in_pods=False, stages=True),
    "fluid": Capabilities(
        verbs=("main", "endpoints", "status", "preflight", "consumers", "remove"),
        runs_cluster=True,
        in_pods=True,
        by_fluid=True,
        lacks=_OF_FLUID,
    ),
    "kubernetes": Capabilities(
        verbs=(*_ALL, *_CLUSTER, *_JOURNAL, "warm"),
        runs_cluster=True,
        in_pods=True,
        stages=True,
    ),
}

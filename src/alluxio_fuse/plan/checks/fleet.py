"""What must hold across the fleet, once each node is planned."""

from collections.abc import Mapping

from alluxio_fuse.plan.checks.capacity import check_inodes, check_residency, check_shares
from alluxio_fuse.plan.checks.gate import check_gate
from alluxio_fuse.plan.credential_chain import by_chain
from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.intent.fleet import SECRET
from alluxio_fuse.plan.node import NodePlan
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.rules.caches import HIGH
from alluxio_fuse.plan.rules.jvm import COMPRESSED_POINTERS
from alluxio_fuse.plan.schemes import FOLDER, OBJECT_STORES
from alluxio_fuse.plan.units import format_size

QUORUM_NODES = 64
QUORUM_FILES = 50_000_000


def check_fleet(fleet: Fleet, plans: Mapping[str, NodePlan], problems: Problems) -> None:
    """All checks that need more than one node's plan."""
    kinds = list({id(planned): planned for planned in plans.values()}.values())
    capacity = int(sum(planned.layout.tier_capacity for planned in plans.values()) * HIGH)
    total = sum(shape.size for shape in fleet.shapes if shape.through_cluster)
    if fleet.workers:  # what a cluster elsewhere holds, its own plan answers for
        check_shares(fleet, capacity, total, problems)
        check_residency(fleet, kinds, capacity, problems)
    for planned in kinds:
        if planned.kind.gpu_node:
            check_gate(fleet, planned, problems)
            check_inodes(fleet, planned, problems)
    _check_masters(fleet, kinds, problems)
    _check_keys(fleet, problems)
    _check_markers(fleet, plans, problems)


def _check_masters(fleet: Fleet, kinds: list[NodePlan], problems: Problems) -> None:
    nodes, files = fleet.load.nodes, fleet.load.files
    if 0 < fleet.masters < 3 and (nodes >= QUORUM_NODES or files >= QUORUM_FILES):
        problems.warn("masters", f"{nodes} nodes and {files:,} files hang on one master: three survive the loss of one")
    for planned in kinds:
        for name, jvm in planned.budget.jvms.items():
            if jvm.heap.amount > COMPRESSED_POINTERS:
                problems.warn(
                    f"{planned.example}: {name}.heap",
                    f"{format_size(jvm.heap.amount)} is above {format_size(COMPRESSED_POINTERS)}: pointers double",
                )
        for shape in fleet.shapes if planned.kind.gpu_node else ():
            entries = planned.budget.grants[shape.name].entries
            if not fleet.upstream and entries < shape.files and planned.layout.staged(shape.name) < 1:
                problems.warn(
                    f"{planned.example}: fuse/{shape.name}",
                    f"memory for {entries:,} of {shape.files:,} paths: the rest asks the master each time",
                )


def _check_keys(fleet: Fleet, problems: Problems) -> None:
    """A master hands the keys of a mount to all that it answers; with SIMPLE authentication, those are all that ask.

    It does not hand out keys that it finds itself, but any client that mounts through it reads with them.
    """
    asks = "each service with the deployment's password" if fleet.cluster.password else "any client in its reach"
    read = [
        dataset
        for dataset in fleet.intent.alluxio_datasets
        if dataset.source.startswith(OBJECT_STORES)
        and not dataset.writable
        and dataset.through == "cluster"
        and not (dataset.s3 and dataset.s3.anonymous)
    ]
    if handed := [dataset.name for dataset in read if not by_chain(dataset)]:
        problems.warn(
            SECRET,
            f"{', '.join(handed)} should be read with keys that can only read and list this prefix: the master tells"
            f" them to {asks}, which may call itself its admin and mount the bucket once more, writable",
        )
    if found := [dataset.name for dataset in read if by_chain(dataset)]:
        problems.warn(
            "credential_chain",
            f"{', '.join(found)} should be read by a role that can only read and list this prefix: {asks} may call"
            " itself the master's admin, and mount with the role whatever it can read",
        )


def _check_markers(fleet: Fleet, plans: Mapping[str, NodePlan], problems: Problems) -> None:
    if len(plans) == 1:
        return
    for index, dataset in enumerate(fleet.intent.alluxio_datasets):
        if dataset.source.startswith(FOLDER) and dataset.through == "cluster" and dataset.marker is None:
            problems.warn(
                f"alluxio_datasets[{index}].marker",
                f"nothing proves that {dataset.source} is the same filesystem on all {len(plans)} nodes: name a file of"
                " it and what sha256sum prints of that file",
            )

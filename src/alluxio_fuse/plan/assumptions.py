"""What a plan takes for granted, by name."""

from collections.abc import Iterable, Mapping

from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.node import NodePlan


def assumptions(fleet: Fleet, plans: Iterable[NodePlan], files_given: Mapping[str, bool]) -> list[dict[str, str]]:
    """[{name, message}] of what is uncertain or assumed in this plan."""
    kinds = list(plans)
    mounted = [planned for planned in kinds if planned.kind.gpu_node]
    made: dict[str, str] = {
        "footprints": "native memory of the services was measured on JDK 17 with small sets",
        "concurrent_clients": f"a worker serves {fleet.load.clients} clients at once: two for each set in use",
    }
    if unlisted := [shape.name for shape in fleet.shapes if not shape.sizes.listed]:
        names = ", ".join(unlisted)
        made["mean_file"] = f"files of {names} are taken to be of the mean size; memory is planned for any sizes"
    if fleet.intent.alluxio_workload is None and any(planned.kind.gpus for planned in mounted):
        made["workload"] = "alluxio_workload is unset: resnet50"
    if any(planned.kind.workload_memory is None for planned in mounted):
        made["workload_memory"] = "alluxio_workload_memory is unset: training gets 75 % of each node"
    stand_ins = sorted({name for planned in mounted for name in planned.gate.stand_ins})
    if stand_ins:
        made["gpu_stand_in"] = f"{', '.join(stand_ins)}: no public figure of its own"
    gaps = sorted({gap for planned in mounted for gap in planned.gate.gaps})
    if gaps:
        made["gpu_gap"] = (
            f"no public figure for {', '.join(gaps)}: the verdict will be CANNOT TELL unless alluxio_gate is declared"
        )
    if any(planned.kind.network_mbps is None for planned in mounted) and fleet.workers > 1:
        made["network"] = "the network's speed is unknown on some nodes: the gate was not compared with it"
    if fleet.workers > 1:
        made["placement"] = "blocks placed by hash differ by up to 20 % between workers"
    if fleet.intent.alluxio_libfuse is None and not fleet.upstream:
        made["libfuse"] = "which libfuse is the faster one was measured on 2 cores: playbooks/tune.yml tries both here"
    if not all(files_given.values()):
        counted = ", ".join(name for name, given in files_given.items() if not given)
        made["shape"] = f"files and bytes of {counted} are those of the last listing"
    if not fleet.intent.alluxio_kubernetes.node_access:
        made["unseen"] = (
            "nodes were looked at from pods: /dev/fuse, distribution, what else listens or is mounted is not known,"
            " and a pod that has a GPU, or the folder as hostPath or volume, counts as its reader"
        )
    if not fleet.intent.alluxio_datasets:
        made["sample"] = "the sample's size is computed with 3 % of room, not measured"
    return [{"name": name, "message": message} for name, message in made.items()]


def shapes_given(fleet: Fleet) -> dict[str, bool]:
    """Whether the user gave the shape of each named dataset."""
    return {dataset.name: bool(dataset.files and dataset.bytes) for dataset in fleet.intent.alluxio_datasets}

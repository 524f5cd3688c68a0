"""What the plan says of the fleet as a whole."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from alluxio_fuse import names
from alluxio_fuse.plan import delivery
from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.intent.clusters import Kubernetes
from alluxio_fuse.plan.intent.datasets import Nfs
from alluxio_fuse.plan.layout import Shape
from alluxio_fuse.plan.nfs import export_of, export_options, is_export
from alluxio_fuse.plan.node import NodePlan
from alluxio_fuse.plan.parts import FleetGate, PlannedDataset, PlannedExport, PlannedGate
from alluxio_fuse.plan.places import mount_parent
from alluxio_fuse.plan.pools import planned_pools
from alluxio_fuse.plan.pvc import claim_of
from alluxio_fuse.plan.rules import fuse, understore
from alluxio_fuse.plan.rules.caches import HIGH
from alluxio_fuse.plan.schemes import ASKED, FOLDER, folder_of
from alluxio_fuse.plan.sources import source_properties
from alluxio_fuse.plan.units import format_duration, format_size
from alluxio_fuse.plan.values import Service, Value


def worker_share(fleet: Fleet, plans: Mapping[str, NodePlan]) -> float:
    """Part of all datasets that the workers of the fleet hold together; all, of a cluster that is planned elsewhere."""
    if not fleet.runs_cluster:
        return 1.0
    total = sum(shape.size for shape in fleet.shapes if shape.through_cluster)
    return min(1.0, _worker_room(plans) / total) if total else 0.0


def _worker_room(plans: Mapping[str, NodePlan]) -> float:
    return sum(planned.layout.tier_capacity * HIGH for planned in plans.values())


def fleet_values(fleet: Fleet, plans: Mapping[str, NodePlan]) -> Service:
    """The values that belong to no single node."""
    intent = fleet.intent
    held = worker_share(fleet, plans)
    share = {shape.name: held if shape.through_cluster else 0.0 for shape in fleet.shapes}
    mounted = [planned for planned in plans.values() if planned.kind.gpu_node]
    layouts = {id(planned.layout): planned for planned in mounted}
    alike, nodes = layouts.values(), Counter(id(planned.layout) for planned in mounted)
    client = {shape.name: min((p.layout.cached(shape.name) for p in alike), default=0.0) for shape in fleet.shapes}
    staged = {shape.name: min((p.layout.staged(shape.name) for p in alike), default=0.0) for shape in fleet.shapes}
    said = {
        "alluxio_version": intent.alluxio_version,
        "platform": intent.alluxio_platform,
        "java_major": intent.alluxio_java,
        "masters": list(fleet.cluster.masters),
        "workload": fleet.workload,
        "port_offset": intent.alluxio_port_offset,
    }
    reached = intent.alluxio_kubernetes.node_access and not intent.capabilities.by_fluid
    values: Service = {
        key: Value(amount, key, "as said, or its documented default", f"alluxio_{key.removeprefix('alluxio_')}")
        for key, amount in said.items()
    }
    values["image"] = delivery.image(intent, fleet.image_digest)
    values["node_access"] = Value(
        reached, "node_access", "whether the inventory reaches the nodes", "alluxio_kubernetes.node_access"
    )
    if intent.alluxio_aws.model_fields_set:
        values["aws"] = Value(intent.alluxio_aws, "aws", "as said, or its documented default", "alluxio_aws")
    if intent.capabilities.in_pods:
        values["kubernetes"] = _kubernetes(fleet)
        values["pools"] = planned_pools(plans)
    if exported := _exports(fleet):
        values["exports"] = exported
    if intent.capabilities.by_fluid:
        values["fluid"] = Value(intent.alluxio_fluid, "fluid", "as said, or its documented default", "alluxio_fluid")
    return values | {
        "datasets": _datasets(fleet),
        "residency": _residency(fleet, client, share, alike),
        "served_from": _per_dataset(
            fleet, lambda s: understore.served_from(client[s.name], share[s.name], staged[s.name])
        ),
        "gate": _gate(fleet, mounted),
        "under_store": _per_dataset(
            fleet, lambda s: understore.under_store_cost(s.files, s.blocks, s.size, share[s.name])
        ),
        "copies": _per_dataset(
            fleet,
            lambda s: understore.copies(
                fleet.workers,
                sum(nodes[key] for key, p in layouts.items() if p.layout.cached(s.name) >= 1),
                share[s.name],
            ),
        ),
        "warm_strategy": _per_dataset(
            fleet,
            lambda s: understore.warm_strategy(
                share[s.name],
                0 if staged[s.name] else client[s.name],
                own_workers=fleet.runs_cluster,
                through_cluster=s.through_cluster,
                copied=staged[s.name] == 1,
            ),
        ),
        "stage_windows": _per_dataset(
            fleet,
            lambda s: understore.stage_windows(
                s.size,
                _worker_room(plans) - sum(one.size for one in fleet.shapes if one.pin and one is not s),
                share[s.name],
                len(mounted) if staged[s.name] == 1 and s.through_cluster and fleet.runs_cluster else 0,
            ),
        ),
        "staleness": _per_dataset(fleet, _staleness),
    }


def _kubernetes(fleet: Fleet) -> Value[Kubernetes]:
    said = fleet.intent.alluxio_kubernetes
    amount = said.model_copy(update={"namespace": said.namespace or fleet.name})
    return Value(amount, "kubernetes", "as said, or its documented default", "alluxio_kubernetes")


def _staleness(shape: Shape) -> Value[int | None]:
    layers = fuse.freshness_layers(shape.caches_within)
    return understore.staleness(layers.sync, layers.metadata, layers.kernel, shape.within, shape.source_keeps)


def _per_dataset(fleet: Fleet, made: Any) -> Value[dict[str, Any]]:
    parts = {shape.name: made(shape) for shape in fleet.shapes}
    first = next(iter(parts.values()))
    why = first.why if len({part.why for part in parts.values()}) == 1 else "by dataset"
    return Value({name: part.amount for name, part in parts.items()}, first.rule, why, first.source, None, parts)


def _datasets(fleet: Fleet) -> Value[list[PlannedDataset]]:
    named = {dataset.name: dataset for dataset in fleet.intent.alluxio_datasets}
    sample = fleet.intent.alluxio_sample
    amount: list[PlannedDataset] = []
    for shape in fleet.shapes:
        dataset = named.get(shape.name)
        source = dataset.source if dataset else fleet.sample_source
        amount.append(
            PlannedDataset(
                name=shape.name,
                alluxio_path=f"/{shape.name}",
                source=source,
                folder=_folder(fleet, source, shape.name),
                listed_by=_listed_by(fleet, source),
                manifest=names.manifest(fleet.name, shape.name),
                files=shape.files,
                bytes=shape.size,
                writable=shape.writable,
                freshness=_freshness(shape.within),
                caches_freshness=_freshness(shape.caches_within),
                pin=shape.pin,
                through="cluster" if shape.through_cluster else "under_store",
                readers=dataset.readers.model_dump() if dataset else {"uid": 0, "gid": 0, "mode": "0755"},
                mount_point=f"{mount_parent(fleet, shape)['path']}/data",
                path=names.mount_point(fleet.name, shape.name),
                options=source_properties(dataset, writable=shape.writable) if dataset else {},
                s3=dataset.s3.model_dump() if dataset and dataset.s3 else None,
                oss=dataset.oss.model_dump() if dataset and dataset.oss else None,
                hdfs=dataset.hdfs.model_dump() if dataset and dataset.hdfs else None,
                marker=dataset.marker.model_dump() if dataset and dataset.marker else None,
                unreadable_names=dataset.unreadable_names if dataset else "refuse",
                sample=None
                if dataset
                else {"path": _folder(fleet, source, shape.name), **sample.model_dump(exclude={"name"})},
            )
        )
    why = (
        "the generated sample: none was named" if not named else "as declared, shapes declared or counted at the source"
    )
    return Value(amount, "datasets", why, "alluxio_datasets")


def _freshness(within: int | None) -> str:
    return "immutable" if within is None else f"within: {format_duration(within)}"


def _listed_by(fleet: Fleet, source: str) -> str:
    if source.startswith(ASKED):
        return "controller"
    return "pod" if fleet.intent.capabilities.in_pods and not source.startswith(FOLDER) else "node"


def _folder(fleet: Fleet, source: str, dataset: str) -> str:
    if export := export_of(source):
        in_pods = fleet.intent.capabilities.in_pods
        return names.claim_folder(dataset) if in_pods else names.export_folder(fleet.name, *export)
    if claim_of(source):
        return names.claim_folder(dataset)
    return folder_of(source)


def _exports(fleet: Fleet) -> Value[list[PlannedExport]] | None:
    """Exports that nodes mount; in pods Kubernetes mounts them, without options."""
    mounted = [one for one in fleet.intent.alluxio_datasets if is_export(one.source)]
    if not mounted or fleet.intent.capabilities.in_pods:
        return None
    parts = {
        one.name: export_options(said.version, said.connections, one.freshness)
        for one in mounted
        for said in [one.nfs or Nfs()]
    }
    amount = [
        PlannedExport(
            dataset=one.name,
            address=export.address,
            folder=names.export_folder(fleet.name, *export),
            options=parts[one.name].amount,
        )
        for one in mounted
        if (export := export_of(one.source))
    ]
    return Value(amount, "export_options", "by dataset", "alluxio_datasets[].nfs", None, parts)


def _residency(fleet: Fleet, client: dict[str, float], share: dict[str, float], alike: Any) -> Value[dict[str, Any]]:
    total = sum(shape.size for shape in fleet.shapes)
    spare = min((p.services["node"]["memory_page_cache"].amount for p in alike), default=0)
    amount = {
        shape.name: {
            "client_cache": round(client[shape.name], 3),
            "worker": round(share[shape.name], 3),
            "page_cache": round(min(1.0, max(0, spare) / total), 3),
        }
        for shape in fleet.shapes
    }
    return Value(
        amount, "residency", f"{format_size(total)} of datasets; on the node that holds least", "sizes of the caches"
    )


def _gate(fleet: Fleet, mounted: list[NodePlan]) -> Value[FleetGate]:
    gates: list[Value[PlannedGate]] = [planned.services["node"]["gate"] for planned in mounted]
    largest = max(gates, key=lambda value: value.amount.mb_per_s or 0, default=None)
    gate = largest.amount if largest else PlannedGate("none (no GPU node)", None, None)
    amount = FleetGate(
        gate.status,
        gate.mb_per_s,
        gate.files_per_s,
        gate.training,
        gate.planned,
        min_disk_ratio=fleet.intent.alluxio_gate_min_disk_ratio,
    )
    why = largest.why if largest else "no node mounts anything"
    return Value(
        amount, "gate", f"{why}; the largest of all nodes, each node has its own", "MLPerf Storage configurations"
    )

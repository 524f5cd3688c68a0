"""FUSE on one kind of node: one process for each dataset. Processes alike are derived once."""

from dataclasses import dataclass

from alluxio_fuse import names
from alluxio_fuse.plan import mount_settings
from alluxio_fuse.plan.budget import Grant
from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.layout import ClientCache, Shape, Stage
from alluxio_fuse.plan.nfs import export_of
from alluxio_fuse.plan.parts import PlannedCache, PlannedStage
from alluxio_fuse.plan.places import entered, folder, mount_parent
from alluxio_fuse.plan.process import process
from alluxio_fuse.plan.rules import caches, expectation, fuse, ports, properties
from alluxio_fuse.plan.rules.jvm import Jvm
from alluxio_fuse.plan.rules.stage import PER_FILE, nothing_staged, stage, stage_footprint
from alluxio_fuse.plan.schemes import FOLDER, OBJECT_STORES
from alluxio_fuse.plan.site import site
from alluxio_fuse.plan.sources import source_properties
from alluxio_fuse.plan.values import Service, Value

DERIVED = "alluxio_name and the dataset's name"


@dataclass(frozen=True, slots=True)
class FuseInputs:
    """What the FUSE process of a dataset depends on, its node's name and address apart."""

    jvm: Jvm
    grant: Grant
    cache: ClientCache
    stage: Stage | None
    layers: bool
    on_source: bool
    cpus: int
    nofile: Value[int]
    libfuse: Value[int]
    local_worker: bool


def _read_directly(fleet: Fleet, shape: Shape) -> str:
    """What a FUSE process without a cluster reads."""
    if export := export_of(shape.source):
        return f"{FOLDER}{names.export_folder(fleet.name, *export)}"
    return shape.source or fleet.sample_source


class Mounts:
    """The FUSE services of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._names = [shape.name for shape in fleet.shapes]
        self._made: dict[tuple[object, ...], Service] = {}

    def service(self, shape: Shape, inputs: FuseInputs) -> Service:
        """Everything of one FUSE process but the node's own address."""
        jvm, cache = inputs.jvm, inputs.cache
        key = (
            shape.index,
            jvm.heap.amount,
            jvm.direct.amount,
            inputs.grant,
            cache.size,
            cache.footprint,
            cache.space and (cache.space.medium, cache.space.base),
            inputs.stage,
            inputs.layers,
            inputs.on_source,
            inputs.cpus,
            inputs.nofile.amount,
            inputs.libfuse.amount,
            inputs.local_worker,
        )
        if key not in self._made:
            self._made[key] = self._derive(shape, inputs)
        return self._made[key]

    def _derive(self, shape: Shape, inputs: FuseInputs) -> Service:
        fleet = self._fleet
        name = f"fuse/{shape.name}"
        cache = inputs.cache
        parent = mount_parent(fleet, shape)
        tmpfs = cache.footprint if cache.space and cache.space.medium == "memory" else 0
        service = process(name, inputs.jvm, tmpfs, fleet, cpus=inputs.cpus, files=inputs.nofile)
        service |= {
            "alluxio_path": Value(f"/{shape.name}", "alluxio_path", "each dataset is a nested mount", DERIVED),
            "mount_parent": Value(
                parent,
                "mount_parent",
                "its copy is read in its place" if shape.staged else "its owner and mode decide who reads",
                "alluxio_datasets[].stage" if shape.staged else "alluxio_datasets[].readers",
            ),
            "mount_point": Value(
                f"{parent['path']}/data", "mount_point", "below a folder that outlives a remount", DERIVED
            ),
            "mount_options": fleet.overrides.apply(name, "mount_options", self._options(shape, inputs)),
            "libfuse": inputs.libfuse,
            "environment": fuse.environment(inputs.libfuse.amount, fleet.upstream),
            "client_cache": self._client_cache(shape, cache, inputs.stage, name),
            "metadata_cache_entries": fleet.overrides.apply(
                name, "metadata_cache_entries", fuse.metadata_cache_entries(shape.files, inputs.grant.entries)
            ),
            "translation": fuse.translation(),
            "expected": expectation.expected(
                cache.space.medium if cache.space else None,
                cache.share,
                inputs.local_worker,
                through_cluster=shape.through_cluster,
            ),
            "ports": ports.fuse_ports(shape.name, self._names, fleet.intent.alluxio_port_offset, fleet.upstream),
            "bind_address": Value(
                "127.0.0.1", "bind_address", "counters are read on the node itself", "Alluxio listens everywhere"
            ),
        }
        if shape.staged:
            service["stage"] = self._stage(shape, inputs)
        medium = cache.space.medium if cache.space else None
        service |= mount_settings.planned(name, medium, fleet, through_cluster=shape.through_cluster)
        if not shape.through_cluster:
            service["under_store"] = Value(
                _read_directly(fleet, shape),
                "under_store",
                "read without a cluster",
                "alluxio_datasets[].through",
            )
        return service | {"properties": site(self._properties(shape, inputs, service), name, fleet)}

    def _options(self, shape: Shape, inputs: FuseInputs) -> Value[list[str]]:
        if self._fleet.upstream:
            return Value([], "mount_options", "Alluxio's own defaults", "alluxio_profile: upstream")
        kernel = fuse.freshness_layers(shape.caches_within).kernel
        in_order = inputs.cache.space is None and (shape.through_cluster or not shape.mounted)
        of_image = self._fleet.runs_cluster
        libfuse = inputs.libfuse.amount
        return fuse.mount_options(libfuse, shape.writable, shape.within, kernel, in_order=in_order, of_image=of_image)

    def _stage(self, shape: Shape, inputs: FuseInputs) -> Value[PlannedStage]:
        parent, planned = entered(self._fleet, shape), inputs.stage
        if planned is None:
            least = min(stage_footprint(shape.sizes, medium) for medium in PER_FILE)
            return nothing_staged(parent, least, layers=inputs.layers, on_source=inputs.on_source)
        medium, at = planned.space.medium, f"{folder(self._fleet, planned.space, 'stage')}/{shape.name}"
        path, budget = f"{parent['path']}/data", 0 if planned.share == 1 else planned.footprint
        copy = PlannedStage(medium, at, path, parent, planned.footprint, planned.share, budget, PER_FILE[medium])
        return stage(copy, shape.size)

    def _client_cache(self, shape: Shape, cache: ClientCache, stage: Stage | None, name: str) -> Value[PlannedCache]:
        medium = cache.space.medium if cache.space else None
        path = f"{folder(self._fleet, cache.space, 'client-cache')}/{shape.name}" if cache.space else None
        staged = stage.share if stage else 0.0
        made = caches.client_cache(cache.size, medium, path, cache.share, shape.cache_need, staged=staged)
        if said := self._fleet.overrides.get(name, "client_cache_size"):
            made = made.override(made.amount, f"alluxio_overrides[{said[0]}]")
        return made

    def _properties(self, shape: Shape, inputs: FuseInputs, service: Service) -> properties.Properties:
        cache: PlannedCache = service["client_cache"].amount
        fleet = self._fleet
        client = properties.Client(
            writable=shape.writable,
            freshness=fuse.freshness_layers(shape.caches_within),
            cache_path=cache.path,
            cache_size=cache.size,
            entries=service["metadata_cache_entries"].amount,
            libfuse=inputs.libfuse.amount,
            web_port=service["ports"].amount.get("web"),
            many_workers=shape.through_cluster and (fleet.workers > 1 or not fleet.runs_cluster),
            through_cluster=shape.through_cluster,
            handed_keys=fleet.runs_cluster and (shape.source or "").startswith(OBJECT_STORES),
            source=self._source_properties(shape),
        )
        return properties.fuse(fleet.cluster, client)

    def _source_properties(self, shape: Shape) -> dict[str, str]:
        """Of a source that FUSE reads itself; the sample is a folder and needs none."""
        named = self._fleet.intent.alluxio_datasets
        if shape.through_cluster or not named:
            return {}
        return source_properties(named[shape.index], writable=shape.writable)

"""What a plan starts from: the fleet as said and as found, reduced to what values depend on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from alluxio_fuse import names
from alluxio_fuse.plan.facts import TunedMount
from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.intent.nodes import CacheTier
from alluxio_fuse.plan.layout import Shape
from alluxio_fuse.plan.media import Disk, Volume
from alluxio_fuse.plan.overrides import Overrides
from alluxio_fuse.plan.rules.caches import BLOCK, SMALLEST_TIER, tier_need
from alluxio_fuse.plan.rules.gate import GpuNeed, TrainedNeed, sample_share
from alluxio_fuse.plan.rules.jvm import Load
from alluxio_fuse.plan.rules.properties import Cluster
from alluxio_fuse.plan.schemes import FOLDER
from alluxio_fuse.plan.sizes import Sizes


@dataclass(frozen=True, slots=True)
class Kind:
    """Everything that the values of a node depend on, its name and address apart: nodes alike are planned once.

    groups: where pods are the same in a group, those of the inventory that hold GPU nodes only.
    """

    master: bool
    gpu_node: bool
    memory: int
    memory_limit: int | None
    cpus: float
    gpus: tuple[tuple[str, int], ...]
    gpu_needs: tuple[GpuNeed, ...]
    workload_memory: int | None
    workload_cpus: float | None
    tiers_said: str
    volumes: tuple[Volume, ...]
    disks: tuple[Disk, ...]
    nofile: int
    network_mbps: int | None
    libfuse: frozenset[int]
    fuse_device: bool
    layers: bool
    architecture: str
    groups: tuple[str, ...]
    tiers: tuple[CacheTier, ...] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its name, its address, which kind it is, and what was tuned on it, by dataset."""

    name: str
    address: str
    bind: str
    kind: Kind
    tuned: Mapping[str, TunedMount] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Fleet:
    """What all nodes share.

    scarce_cpus: some node has too few processors for the chart's own requests. trained: what GPUs reached in trainings.
    image_digest: of the image that a run pushed or imported. caches_rests: whether what copies of parts leave out may
    have client caches.
    """

    intent: FleetIntent
    shapes: tuple[Shape, ...]
    cluster: Cluster
    masters: int
    workers: int
    load: Load
    overrides: Overrides
    scarce_cpus: bool = False
    trained: tuple[TrainedNeed, ...] = ()
    image_digest: str = ""
    caches_rests: bool = True

    @cached_property
    def worker_need(self) -> int:
        """Bytes of one worker's tiers, so that all workers together hold every dataset, and the room for others."""
        held = [shape for shape in self.shapes if shape.through_cluster and self.workers]
        parts = [tier_need(shape.size, shape.blocks, self.workers) for shape in held]
        if not parts:
            return 0
        headroom = self.intent.alluxio_room
        blocks = Sizes.unlisted(headroom.files, headroom.bytes).parts(BLOCK)
        return max(sum(parts), tier_need(headroom.bytes, blocks, self.workers)) + SMALLEST_TIER

    @property
    def runs_cluster(self) -> bool:
        """Whether masters and workers are this deployment's own; platform host runs FUSE only."""
        return self.intent.capabilities.runs_cluster

    @cached_property
    def sample_share(self) -> float:
        """See :func:`.rules.gate.sample_share`, of the dataset that has most: it decides whether files/s count."""
        return max(sample_share(shape.sizes) for shape in self.shapes)

    @property
    def name(self) -> str:
        return self.intent.alluxio_name

    @property
    def state_dir(self) -> str:
        return names.state_dir(self.name)

    @property
    def sample_source(self) -> str:
        """Where the generated sample is made."""
        return f"{FOLDER}{self.state_dir}/sample"

    @property
    def mount_root(self) -> str:
        return names.mount_root(self.name)

    @property
    def upstream(self) -> bool:
        return self.intent.alluxio_profile == "upstream"

    @property
    def workload(self) -> str:
        return self.intent.alluxio_workload or "resnet50"

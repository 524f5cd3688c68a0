"""Amounts of a plan that have parts of their own, with a type in place of a mapping."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from alluxio_fuse.plan.intent.parts import Medium


@dataclass(frozen=True, slots=True)
class PlannedCache:
    """A dataset's client cache on a node; sizes in bytes. A node without one has None as `medium` and `path`.

    of_rest: whether it holds what the copy of a part leaves out, and all of that.
    """

    enabled: bool
    medium: Medium | None
    path: str | None
    size: int
    page_size: int
    of_rest: bool = False


@dataclass(frozen=True, slots=True)
class PlannedTier:
    """A folder of a worker's cache: `quota` in bytes, watermarks as parts of that."""

    medium: Medium
    path: str
    quota: int
    high: float
    low: float


@dataclass(frozen=True, slots=True)
class PlannedGate:
    """What a node must read, 10^6 bytes and files per second; None where that is not known or not asked for.

    training: what a check emulates, {accelerators, batch, compute_s, utilisation}. planned: figures that GPUs and
    workload ask for, where less was declared.
    """

    status: str
    mb_per_s: float | None
    files_per_s: float | None
    training: dict[str, float] | None = None
    planned: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class FleetGate(PlannedGate):
    """The largest gate of all nodes. min_disk_ratio: least speed over the local disk's, where that is declared."""

    min_disk_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """A dataset's copy on a node: `folder` on the medium ("none" and "" without one), and `path` where it is read.

    parent: the folder above the path, which readers enter, {path, uid, gid, mode}. footprint: bytes of the medium.
    share: part of the dataset's bytes. budget: bytes that a part may take, 0 where the whole is copied or nothing.
    per_file: bytes that a file takes beside its blocks.
    """

    medium: str
    folder: str
    path: str
    parent: dict[str, Any]
    footprint: int
    share: float = 1.0
    budget: int = 0
    per_file: int = 0


@dataclass(frozen=True, slots=True)
class PlannedKeeper:
    """The pod that keeps a node's copies: `memory` in bytes, of which `tmpfs` for these; `cpu_request` in 1/1000."""

    memory: int
    tmpfs: int
    cpu_request: int


@dataclass(frozen=True, slots=True)
class PlannedPool:
    """GPU nodes of a Kubernetes cluster whose pods are the same. The first pool of a fleet has the name ""."""

    name: str
    nodes: list[str]


@dataclass(frozen=True, slots=True)
class PlannedDataset:
    """A dataset as the plan of a fleet has it.

    folder: in which nodes see its files, or our pods if they mount it; "" of an object store. listed_by: who makes its
    `manifest`, a file on nodes: node, pod or controller. caches_freshness: what is left of `freshness` for Alluxio and
    the kernel where a mount of the source keeps attributes, too. through: what its FUSE processes read, `cluster` or
    `under_store`. mount_point: theirs; `path` is where readers read. options: properties of the namespace mount. s3,
    oss, hdfs, marker: as declared, None where they are not. sample: how it is made, where none was named.
    """

    name: str
    alluxio_path: str
    source: str
    folder: str
    listed_by: str
    manifest: str
    files: int
    bytes: int
    writable: bool
    freshness: str
    caches_freshness: str
    pin: bool
    through: str
    readers: dict[str, Any]
    mount_point: str
    path: str
    options: dict[str, str]
    s3: dict[str, Any] | None
    oss: dict[str, Any] | None
    hdfs: dict[str, Any] | None
    marker: dict[str, Any] | None
    unreadable_names: str
    sample: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class PlannedExport:
    """An export of NFS that nodes mount at `folder`; address: as mount(8) takes it."""

    dataset: str
    address: str
    folder: str
    options: list[str]


def plain(amount: Any) -> Any:
    """An amount as plan.json holds it: parts of a gate that there are not are left out."""
    if isinstance(amount, list):
        return [plain(one) for one in amount]
    if isinstance(amount, BaseModel):
        return amount.model_dump()
    if isinstance(amount, PlannedGate):
        found = asdict(amount)
        return {key: found[key] for key in found if key not in ("training", "planned") or found[key] is not None}
    parts = PlannedCache | PlannedDataset | PlannedExport | PlannedKeeper | PlannedPool | PlannedStage | PlannedTier
    return asdict(amount) if isinstance(amount, parts) else amount

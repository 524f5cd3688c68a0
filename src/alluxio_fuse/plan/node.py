"""The plan of one kind of node."""

from dataclasses import dataclass, replace
from typing import Any

from alluxio_fuse.plan.budget import Budget, budget
from alluxio_fuse.plan.fleet import Fleet, Kind
from alluxio_fuse.plan.layout import ClientCache, Layout, Rests, Shape, Space, Tier, allocate
from alluxio_fuse.plan.media import coarse, spaces
from alluxio_fuse.plan.mounts import FuseInputs, Mounts
from alluxio_fuse.plan.parts import PlannedTier
from alluxio_fuse.plan.places import folder
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.process import FUSE_UID, SERVICE_UID, nofile, process
from alluxio_fuse.plan.rules import caches, fuse, gate, jvm, memory
from alluxio_fuse.plan.rules.stage import keeper, stage_footprint
from alluxio_fuse.plan.schemes import OBJECT_STORES
from alluxio_fuse.plan.units import MIB, at_least, at_most, format_size
from alluxio_fuse.plan.values import Service, Value


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One kind of node, planned: services without what differs between hosts."""

    kind: Kind
    example: str
    budget: Budget
    media: tuple[Space, ...]
    layout: Layout
    gate: gate.NodeGate
    services: dict[str, Service]
    hosts_worker: bool
    cpus: int


def plan_node(
    kind: Kind, example: str, fleet: Fleet, mounts: Mounts, problems: Problems, *, divided: Budget, hosts_worker: bool
) -> NodePlan:
    """Choose media, lay out caches, and derive every service. `example`: their name; `divided`: their memory."""
    if divided.caches < 0:
        _refuse_memory(kind, example, fleet, divided, problems, worker=hosts_worker)
    media, findings, warnings = spaces(
        kind.tiers,
        kind.volumes,
        kind.disks,
        memory=max(0, divided.caches),
        state_dir=fleet.state_dir,
        in_pods=fleet.intent.capabilities.in_pods,
    )
    for finding in findings:
        problems.add(replace(finding, path=f"{example}: {finding.path}"))
    for path, message in warnings:
        problems.warn(f"{example}: {path}", message)
    shapes = fleet.shapes if kind.gpu_node else ()
    caps = {shape.name: divided.grants[shape.name].cache_cap if shape.through_cluster else 0.0 for shape in shapes}
    client_spaces = _client_spaces(media, fleet)
    layout = allocate(
        media,
        shapes,
        fleet.worker_need,
        caps,
        hosts_worker=hosts_worker,
        alone=fleet.workers == 1,
        layers=_stages_parts(kind, fleet),
        client_spaces=client_spaces,
        rests=_rests(fleet),
    )
    for shape in shapes:
        if shape.stage == "require" and shape.name not in layout.stages:
            copied_only = shape.source.startswith(OBJECT_STORES) and not shape.through_cluster
            parts = _stages_parts(kind, fleet) and not copied_only
            _refuse_stage(shape, example, media, layout, problems, parts=parts)
    if kind.gpu_node:
        _override_layout(layout, client_spaces, fleet)
    training = memory.cpus_workload(kind.cpus, kind.workload_cpus, kind.gpu_node)
    cpus = jvm.active_cpus(kind.cpus, training.amount).amount
    declared = fleet.intent.alluxio_gate
    node_gate = gate.node_gate(
        kind.gpus,
        fleet.workload,
        fleet.sample_share,
        (declared.mb_per_s, declared.files_per_s) if declared else None,
        kind.gpu_needs,
        trained=fleet.trained,
    )
    services: dict[str, Service] = {"node": _node_service(kind, fleet, divided, layout)}
    services["node"]["gate"] = gate.gate(node_gate, kind.gpus, fleet.workload)
    services["node"]["cpus_workload"] = training
    files = nofile(kind.nofile)
    in_memory = sum(tier.footprint for tier in layout.tiers if tier.space.medium == "memory")
    for name in ("master", "job_master", "worker", "job_worker"):
        if name in divided.jvms:
            tmpfs = in_memory if name == "worker" else 0
            services[name] = process(name, divided.jvms[name], tmpfs, fleet, cpus=cpus, files=files)
    if hosts_worker:
        services["worker"]["tiers"] = _tiers(layout, fleet)
    there, libfuse = _libfuse_there(kind, fleet), _libfuse(kind, fleet)
    services["node"]["libfuse"] = _node_libfuse(libfuse, of_image=fleet.runs_cluster)
    if kind.gpu_node and libfuse.amount not in there:
        problems.refuse(
            f"{example}: alluxio_libfuse",
            libfuse.amount,
            f"Alluxio's library loads libfuse.so.2 or libfuse3.so.3, and of these the node can have version"
            f" {' and '.join(map(str, sorted(there))) or 'none'}",
            f"alluxio_libfuse: {max(there)}" if there else "another distribution, or platform containers",
            "libfuse_there",
        )
    for shape in shapes:
        name = f"fuse/{shape.name}"
        cached = layout.client_caches[shape.name].space is not None
        inputs = FuseInputs(
            jvm=divided.jvms[name],
            grant=divided.grants[shape.name],
            cache=layout.client_caches[shape.name],
            stage=layout.stages.get(shape.name),
            layers=_stages_parts(kind, fleet),
            on_source=any(shape.source in space.sources for space in media),
            cpus=cpus,
            nofile=files,
            libfuse=_libfuse(kind, fleet, long_reads=cached and not shape.writable),
            local_worker=hosts_worker,
        )
        services[name] = mounts.service(shape, inputs)
    return NodePlan(kind, example, divided, media, layout, node_gate, services, hosts_worker, cpus)


def _stages_parts(kind: Kind, fleet: Fleet) -> bool:
    """Whether a node's kernel shows a part of a set before the rest, and somebody there heals that after FUSE died."""
    return kind.layers and fleet.intent.capabilities.stages


def _refuse_stage(
    shape: Shape, example: str, media: tuple[Space, ...], layout: Layout, problems: Problems, *, parts: bool
) -> None:
    """A dataset that is to be staged whole, and fits on no medium beside those staged before it."""
    staged = layout.stages.values()
    left = {space: space.capacity - sum(one.footprint for one in staged if one.space == space) for space in media}
    rooms = [
        f"nothing on {space.name}, where the source is"
        if shape.source in space.sources
        else f"{format_size(max(0, free))} on {space.name}"
        for space, free in left.items()
    ]
    found = ", ".join(rooms) or "none"
    need = max((stage_footprint(shape.sizes, space.medium) for space in media), default=shape.size)
    problems.refuse(
        f"{example}: alluxio_datasets[{shape.index}].stage",
        "require",
        f"the whole set takes {format_size(need)} on one medium, and what is left is {found}",
        "add a larger disk to alluxio_cache_tiers, or "
        + ("write stage: auto, which stages as much as fits" if parts else "remove stage"),
    )


def _refuse_memory(
    kind: Kind, example: str, fleet: Fleet, divided: Budget, problems: Problems, *, worker: bool
) -> None:
    short, total, training = -divided.caches, divided.total.amount, divided.workload.amount
    arithmetic = memory.sum_text(divided.arithmetic())
    over = f"{arithmetic}; the node has {format_size(total)}, {format_size(short)} too little"
    said = fleet.overrides.of_memory()
    if said and budget(kind, replace(fleet, overrides=fleet.overrides.without(said)), hosts_worker=worker).caches >= 0:
        for name in said:
            problems.refuse(
                f"{example}: alluxio_overrides[{name}]",
                format_size(fleet.overrides.said(name)),
                over,
                f"leave it to the rule, or {at_least(short)} less of it",
                "memory_counted_once",
            )
        return
    if training > short:
        given = training
        while given > 0 and (lack := _lack(replace(kind, workload_memory=given), fleet, worker)) > 0:
            given = max(0, given - lack)
        remedy = f"alluxio_workload_memory: {at_most(given)} or less"
        problems.refuse(
            f"{example}: alluxio_workload_memory", format_size(training), over, remedy, "memory_counted_once"
        )
        return
    enough = total
    while (lack := _lack(replace(kind, memory=coarse(enough, enough), memory_limit=None), fleet, worker)) > 0:
        enough += max(lack, 64 * MIB)
    remedy = f"a node with at least {at_least(enough)}, or fewer datasets"
    problems.refuse(f"{example}: memory", format_size(total), over, remedy, "memory_counted_once")


def _lack(kind: Kind, fleet: Fleet, worker: bool) -> int:
    """Bytes that a kind of node lacks; below zero: left for caches."""
    return -budget(kind, fleet, hosts_worker=worker).caches


def _client_spaces(media: tuple[Space, ...], fleet: Fleet) -> tuple[Space, ...]:
    """Media of client caches: on a disk, what a FUSE pod of Fluid's leaves would outlive its Dataset."""
    return tuple(space for space in media if space.medium == "memory") if fleet.intent.capabilities.by_fluid else media


def _rests(fleet: Fleet) -> Rests:
    """What copies leave out takes nothing of others, and comes before a worker that serves this node and set alone."""
    if not fleet.caches_rests:
        return "never"
    return "before the worker" if fleet.load.nodes == len(fleet.shapes) == 1 else "last"


def _override_layout(layout: Layout, media: tuple[Space, ...], fleet: Fleet) -> None:
    for shape in fleet.shapes:
        said = fleet.overrides.get(f"fuse/{shape.name}", "client_cache_size")
        if said is not None:
            size = int(said[1])
            have = layout.client_caches[shape.name]
            rest = layout.rest(shape)
            space = (have.space or max(media, key=lambda space: space.capacity, default=None)) if size else None
            taken = caches.client_cache_footprint(size, rest.pages, rest.size) if space else 0
            layout.client_caches[shape.name] = ClientCache(
                space, size, taken, caches.client_cache_share(size, rest.size)
            )
    quota = fleet.overrides.get("worker", "tier_quota")
    if quota is not None and layout.tiers:
        first, *others = layout.tiers
        layout.tiers = [Tier(first.space, quota[1], caches.tier_footprint(quota[1], first.space.medium)), *others]


def _libfuse_there(kind: Kind, fleet: Fleet) -> frozenset[int]:
    """Versions that FUSE can load: the node's where it runs on the node itself, else those of the image."""
    return frozenset({2, 3}) if fleet.runs_cluster else kind.libfuse


def _libfuse(kind: Kind, fleet: Fleet, *, long_reads: bool = False) -> Value[int]:
    return fuse.libfuse_version(
        fleet.intent.alluxio_libfuse,
        _libfuse_there(kind, fleet),
        fleet.upstream,
        long_reads=long_reads and fleet.runs_cluster,
    )


def _node_libfuse(chosen: Value[int], *, of_image: bool) -> Value[list[int]]:
    """Versions of libfuse that the node itself must have."""
    if not of_image:
        return Value([chosen.amount], "libfuse", "FUSE runs on the node itself", chosen.source)
    return Value([], "libfuse", "FUSE runs from the image; the node has the kernel's part only", "alluxio_platform")


def _tiers(layout: Layout, fleet: Fleet) -> Value[list[PlannedTier]]:
    folders = [(tier.space.medium, folder(fleet, tier.space, "tier"), tier.quota) for tier in layout.tiers]
    return caches.tiers(folders, layout.worker_need, with_room=fleet.intent.alluxio_room.bytes > 0)


def _node_service(kind: Kind, fleet: Fleet, divided: Budget, layout: Layout) -> Service:
    services = divided.services + layout.memory
    cached = bool(layout.client_caches) and all(cache.space for cache in layout.client_caches.values())
    in_memory = sum(stage.footprint for stage in layout.stages.values() if stage.space.medium == "memory")
    in_pods = fleet.intent.capabilities.in_pods
    return {
        "state_dir": Value(fleet.state_dir, "state_dir", "everything of ours that is not a cache", "alluxio_name"),
        "mount_root": Value(fleet.mount_root, "mount_root", "mounts are below it", "alluxio_name"),
        "memory_total": divided.total,
        "memory_reserve": divided.reserve,
        "memory_workload": divided.workload,
        "memory_services": memory.memory_services(services),
        "memory_page_cache": memory.memory_page_cache(divided.available - services, divided.page_cache.amount),
        "level": memory.level(divided.level),
        "cache_media": _media(fleet, layout),
        "read_ahead_kb": fleet.overrides.apply("node", "read_ahead_kb", fuse.disk_read_ahead(fleet.upstream, cached)),
        "nofile": nofile(kind.nofile),
        **({"keeper": keeper(divided.keeper, in_memory)} if divided.keeper and in_pods else {}),
    }


def alike(other: NodePlan, model: NodePlan, fleet: Fleet) -> NodePlan:
    """A node with the worker and the FUSE of another one, as those of a pool have the same.

    What it has left is page cache, the fastest level there is.
    """
    if other is model:
        return other
    own = {name: service for name, service in other.services.items() if name in ("master", "job_master")}
    shared = {name: service for name, service in model.services.items() if name not in ("node", "master", "job_master")}
    jvms = {name: other.budget.jvms[name] for name in own} | {name: model.budget.jvms[name] for name in shared}
    divided = replace(other.budget, jvms=jvms, grants=model.budget.grants)
    node = {**other.services["node"], **_node_service(other.kind, fleet, divided, model.layout)}
    services = {"node": node, **own, **shared}
    return replace(other, budget=divided, layout=model.layout, services=services, cpus=model.cpus)


def fits(planned: NodePlan) -> bool:
    """Whether the node has the memory and the media that its layout takes."""
    there = {(space.medium, space.base): space.capacity for space in planned.media}
    disks = [space for space in planned.layout.spaces if space.medium != "memory"]
    return planned.layout.memory <= planned.budget.caches and all(
        planned.layout.used(space) <= there.get((space.medium, space.base), 0) for space in disks
    )


def _media(fleet: Fleet, layout: Layout) -> Value[list[dict[str, Any]]]:
    """Folders, tmpfs and disks that hold caches; one entry for each thing to be made, disks first."""
    made: list[dict[str, Any]] = []
    used: dict[Space, int] = {}
    for cache in layout.client_caches.values():
        if cache.space:
            used[cache.space] = used.get(cache.space, 0) + cache.footprint
    folders = [("tier", tier.space, tier.footprint, SERVICE_UID) for tier in layout.tiers]
    folders += [("client-cache", space, size, FUSE_UID) for space, size in used.items()]
    staged: dict[Space, int] = {}
    for stage in layout.stages.values():
        staged[stage.space] = staged.get(stage.space, 0) + stage.footprint
    folders += [("stage", space, size, FUSE_UID) for space, size in staged.items()]
    if fleet.intent.capabilities.in_pods:  # memory is a volume of the pod, but for copies, which outlive theirs
        folders = [one for one in folders if one[1].medium != "memory" or one[0] == "stage"]
    for use, space, size, owner in folders:
        kind = "tmpfs" if space.medium == "memory" else "directory"
        path = folder(fleet, space, use)
        made.append(
            {
                "name": f"{use}-{space.name}",
                "medium": space.medium,
                "kind": kind,
                "path": path,
                "size": size,
                "owner": owner,
                "mode": "0700",
            }
        )
    disks = [
        {
            "name": space.name,
            "medium": space.medium,
            "kind": "device",
            "device": space.device,
            "path": space.base,
            "size": space.capacity,
            "owner": SERVICE_UID,
            "mode": "0755",
            **({"wipe": True} if space.wipe else {}),
        }
        for space in dict.fromkeys(space for _, space, _, _ in folders)
        if space.device
    ]
    return Value(
        [*disks, *made],
        "cache_media",
        "each medium holds only what is ours, in a folder of our name",
        "tmpfs keeps to its size, ramfs does not",
    )

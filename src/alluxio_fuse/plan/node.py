"""The plan of one kind of node."""

from dataclasses import dataclass, replace
from typing import Any

from alluxio_fuse.plan.budget import Budget, budget
from alluxio_fuse.plan.fleet import Fleet, Kind
from alluxio_fuse.plan.layout import ClientCache, Layout, Room, Tier, allocate
from alluxio_fuse.plan.media import rooms
from alluxio_fuse.plan.overrides import Overrides
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.rules import caches, fuse, gate, jvm, memory, ports
from alluxio_fuse.plan.units import MIB, format_size
from alluxio_fuse.plan.values import Service, Value

SERVICE_USER = "1000:1000"
FUSE_USER = "0:0"
WANTED_FILES = 65536


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One kind of node, planned: services without what differs between hosts."""

    kind: Kind
    budget: Budget
    layout: Layout
    gates: dict[str, gate.NodeGate]
    services: dict[str, Service]
    hosts_worker: bool
    cpus: int


def plan_node(kind: Kind, fleet: Fleet, overrides: Overrides, problems: Problems, hosts_worker: bool) -> NodePlan:
    """Divide memory, choose media, lay out caches, and derive every service."""
    divided = budget(kind, fleet, overrides, hosts_worker)
    if divided.caches < 0:
        _refuse_memory(divided, problems)
    media, findings, warnings = rooms(
        kind.tiers, kind.volumes, kind.disks, max(0, divided.caches), fleet.state_dir, fleet.intent.alluxio_platform
    )
    for finding in findings:
        problems.add(finding)
    for path, message in warnings:
        problems.warn(path, message)
    shapes = fleet.shapes if kind.gpu_node else ()
    caps = {shape.name: divided.grants[shape.name].cache_cap if shape.through_cluster else 0.0 for shape in shapes}
    layout = allocate(media, shapes, fleet.workers, caps, hosts_worker and kind.gpu_node)
    if kind.gpu_node:
        _override_layout(layout, media, fleet, overrides)
    cpus = jvm.active_cpus(kind.cpus, memory.cpus_workload(kind.cpus, kind.workload_cpus, kind.gpu_node).amount)
    services: dict[str, Service] = {"node": _node_service(kind, fleet, divided, layout, overrides)}
    nofile = _nofile(kind.nofile)
    java = Value(fleet.intent.alluxio_java, "java_major", "the JDK of the image", "alluxio_java")
    for name, process in divided.jvms.items():
        service = _process(name, process, fleet, overrides, divided, layout, cpus.amount)
        services[name] = service | {"nofile": overrides.apply(name, "nofile", nofile), "java_major": java, "cpus": cpus}
    for index, shape in enumerate(shapes):
        name = f"fuse/{shape.name}"
        services[name] |= _fuse_service(index, kind, fleet, divided, layout, overrides)
    if "worker" in services:
        services["worker"]["tiers"] = _tiers(layout, fleet)
    gates = {shape.name: gate.node_gate(kind.gpus, fleet.workload, shape.mean, _declared(fleet)) for shape in shapes}
    return NodePlan(kind, divided, layout, gates, services, hosts_worker and kind.gpu_node, cpus.amount)


def folder(fleet: Fleet, room: Room, use: str) -> str:
    """Our folder on a medium: below the state folder it needs no name of its own."""
    if room.medium == "memory":
        return f"{fleet.state_dir}/{'tier/memory' if use == 'tier' else use}"
    if room.base.startswith(f"{fleet.state_dir}/"):
        return f"{room.base}/{use}"
    return f"{room.base}/{fleet.name}/{use}"


def _refuse_memory(divided: Budget, problems: Problems) -> None:
    parts = divided.arithmetic()
    short = -divided.caches
    over = (
        f"{memory.sum_text(parts)}; the node has {format_size(divided.total.amount)}, {format_size(short)} too little"
    )
    if divided.workload.amount > short:
        problems.refuse(
            "alluxio_workload_memory",
            format_size(divided.workload.amount),
            over,
            f"alluxio_workload_memory: {(divided.workload.amount - short) // MIB}Mi or less",
            "memory_counted_once",
        )
    else:
        needed = sum(parts.values())
        problems.refuse(
            "memory",
            format_size(divided.total.amount),
            over,
            f"a node with at least {format_size(needed)}, or fewer datasets on it",
            "memory_counted_once",
        )


def _override_layout(layout: Layout, media: tuple[Room, ...], fleet: Fleet, overrides: Overrides) -> None:
    for shape in fleet.shapes:
        said = overrides.get(f"fuse/{shape.name}", "client_cache_size")
        if said is not None:
            have = layout.client_caches[shape.name]
            room = (have.room or max(media, key=lambda room: room.capacity, default=None)) if said[1] else None
            taken = caches.client_cache_footprint(said[1], shape.files, shape.size) if room else 0
            size = said[1] if room else 0
            share = caches.client_cache_share(size, shape.size)
            layout.client_caches[shape.name] = ClientCache(room, size, taken, share)
    quota = overrides.get("worker", "tier_quota")
    if quota is not None and layout.tiers:
        first, *others = layout.tiers
        layout.tiers = [Tier(first.room, quota[1], caches.tier_footprint(quota[1], first.room.medium)), *others]


def _declared(fleet: Fleet) -> tuple[float | None, float | None] | None:
    said = fleet.intent.alluxio_gate
    return (said.mb_per_s, said.files_per_s) if said else None


def _nofile(hard: int) -> Value[int]:
    why = (
        f"{WANTED_FILES} for pages, blocks and connections"
        if hard >= WANTED_FILES
        else f"the node's hard limit is {hard}"
    )
    return Value(min(WANTED_FILES, hard), "nofile", why, "facts of the node")


def _process(
    name: str, process: jvm.Jvm, fleet: Fleet, overrides: Overrides, divided: Budget, layout: Layout, cpus: int
) -> Service:
    """What every Java service has."""
    role, _, dataset = name.partition("/")
    tmpfs = 0
    if role == "worker":
        tmpfs = sum(tier.footprint for tier in layout.tiers if tier.room.medium == "memory")
    elif dataset:
        cache = layout.client_caches[dataset]
        tmpfs = cache.footprint if cache.room and cache.room.medium == "memory" else 0
    heap, direct = process.heap, process.direct
    store = (
        f"{fleet.state_dir}/conf/truststore.p12"
        if any(d.s3 and d.s3.ca_file for d in fleet.intent.alluxio_datasets)
        else None
    )
    flags = jvm.jvm_flags(heap.amount, direct.amount, fleet.intent.alluxio_java, cpus, store)
    if extra := overrides.get(name, "jvm_flags"):
        flags = flags.override([*flags.amount, *extra[1]], f"alluxio_overrides[{extra[0]}]")
    limit = jvm.container_memory(heap.amount, direct.amount, process.native.amount, tmpfs)
    user = FUSE_USER if role == "fuse" else SERVICE_USER
    why = "only root may mount; readers are let in by the folder above" if role == "fuse" else "no privileges needed"
    return {
        "heap": heap,
        "direct_memory": direct,
        "native_memory": process.native,
        "tmpfs_memory": Value(
            tmpfs, "tmpfs_memory", "tmpfs pages that this service writes", "kernel: charged to the writer"
        ),
        "container_memory": overrides.apply(name, "container_memory", limit),
        "jvm_flags": flags,
        "user": Value(user, "user", why, "alluxio's image: uid 1000"),
    }


def _tiers(layout: Layout, fleet: Fleet) -> Value[list[dict[str, Any]]]:
    amount = [
        {
            "medium": tier.room.medium,
            "path": folder(fleet, tier.room, "tier"),
            "quota": tier.quota,
            "high": caches.HIGH,
            "low": caches.LOW,
        }
        for tier in layout.tiers
    ]
    whole = layout.tier_capacity >= layout.worker_need
    need = format_size(layout.worker_need)
    why = (
        f"this worker's part of all datasets, {need}"
        if whole
        else f"what is left; {need} would hold this worker's part"
    )
    return Value(amount, "tiers", why, "one tier where one medium holds it, fastest first; tmpfs, never ramfs")


def _fuse_service(
    index: int, kind: Kind, fleet: Fleet, divided: Budget, layout: Layout, overrides: Overrides
) -> Service:
    shape = fleet.shapes[index]
    name = f"fuse/{shape.name}"
    cache = layout.client_caches[shape.name]
    fresh = fuse.freshness_layers(shape.within)
    there = frozenset({2, 3}) if fleet.intent.alluxio_platform != "host" else _there(kind.sonames)
    libfuse = fuse.libfuse_version(fleet.intent.alluxio_libfuse, there, fleet.upstream)
    if fleet.upstream:
        options: Value[list[str]] = Value([], "mount_options_of", "Alluxio's own defaults", "alluxio_profile: upstream")
    else:
        options = fuse.mount_options_of(libfuse.amount, shape.writable, shape.within, fresh.kernel)
    path = f"{folder(fleet, cache.room, 'client-cache')}/{shape.name}" if cache.room else None
    medium = cache.room.medium if cache.room else "nothing"
    sized = caches.client_cache(cache.size, medium, cache.share >= 1, shape.cache_need)
    if said := overrides.get(name, "client_cache_size"):
        sized = sized.override(said[1], f"alluxio_overrides[{said[0]}]")
    client: Value[dict[str, Any]] = replace(
        sized,
        amount={  # type: ignore[arg-type]
            "enabled": cache.room is not None,
            "medium": medium if cache.room else None,
            "path": path,
            "size": cache.size,
            "page_size": caches.PAGE,
        },
    )
    dataset = next((known for known in fleet.intent.alluxio_datasets if known.name == shape.name), None)
    readers = {"uid": 0, "gid": 0, "mode": "0755"} if dataset is None else dataset.readers.model_dump()
    root = f"{fleet.mount_root}/{shape.name}"
    derived = "alluxio_name and the dataset's name"
    entries = fuse.metadata_cache_entries(shape.files, divided.grants[shape.name].entries)
    return {
        "alluxio_path": Value(f"/{shape.name}", "alluxio_path", "each dataset is a nested mount", derived),
        "mount_parent": Value(
            {"path": root, **readers}, "mount_parent", "its owner and mode decide who reads", "readers"
        ),
        "mount_point": Value(f"{root}/data", "mount_point", "below a folder that outlives a remount", derived),
        "mount_options": overrides.apply(name, "mount_options", options),
        "libfuse_version": libfuse,
        "environment": Value(
            {"MAX_IDLE_THREADS": str(fuse.IDLE_THREADS)},
            "environment",
            "read by a patched libfuse 2",
            "Alluxio's image",
        ),
        "client_cache": client,
        "metadata_cache_entries": overrides.apply(name, "metadata_cache_entries", entries),
        "ports": ports.fuse_ports(index, fleet.intent.alluxio_port_offset, fleet.upstream),
        "bind_address": Value(
            "127.0.0.1", "bind_address", "counters are read on the node itself", "Alluxio listens everywhere"
        ),
    }


def _there(sonames: frozenset[str]) -> frozenset[int]:
    known = {"libfuse.so.2": 2, "libfuse3.so.3": 3}
    return frozenset(known[soname] for soname in sonames if soname in known)


def _node_service(kind: Kind, fleet: Fleet, divided: Budget, layout: Layout, overrides: Overrides) -> Service:
    tmpfs = sum(
        cache.footprint for cache in layout.client_caches.values() if cache.room and cache.room.medium == "memory"
    )
    tmpfs += sum(tier.footprint for tier in layout.tiers if tier.room.medium == "memory")
    services = divided.services + tmpfs
    left = divided.available - services
    cached = bool(layout.client_caches) and all(cache.room for cache in layout.client_caches.values())
    owned = "this deployment's layout"
    return {
        "state_dir": Value(fleet.state_dir, "state_dir", "everything of ours that is not a cache", "alluxio_name"),
        "mount_root": Value(fleet.mount_root, "mount_root", "mounts are below it", "alluxio_name"),
        "memory_total": divided.total,
        "memory_reserve": divided.reserve,
        "memory_workload": divided.workload,
        "memory_services": Value(services, "memory_services", "all containers of ours, their tmpfs included", owned),
        "memory_page_cache": Value(
            left,
            "memory_page_cache",
            f"what is left, at least {format_size(divided.page_cache.amount)}",
            "total - reserve - training - services",
        ),
        "level": Value(divided.level, "level", _LEVELS[divided.level], "measured footprints of the services"),
        "cache_media": _media(fleet, layout),
        "read_ahead_kb": overrides.apply("node", "read_ahead_kb", fuse.read_ahead(fleet.upstream, cached)),
        "max_background": overrides.apply("node", "max_background", fuse.max_background(fleet.upstream)),
        "nofile": _nofile(kind.nofile),
        "gate": gate.gate(
            gate.node_gate(kind.gpus, fleet.workload, fleet.shapes[0].mean, _declared(fleet)), kind.gpus, fleet.workload
        ),
    }


_LEVELS: dict[str, str] = {
    "full": "services take at most half of what training leaves",
    "lean": "small node: small heaps, and metadata as far as memory goes",
    "upstream": "Alluxio's own heaps, bounded by what the node has",
}


def _media(fleet: Fleet, layout: Layout) -> Value[list[dict[str, Any]]]:
    made: list[dict[str, Any]] = []
    devices: dict[str, Room] = {}

    def add(use: str, room: Room, path: str, size: int, owner: str) -> None:
        if room.device:
            devices[room.name] = room
        kind = "tmpfs" if room.medium == "memory" else "directory"
        made.append(
            {
                "name": f"{use}-{room.name}",
                "medium": room.medium,
                "kind": kind,
                "path": path,
                "size": size,
                "owner": owner,
                "mode": "0700",
            }
        )

    for tier in layout.tiers:
        add("tier", tier.room, folder(fleet, tier.room, "tier"), tier.footprint, SERVICE_USER)
    used = [cache for cache in layout.client_caches.values() if cache.room]
    for room in dict.fromkeys(cache.room for cache in used if cache.room):
        size = sum(cache.footprint for cache in used if cache.room == room)
        add("client-cache", room, folder(fleet, room, "client-cache"), size, FUSE_USER)
    disks = [
        {
            "name": room.name,
            "medium": room.medium,
            "kind": "device",
            "device": room.device,
            "path": room.base,
            "size": room.capacity,
            "owner": SERVICE_USER,
            "mode": "0755",
        }
        for room in devices.values()
    ]
    return Value(
        [*disks, *made],
        "cache_media",
        "each medium holds only what is ours, in a folder of our name",
        "tmpfs keeps to its size, ramfs does not",
    )

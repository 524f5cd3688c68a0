"""What every Java service has: memory, flags, limits, user."""

import re
from typing import cast

from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.rules import jvm
from alluxio_fuse.plan.values import Service, Value

SERVICE_UID, FUSE_UID = 1000, 0
WANTED_FILES = 65536
_COLLECTOR = re.compile(r"-XX:\+Use(\w+)GC")  # as a user names one


def process(name: str, memory: jvm.Jvm, tmpfs: int, fleet: Fleet, *, cpus: int, files: Value[int]) -> Service:
    """The values of one process; `tmpfs`: bytes of tmpfs pages that it writes, charged to its container."""
    heap, direct = memory.heap.amount, memory.direct.amount
    flags = jvm.jvm_flags(heap, direct, fleet.intent.alluxio_java, cpus)
    extra = fleet.overrides.get(name, "jvm_flags")
    if extra:
        flags = flags.override([*flags.amount, *extra[1]], f"alluxio_overrides[{extra[0]}]")
    fuse = name.startswith("fuse/")
    uid = FUSE_UID if fuse else SERVICE_UID
    why = "only root may mount; readers are let in by the folder above" if fuse else "no privileges needed"
    asked: Service = {}
    if fleet.intent.capabilities.in_pods:
        request = jvm.cpu_request(role_of(name), fleet.scarce_cpus)
        asked["cpu_request"] = fleet.overrides.apply(name, "cpu_request", request)
        asked |= _apart(cpus, extra)
    if jvm.commands(role_of(name), by_fluid=fleet.intent.capabilities.by_fluid):
        asked["command_flags"] = jvm.command_flags()
    return {
        **asked,
        "heap": memory.heap,
        "direct_memory": memory.direct,
        "native_memory": memory.native,
        "tmpfs_memory": Value(
            tmpfs, "tmpfs_memory", "tmpfs pages it writes are charged to it", "kernel's memory cgroup"
        ),
        "container_memory": fleet.overrides.apply(
            name, "container_memory", jvm.container_memory(heap, direct, memory.native.amount, tmpfs)
        ),
        "jvm_flags": flags,
        "user": Value(f"{uid}:{uid}", "user", why, "Alluxio's image: uid 1000"),
        "nofile": fleet.overrides.apply(name, "nofile", files),
        "java_major": Value(fleet.intent.alluxio_java, "java_major", "the JDK of the image", "alluxio_java"),
        "cpus": Value(
            cpus, "active_cpus", "what training leaves; each JVM sizes its pools for it", "alluxio_workload_cpus"
        ),
    }


def _apart(cpus: int, said: tuple[str, list[str]] | None) -> Service:
    """What a chart takes apart from flags: the collector, and those beside. said: the user's (name, flags)."""
    collector, beside = jvm.collector(cpus), jvm.jvm_extra(cpus)
    if said:
        name, flags = f"alluxio_overrides[{said[0]}]", said[1]
        if named := [match[1] for flag in flags if (match := _COLLECTOR.fullmatch(flag))]:
            collector = collector.override(named[-1], name)
            flags = [flag for flag in flags if not _COLLECTOR.fullmatch(flag.replace("-XX:-", "-XX:+"))]
        beside = beside.override([*beside.amount, *flags], name)
    return {"collector": collector, "jvm_extra": beside}


def role_of(name: str) -> jvm.Role:
    """What kind of service `fuse/imagenet` or `worker` is."""
    return cast("jvm.Role", name.partition("/")[0])


def nofile(hard: int) -> Value[int]:
    """Open files of each service, within the node's hard limit."""
    reason = "pages, blocks and connections" if hard >= WANTED_FILES else f"the node's hard limit is {hard}"
    return Value(min(WANTED_FILES, hard), "nofile", reason, "facts of the node")

"""What must hold on a node after overrides; each has a name under which it can be forced."""

from dataclasses import dataclass
from typing import Final

from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.keys import is_known, plain_keys, versions
from alluxio_fuse.plan.layout import Shape
from alluxio_fuse.plan.node import NodePlan
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.refusals import did_you_mean
from alluxio_fuse.plan.rules import memory
from alluxio_fuse.plan.units import at_least, at_most, format_duration, format_size, parse_duration
from alluxio_fuse.plan.values import Service

EVERYWHERE: Final = frozenset(
    {"allow_other", "allow_root", "ro", "rw", "kernel_cache", "auto_cache", "attr_timeout", "entry_timeout"}
    | {"negative_timeout", "ac_attr_timeout", "default_permissions", "fsname", "subtype", "uid", "gid", "umask"}
    | {"noforget", "remember", "use_ino", "readdir_ino", "hard_remove", "intr", "nodev", "nosuid", "noexec", "noatime"}
)
OPTIONS: Final = {
    2: EVERYWHERE
    | {"max_read", "big_writes", "nonempty", "direct_io", "max_background", "max_readahead", "max_write"}
    | {"sync_read"},
    3: EVERYWHERE | {"max_idle_threads", "max_threads", "clone_fd"},  # the second from 3.12 on
}
PLANNED_ELSEWHERE: Final = {
    "alluxio.worker.tieredstore.": "worker.tier_quota, or alluxio_cache_tiers",
    "alluxio.user.client.cache.size": "fuse.client_cache_size",
    "alluxio.user.client.cache.dirs": "fuse.client_cache_size, or alluxio_cache_tiers",
    "alluxio.user.client.cache.enabled": "fuse.client_cache_size: 0",
    "alluxio.user.metadata.cache.max.size": "fuse.metadata_cache_entries",
    "alluxio.fuse.jnifuse.libfuse.version": "alluxio_libfuse",
    "alluxio.fuse.mount.": "fuse.mount_options",
    "alluxio.master.journal.folder": "alluxio_name",
    "alluxio.master.mount.table.": "alluxio_datasets",
}
PLANNED_ENDINGS: Final = {".port": "alluxio_port_offset", ".hostname": "alluxio_bind_address"}
LOSING: Final = ("ASYNC_THROUGH", "MUST_CACHE")
SECRET_KEYS: Final = (
    "s3a.accessKeyId",
    "s3a.secretKey",
    "fs.oss.accessKeyId",
    "fs.oss.accessKeySecret",
    "fs.oss.securityToken",
)


def check_node(planned: NodePlan, problems: Problems) -> None:
    """Sums and limits of one kind of node."""
    divided = planned.budget
    caches = planned.layout.memory
    needed = divided.arithmetic() | {"caches in memory": caches}
    if divided.caches >= 0 and caches > divided.caches:
        problems.refuse(
            f"{planned.example}: memory",
            format_size(divided.total.amount),
            f"{memory.sum_text(needed)}, {format_size(caches - divided.caches)} more than there is",
            "smaller overrides of caches or heaps",
            "memory_counted_once",
        )
    for space in planned.media:
        if space.medium != "memory" and planned.layout.used(space) > space.capacity:
            problems.refuse(
                f"{planned.example}: {space.base}",
                format_size(planned.layout.used(space)),
                f"{format_size(space.capacity)} may be used there",
                "smaller overrides",
                "cache_fits_medium",
            )
    asked = {name: one["cpu_request"].amount for name, one in planned.services.items() if "cpu_request" in one}
    if sum(asked.values()) > 1000 * planned.kind.cpus:
        problems.refuse(
            f"{planned.example}: cpus",
            planned.kind.cpus,
            " + ".join(f"{amount}m {name}" for name, amount in asked.items())
            + f" = {sum(asked.values())}m, which pods ask for: they would wait for a node for ever",
            "smaller alluxio_overrides[<service>.cpu_request], or fewer datasets",
            "requests_fit",
        )
    for name, service in planned.services.items():
        if "container_memory" in service and service["container_memory"].overridden is not None:
            _check_container(planned.example, name, service, problems)
    if planned.kind.gpu_node and not planned.layout.tiers and planned.hosts_worker:
        problems.refuse(
            f"{planned.example}: alluxio_cache_tiers",
            "no room",
            "no medium has 256Mi left for the worker",
            "a disk tier, or a smaller alluxio_workload_memory",
            "cache_fits_medium",
        )


def _check_container(example: str, name: str, service: Service, problems: Problems) -> None:
    parts = {key: int(service[key].amount) for key in ("heap", "direct_memory", "native_memory", "tmpfs_memory")}
    limit = int(service["container_memory"].amount)
    if sum(parts.values()) > limit:
        problems.refuse(
            f"{example}: alluxio_overrides[{name}.container_memory]",
            format_size(limit),
            f"{memory.sum_text(parts)}: the container would be killed",
            f"at least {at_least(sum(parts.values()))}, or a smaller heap",
            "container_holds_jvm",
        )


def check_mounts(planned: NodePlan, fleet: Fleet, problems: Problems) -> None:
    """Mount options and client caches of one kind of node."""
    for shape in fleet.shapes if planned.kind.gpu_node else ():
        service = planned.services[f"fuse/{shape.name}"]
        if service["mount_options"].overridden is not None:
            _check_options(shape, service, problems)
        if not shape.through_cluster:
            _check_without_cluster(shape, service, fleet, problems)


def _check_options(shape: Shape, service: Service, problems: Problems) -> None:
    libfuse = int(service["libfuse"].amount)
    path = f"alluxio_overrides[fuse/{shape.name}.mount_options]"
    for option in service["mount_options"].amount:
        name, _, value = option.partition("=")
        if name not in OPTIONS[libfuse]:
            problems.refuse(
                path,
                option,
                f"libfuse {libfuse} does not know it: the mount would fail",
                did_you_mean(name, OPTIONS[libfuse]),
                "options_known_to_libfuse",
            )
        immutable = shape.within is None and not shape.writable
        if name == "kernel_cache" and not immutable:
            problems.refuse(
                path,
                option,
                f"{shape.name} is not immutable: the kernel would keep pages of changed files",
                "auto_cache, or freshness: immutable",
                "kernel_cache_immutable",
            )
        within = shape.caches_within
        if name.endswith("_timeout") and within is not None and float(value or 0) > within // 4:
            problems.refuse(
                path,
                option,
                f"{shape.name} is to be fresh within {shape.within}s, of which the kernel has {within // 4}s",
                f"{name}={within // 4} or less",
                "freshness_bounded",
            )


def _check_without_cluster(shape: Shape, service: Service, fleet: Fleet, problems: Problems) -> None:
    where = f"alluxio_datasets[{shape.index}].through"
    if fleet.runs_cluster:
        problems.refuse(
            where,
            "under_store",
            f"platform {fleet.intent.alluxio_platform} mounts through the cluster only",
            "through: cluster, or alluxio_platform: host",
        )
        return
    if service["client_cache"].amount.size:
        problems.refuse(
            where,
            "under_store",
            "without a cluster every file has id 0, and a data cache returns other files'"
            " bytes (2007 of 2008 digests were wrong)",
            "no client_cache_size, or through: cluster",
            "page_store_needs_cluster",
        )
    if not shape.mounted and (shape.stage != "require" or "sync_read" not in service["mount_options"].amount):
        problems.refuse(
            where,
            "under_store",
            "Alluxio's stream from S3 is opened anew at most once: the second time that a read skips forward in a file,"
            " as parallel read-ahead does, it answers EIO",
            "through: cluster, or stage: require with alluxio_libfuse: 2, which reads ahead in order",
            "store_read_in_order",
        )
    if shape.writable or shape.within is not None:
        problems.refuse(
            f"alluxio_datasets[{shape.index}].{'writable' if shape.writable else 'freshness'}",
            "true" if shape.writable else f"within: {format_duration(shape.within or 0)}",
            "without a cluster files have no modification time, so that a change cannot be noticed",
            f"{'writable: false' if shape.writable else 'freshness: immutable'}, or through: cluster",
        )


@dataclass(frozen=True, slots=True)
class Given:
    """A property that the user gave to a service; `shape`: its dataset, where the service is FUSE."""

    key: str
    text: str
    path: str
    service: Service
    shape: Shape | None


def check_properties(fleet: Fleet, services: dict[str, Service], problems: Problems) -> None:
    """Properties that the user gave: known, not planned elsewhere, and within what the datasets need."""
    version = fleet.intent.alluxio_version
    if version not in versions():
        known = f"one of {', '.join(versions())}"
        problems.refuse("alluxio_version", version, "its property keys are not known here", known)
        return
    if not fleet.intent.alluxio_overrides:
        return
    shapes = {f"fuse/{shape.name}": shape for shape in fleet.shapes}
    for name, service in services.items():
        for key, (text, said) in fleet.overrides.properties(name).items():
            _check_property(Given(key, text, f"{said[:-1]}.{key}]", service, shapes.get(name)), fleet, problems)


def _check_property(given: Given, fleet: Fleet, problems: Problems) -> None:
    key, version = given.key, fleet.intent.alluxio_version
    elsewhere = next((where for prefix, where in PLANNED_ELSEWHERE.items() if key.startswith(prefix)), None)
    elsewhere = elsewhere or next((where for ending, where in PLANNED_ENDINGS.items() if key.endswith(ending)), None)
    if key in SECRET_KEYS:
        problems.refuse(
            given.path, "(not shown)", "keys of an under store do not belong in a plan", "alluxio_credentials"
        )
    elif elsewhere:
        reason = "the plan has this value elsewhere; two places could contradict each other"
        problems.refuse(given.path, given.text, reason, f"say it by {elsewhere}")
    elif not is_known(key, version):
        remedy = did_you_mean(key, plain_keys(version))
        problems.refuse(given.path, given.text, f"Alluxio {version} has no such property", remedy, "known_properties")
    elif key.endswith(".bind.host"):
        reason = f"services listen on {given.service['bind_address'].amount} only"
        problems.refuse(given.path, given.text, reason, "alluxio_bind_address", "listens_where_planned")
    elif given.shape is not None:
        _check_client_property(given, given.shape, problems)


def _check_client_property(given: Given, shape: Shape, problems: Problems) -> None:
    key, text, path, service = given.key, given.text, given.path, given.service
    if key == "alluxio.user.client.cache.store.type" and text.upper() == "MEM":
        cache, heap = int(service["client_cache"].amount.size), int(service["heap"].amount)
        if cache > heap // 2:
            reason = f"a page store of {format_size(cache)} in a heap of {format_size(heap)}: reads answer EIO"
            remedy = f"LOCAL, or a client_cache_size of at most {at_most(heap // 2)}"
            problems.refuse(path, text, reason, remedy, "page_store_outside_heap")
    if key == "alluxio.user.file.writetype.default" and shape.writable and text.upper() in LOSING:
        reason = f"a file written to {shape.name} is lost if its worker dies first"
        problems.refuse(path, text, reason, "CACHE_THROUGH", "durable_writes")
    if key == "alluxio.user.unsafe.direct.local.io.enabled" and text == "true":
        reason = "only of read-only data, one tier, one folder, and where FUSE sees that folder, which it never does"
        problems.refuse(path, text, reason, "leave it to the plan", "direct_local_reads_safe")
    part = {"alluxio.user.file.metadata.sync.interval": 4, "alluxio.user.metadata.cache.expiration.time": 2}.get(key)
    if part and shape.caches_within is not None:
        seconds, most = _seconds(text), shape.caches_within // part
        if seconds is None or not 0 <= seconds <= most:
            reason = f"{shape.name} is to be fresh within {shape.within}s, of which this layer has {most}s"
            problems.refuse(path, text, reason, f"{most}s or less", "freshness_bounded")


def _seconds(text: str) -> int | None:
    """Seconds of an Alluxio duration; None where it is not understood."""
    plain = text.strip().lower()
    for long, short in (("sec", "s"), ("min", "m"), ("hour", "h"), ("hr", "h"), ("day", "d")):
        plain = plain.replace(long, short)
    if plain.lstrip("-").isdigit():
        return int(plain) // 1000 if int(plain) > 0 else int(plain)
    try:
        return parse_duration(plain)
    except ValueError:
        return None

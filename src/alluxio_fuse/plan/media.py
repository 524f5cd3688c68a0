"""The cache media of a node: which memory and disks may be used, and how much of each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from alluxio_fuse.plan.facts import Filesystem, Source
from alluxio_fuse.plan.intent.nodes import CacheTier
from alluxio_fuse.plan.layout import Space
from alluxio_fuse.plan.refusals import Finding
from alluxio_fuse.plan.units import MIB, at_most, format_size, round_down

KUBELET = "/var/lib/kubelet"
MOUNT_FOLDERS = ("/mnt/", "/media/")


@dataclass(frozen=True, slots=True)
class Disk:
    """A whole disk that a tier may name."""

    names: tuple[str, ...]
    """Paths that it goes by, the stable one first."""
    size: int
    state: str
    """`free`, `ours`, or what stands in the way."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A mounted filesystem: capacity is what is free plus what is ours, bytes.

    kubelet: it evicts pods where this is full. sources: of datasets, folders of the node that are on it.
    """

    mount: str
    device: str
    size: int
    capacity: int
    inodes: int | None
    rotational: bool | None
    kubelet: bool
    sources: frozenset[str]


def volumes_of(
    paths: Iterable[str], filesystems: Iterable[Filesystem], sources: Mapping[str, Source]
) -> tuple[Volume, ...]:
    """The filesystems that hold these paths. Free inodes count only before anything of ours is there."""
    local = [found for found in filesystems if found.type not in ("tmpfs", "ramfs")]
    kubelet = _holding(KUBELET, local)
    held = dict.fromkeys(found.mount for path in paths if (found := _holding(path, local)))
    return tuple(
        Volume(
            found.mount,
            found.device,
            found.size,
            coarse(found.free + found.owned, found.size),
            None if found.owned else found.inodes_free,
            found.rotational,
            found is kubelet,
            frozenset(url for url, source in sources.items() if source.number and source.number == found.number),
        )
        for found in local
        if found.mount in held
    )


def coarse(size: int, whole: int) -> int:
    """A size in steps of about 1/128 of the whole: nodes that differ by less are planned alike."""
    return round_down(size, max(16 * MIB, 1 << max(0, whole.bit_length() - 8)))


def _holding(path: str, filesystems: Iterable[Filesystem]) -> Filesystem | None:
    holding = [known for known in filesystems if f"{path}/".startswith(f"{known.mount.rstrip('/')}/")]
    return max(holding, key=lambda known: len(known.mount), default=None)


def volume_of(path: str, volumes: tuple[Volume, ...]) -> Volume | None:
    """The filesystem that holds a path: the longest mount that is a prefix of it."""
    holding = [known for known in volumes if f"{path}/".startswith(f"{known.mount.rstrip('/')}/")]
    return max(holding, key=lambda known: len(known.mount), default=None)


def kept_free(found: Volume, *, in_pods: bool) -> tuple[int, str]:
    """Bytes that stay free there, and why: the kubelet evicts pods below its threshold."""
    if in_pods and found.kubelet:
        return int(found.size * 0.15), "15 %, the kubelet's eviction threshold"
    if found.mount == "/":
        return int(found.size * 0.10), "10 % of the root filesystem"
    return int(found.size * 0.05), "5 % of the filesystem"


def spaces(
    tiers: tuple[CacheTier, ...],
    volumes: tuple[Volume, ...],
    disks: tuple[Disk, ...],
    *,
    memory: int,
    state_dir: str,
    in_pods: bool,
) -> tuple[tuple[Space, ...], list[Finding], list[tuple[str, str]]]:
    """(media, findings, warnings as (path, message)). Without tiers: memory and the state folder's filesystem."""
    if not tiers:
        return _default_spaces(volumes, memory, state_dir, in_pods=in_pods), [], []
    found: list[Space] = []
    findings: list[Finding] = []
    warnings: list[tuple[str, str]] = []
    for number, tier in enumerate(tiers):
        where = f"alluxio_cache_tiers[{number}]"
        if tier.medium == "memory":
            if tier.budget is not None and tier.budget > memory:
                findings.append(
                    Finding(
                        f"{where}.budget",
                        format_size(tier.budget),
                        f"memory has {format_size(memory)} left after the reserve, training, services and page cache",
                        f"a budget of {at_most(memory)} or less, or a smaller alluxio_workload_memory",
                        "budget_fits",
                    )
                )
            found.append(Space("memory", "memory", state_dir, min(memory, tier.budget or memory)))
        elif tier.path:
            held = volume_of(tier.path, volumes)
            if held is None:
                findings.append(
                    Finding(
                        f"{where}.path",
                        tier.path,
                        "no local filesystem holds it",
                        "mount a local disk there, or name another folder",
                    )
                )
                continue
            space, problem, warning = _path_space(tier, where, held, in_pods=in_pods)
            found.append(space)
            findings += problem
            warnings += warning
        else:
            for device in tier.devices:
                disk = next((known for known in disks if device in known.names), None)
                if disk is None or disk.state not in ("free", "ours"):
                    state = (
                        disk.state
                        if disk
                        else f"no such disk; there are {', '.join(d.names[0] for d in disks) or 'none'}"
                    )
                    findings.append(
                        Finding(f"{where}.devices", device, state, "name an empty disk, or a path on a mounted one")
                    )
                    continue
                wipe = device in tier.wipe
                if wipe and disk.state == "free":
                    warnings.append((f"{where}.wipe", f"what is on {device} will be destroyed"))
                name = device.removeprefix("/dev/").replace("/", "-")
                usable = round_down(disk.size * 0.95, MIB)
                size = min(usable, tier.budget or usable)
                found.append(Space(name, tier.medium, f"{state_dir}/media/{name}", size, device, wipe=wipe))
    findings += _counted_twice(found, tiers, volumes)
    return tuple(found), findings, warnings


def _default_spaces(volumes: tuple[Volume, ...], memory: int, state_dir: str, *, in_pods: bool) -> tuple[Space, ...]:
    held = volume_of(state_dir, volumes)
    space = (Space("memory", "memory", state_dir, memory),)
    if held is None:
        return space
    free = max(0, held.capacity - kept_free(held, in_pods=in_pods)[0])
    return (
        *space,
        Space("disk", "hdd" if held.rotational else "ssd", f"{state_dir}/disk", free, None, held.inodes, held.sources),
    )


def _path_space(
    tier: CacheTier, where: str, held: Volume, *, in_pods: bool
) -> tuple[Space, list[Finding], list[tuple[str, str]]]:
    path = tier.path or ""
    keep, why = kept_free(held, in_pods=in_pods)
    usable = max(0, held.capacity - keep)
    findings: list[Finding] = []
    warnings: list[tuple[str, str]] = []
    if held.mount == "/" and path.startswith(MOUNT_FOLDERS):
        findings.append(
            Finding(
                f"{where}.path",
                path,
                "nothing is mounted there: the cache would fill the root filesystem",
                "mount the disk first, or name a folder that is meant to be on the root filesystem",
                "tier_is_mounted",
            )
        )
    elif held.mount == "/":
        warnings.append((f"{where}.path", f"{path} is on the root filesystem, which the machine itself lives on"))
    if held.rotational is True and tier.medium == "ssd":
        warnings.append((f"{where}.medium", f"{held.device} says that it rotates; ssd was declared"))
    if tier.budget is not None and tier.budget > usable:
        findings.append(
            Finding(
                f"{where}.budget",
                format_size(tier.budget),
                f"{format_size(held.capacity)} free or ours on {held.mount} - {format_size(keep)} kept free ({why})"
                f" = {format_size(usable)}",
                f"a budget of {at_most(usable)} or less",
                "budget_fits",
            )
        )
    name = path.strip("/").replace("/", "-")
    space = Space(name, tier.medium, path, min(usable, tier.budget or usable), None, held.inodes, held.sources)
    return space, findings, warnings


def _counted_twice(found: list[Space], tiers: tuple[CacheTier, ...], volumes: tuple[Volume, ...]) -> list[Finding]:
    findings = []
    media = [space.medium for space in found]
    if media.count("memory") > 1:
        findings.append(
            Finding("alluxio_cache_tiers", "memory", "memory is named twice: it would be counted twice", "name it once")
        )
    seen: dict[str, str] = {}
    for number, tier in enumerate(tiers):
        held = volume_of(tier.path, volumes) if tier.path else None
        places = [*tier.devices, *([held.device if held.device.startswith("/dev/") else held.mount] if held else [])]
        for place in places:
            if place in seen:
                findings.append(
                    Finding(
                        f"alluxio_cache_tiers[{number}].{'path' if tier.path else 'devices'}",
                        tier.path or place,
                        f"it is on {place}, as {seen[place]} is: its room would be counted twice",
                        "name one folder per disk, with the sum of the budgets",
                    )
                )
            seen[place] = tier.path or place
    return findings

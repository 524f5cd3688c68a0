"""What caches must hold: shares, pins, whole datasets, and files of a filesystem."""

from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.node import NodePlan
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.units import MIB, at_least, format_size, round_up


def check_shares(fleet: Fleet, capacity: int, total: int, problems: Problems) -> None:
    """Shares and pins against what all workers hold (`capacity`) and all datasets are (`total`)."""
    shares = [shape for shape in fleet.shapes if shape.share is not None]
    promised = sum(shape.share or 0 for shape in shares)
    if promised > 1:
        terms = " + ".join(f"{shape.share:g} {shape.name}" for shape in shares)
        problems.refuse(
            "alluxio_datasets[].cache.share",
            f"{promised:g}",
            f"{terms} = {promised:g}, more than there is",
            "shares that sum to 1 or less",
            "shares_hold",
        )
    pinned = [shape for shape in fleet.shapes if shape.pin]
    if sum(shape.size for shape in pinned) > capacity:
        terms = " + ".join(f"{format_size(shape.size)} {shape.name}" for shape in pinned)
        short = round_up((sum(shape.size for shape in pinned) - capacity) / fleet.workers, MIB)
        problems.refuse(
            "alluxio_datasets[].cache.pin",
            terms,
            f"all workers together hold {format_size(capacity)}",
            f"{at_least(short)} more of cache on each of {fleet.workers} nodes, or fewer pins",
            "pin_fits",
        )
    if total <= capacity:
        return
    for shape in shares:
        granted = (shape.share or 0) * capacity
        if shape.size <= granted and shape.through_cluster:
            problems.refuse(
                f"alluxio_datasets[{shape.index}].cache.share",
                f"{shape.share:g}",
                f"its {format_size(shape.size)} fit into {shape.share:g} of {format_size(capacity)}, but workers evict"
                f" by age and all datasets are {format_size(total)}: others push it out",
                f"pin it in place of a share, or {at_least(total - capacity)} more of cache in the fleet",
                "shares_hold",
            )


def check_residency(fleet: Fleet, kinds: list[NodePlan], capacity: int, problems: Problems) -> None:
    """Datasets that no cache holds whole would be read from the under store in each epoch.

    capacity: bytes that all workers hold. What every node stages, no epoch reads from them.
    """
    mounted = [planned for planned in kinds if planned.kind.gpu_node]
    staged = {s.name: min((p.layout.staged(s.name) for p in mounted), default=0.0) for s in fleet.shapes}
    total = sum(round(s.size * (1 - staged[s.name])) for s in fleet.shapes if s.through_cluster)
    if total <= capacity:
        return
    rest = [
        s
        for s in fleet.shapes
        if staged[s.name] < 1 and min((p.layout.client_caches[s.name].share for p in mounted), default=0.0) < 1
    ]
    if not rest:
        return
    names = ", ".join(shape.name for shape in rest)
    short = round_up((total - capacity) / fleet.workers, MIB)
    arithmetic = (
        f"{format_size(total)} of datasets, {fleet.workers} workers hold {format_size(capacity)}"
        f" ({capacity / total:.0%}); {names} would be read from the under store again in each epoch"
    )
    if any(planned.gate.mb_per_s or planned.gate.files_per_s for planned in mounted):
        problems.refuse(
            "alluxio_cache_tiers",
            format_size(capacity),
            arithmetic,
            f"{at_least(short)} more of cache on each of {fleet.workers} nodes, or fewer bytes",
            "set_fits_caches",
        )
    else:
        problems.warn("alluxio_cache_tiers", f"{arithmetic}; {at_least(short)} more on each node would hold it")


def check_inodes(fleet: Fleet, planned: NodePlan, problems: Problems) -> None:
    """A page, a block and a staged file is a file each, and of a part its name: each needs an inode."""
    for space in planned.media:
        if space.inodes is None:
            continue
        parts = planned.layout.inodes(space, fleet.shapes, fleet.load.blocks)
        needed = sum(parts.values())
        if needed > space.inodes:
            terms = " + ".join(f"{count:,} {name}" for name, count in parts.items() if count)
            problems.refuse(
                f"{planned.example}: {space.base}",
                f"{space.inodes:,} inodes free",
                f"{terms} = {needed:,} files and folders (two for each page, and for each file of a part)",
                "a filesystem with more inodes (xfs, or mkfs.ext4 -i 16384), or memory"
                + (", or stage: off" if parts["staged"] else ""),
                "inodes_fit",
            )

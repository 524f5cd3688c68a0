"""The gate of a node against what mount, network and media can deliver."""

from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.intent.parts import Medium
from alluxio_fuse.plan.layout import Shape, Space
from alluxio_fuse.plan.node import NodePlan
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.rules.gate import HDD_CEILING, MOUNT_CEILING, SSD_ORDINARY
from alluxio_fuse.plan.units import format_size

SLOWEST: tuple[Medium, ...] = ("memory", "ssd", "hdd")


def check_gate(fleet: Fleet, planned: NodePlan, problems: Problems) -> None:
    """A gate is refused that nothing here can deliver; what is not known is warned of."""
    wanted = planned.gate.mb_per_s
    variable = "alluxio_gate" if planned.gate.status == "declared" else "alluxio_gpus"
    for gap in planned.gate.gaps:
        problems.warn(
            f"{planned.example}: alluxio_gpus",
            f"no public figure for {gap}: declare alluxio_gate, else the verdict will be CANNOT TELL",
        )
    if not wanted:
        return
    have = " + ".join(f"{count} x {model}" for model, count in planned.kind.gpus) or "declared"
    count = sum(number for _, number in planned.kind.gpus)
    through = max((1 - planned.layout.staged(shape.name) for shape in fleet.shapes), default=1.0)
    if wanted * through > MOUNT_CEILING:
        per = wanted * through / count if count else wanted * through
        fits = (
            f"at most {int(MOUNT_CEILING / per)} such GPUs per node"
            if count and per <= MOUNT_CEILING
            else "a lower gate"
        )
        part = "" if through == 1 else f", {through:.0%} of them through FUSE"
        fixed = all(shape.within is None and not shape.writable for shape in fleet.shapes)
        stages = fleet.intent.capabilities.stages and fixed and through == 1
        copied = ", or `stage: require` of the dataset: a copy on the node is read without FUSE" if stages else ""
        problems.refuse(
            f"{planned.example}: {variable}",
            f"{wanted:,.0f} MB/s",
            f"{have} on {fleet.workload} need {wanted:,.0f} MB/s{part}; the most that one FUSE mount was ever seen to"
            f" deliver is {MOUNT_CEILING:,.0f} MB/s (32 threads, 100 Gb/s)",
            f"{fits}{copied}; the gate is never relaxed to what is possible",
            "gate_reachable",
        )
    _check_media(fleet, planned, wanted, variable, problems)
    speed = planned.kind.network_mbps
    if speed is None:
        return
    for shape in fleet.shapes:
        if not shape.through_cluster and shape.local:
            continue
        far = 1 - planned.layout.staged(shape.name) - planned.layout.cached(shape.name)
        remote = far * (1 - 1 / fleet.workers if planned.hosts_worker else 1)
        if remote * wanted > speed / 8:
            problems.refuse(
                f"{planned.example}: {variable}",
                f"{wanted:,.0f} MB/s",
                f"{remote:.0%} of {shape.name} comes from other nodes: {remote * wanted:,.0f} MB/s over a network of"
                f" {speed / 8:,.0f} MB/s ({speed} Mb/s)",
                f"a larger medium in alluxio_cache_tiers: {format_size(shape.size)} per node hold a whole copy"
                if planned.layout.staged(shape.name)
                else f"a client cache that holds {1 - speed / 8 / wanted:.0%} of the set: "
                f"{format_size(shape.cache_need)} per node hold all of it",
                "gate_reachable",
            )


def _check_media(fleet: Fleet, planned: NodePlan, wanted: float, variable: str, problems: Problems) -> None:
    """A disk that rotates has a bound that everybody knows; how fast an SSD is, only a measurement tells."""
    for shape in fleet.shapes:
        spaces = _read_from(planned, shape)
        medium = max((space.medium for space in spaces), key=SLOWEST.index, default="memory")
        ceiling = HDD_CEILING * len(spaces)
        if medium == "hdd" and wanted > ceiling:
            problems.refuse(
                f"{planned.example}: {variable}",
                f"{wanted:,.0f} MB/s",
                f"{shape.name} is read from a disk that rotates: at most about {ceiling:,.0f} MB/s",
                "an ssd or memory in alluxio_cache_tiers, or a lower gate",
                "gate_reachable",
            )
        if medium == "ssd" and wanted > SSD_ORDINARY:
            problems.warn(
                f"{planned.example}: {variable}",
                f"{shape.name} is read from an ssd: {wanted:,.0f} MB/s are more than one PCIe 3 drive gives"
                f" ({SSD_ORDINARY:,.0f} MB/s), and its speed is not known here",
            )


def _read_from(planned: NodePlan, shape: Shape) -> list[Space]:
    """The media that hold a dataset for a node: its copy's, and where that is not whole, client cache's or worker's."""
    stage, cache = planned.layout.stages.get(shape.name), planned.layout.client_caches[shape.name]
    found = [stage.space] if stage else []
    if stage and stage.share == 1:
        return found
    rest = [cache.space] if cache.space else [tier.space for tier in planned.layout.tiers]
    return list(dict.fromkeys([*found, *rest]))

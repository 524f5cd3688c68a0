"""What the GPUs of a node need, and what can deliver it. MB = 10^6 bytes."""

from dataclasses import dataclass
from typing import Final

from alluxio_fuse.plan.gpus import NEEDS, WORKLOADS, gpu_model, measured_as
from alluxio_fuse.plan.parts import PlannedGate
from alluxio_fuse.plan.sizes import Sizes
from alluxio_fuse.plan.values import rule

#: What language models read: how much of it a GPU needs is a matter of the model, and is little.
TOKENS: Final = "tokens"
UNSAID: Final = "none (tokens)"
UNKNOWN: Final = "unknown"  # GPUs that are counted and not named
ONE_FILE_PER_SAMPLE: Final = 1_000_000
#: Part of a dataset's bytes in files of one sample each, from which on files/s count. Labels and indexes beside shards
#: have less. ImageNet's images have as much where images and shards of 128 MB together have a mean of 1 MB.
SAMPLES_COUNT: Final = 0.1
MOUNT_CEILING: Final = 9982.0
HDD_CEILING: Final = 300.0
SSD_ORDINARY: Final = 3500.0


@dataclass(frozen=True, slots=True)
class GpuNeed:
    """What one GPU of a model was measured to need, MB/s and files/s; None: nothing is said of files."""

    model: str
    mb_per_s: float
    files_per_s: float | None


@dataclass(frozen=True, slots=True)
class TrainedNeed:
    """What one GPU of a model reached in playbooks/train.yml without reading; `where`: the node, and when."""

    model: str
    workload: str
    samples_per_s: float
    sample_bytes: float
    where: str

    @property
    def mb_per_s(self) -> float:
        """What reading so many samples comes to."""
        return self.samples_per_s * self.sample_bytes / 1e6


@dataclass(frozen=True, slots=True)
class NodeGate:
    """What one node must read; None where it is not known. `gaps`: GPU models and workloads without a figure."""

    status: str
    mb_per_s: float | None
    files_per_s: float | None
    gaps: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()
    sample_share: float = 0.0
    measured: tuple[str, ...] = ()  # models whose need the inventory says
    trained: tuple[str, ...] = ()  # models whose need a training has measured, and where
    planned: tuple[tuple[str, float], ...] = ()  # what GPUs and workload ask for, where less was declared


def sample_share(sizes: Sizes) -> float:
    """Part of a dataset's bytes in files so small that each is one sample: what is read of it in files/s."""
    return sizes.share_below(ONE_FILE_PER_SAMPLE)


def _counts(trained: TrainedNeed) -> bool:
    """Whether no public figure of the model, and no higher one of its stand-in, says what it needs."""
    if (trained.model, trained.workload) in NEEDS:
        return False
    stand_in = NEEDS.get((measured_as(trained.model, trained.workload), trained.workload))
    return stand_in is None or trained.samples_per_s > stand_in.samples_per_s


def node_gate(
    gpus: tuple[tuple[str, int], ...],
    workload: str,
    samples_in_files: float,
    declared: tuple[float | None, float | None] | None,
    said: tuple[GpuNeed, ...] = (),
    *,
    trained: tuple[TrainedNeed, ...] = (),
) -> NodeGate:
    """The gate of one node with these (model, count).

    samples_in_files: largest :func:`sample_share` of a dataset. said: what GPUs of some models were measured to need.
    trained: what a training has measured; it counts for models without a public figure of their own, where it is more
    than their stand-in's: a small batch, say, reaches less than a GPU can.
    """
    if declared is not None:
        derived = node_gate(gpus, workload, samples_in_files, None, said, trained=trained)
        return NodeGate("declared", *declared, planned=_lowered(declared, derived))
    if not gpus:
        return NodeGate("none (no GPU)", None, None)
    if workload == "none":
        return NodeGate("none (no workload)", None, None)
    rate = samples = 0.0
    gaps, stand_ins, by_training, by_files = [], [], [], samples_in_files >= SAMPLES_COUNT
    own = {one.model: one for one in said}
    reached = {one.model: one for one in trained if one.workload == workload and _counts(one)}
    for name, count in gpus:
        model = gpu_model(name)
        if model in own:
            rate += own[model].mb_per_s * count
            samples += (own[model].files_per_s or 0) * count
            by_files = by_files and own[model].files_per_s is not None
            continue
        if model in reached:
            by_training.append(f"{model} as trained on {reached[model].where}")
            rate += reached[model].mb_per_s * WORKLOADS[workload].utilisation * count
            samples += reached[model].samples_per_s * WORKLOADS[workload].utilisation * count
            continue
        measured = measured_as(model, workload)
        need = NEEDS.get((measured, workload))
        if need is None:
            named = "GPUs of a model that nobody told (alluxio_gpus)" if model == UNKNOWN else model
            gaps.append(f"{named} on {workload}")
            continue
        if measured != model:
            stand_ins.append(f"{model} counted as {measured}")
        rate += need.mb_per_s * need.utilisation * count
        samples += need.samples_per_s * need.utilisation * count
    if gaps:
        if workload == TOKENS and not any(gpu_model(name) in own for name, _ in gpus):
            return NodeGate(UNSAID, None, None)
        return NodeGate("unknown", None, None, tuple(gaps), tuple(stand_ins))
    files = round(samples, 1) if by_files else None
    return NodeGate(
        "derived",
        round(rate, 1),
        files,
        (),
        tuple(stand_ins),
        samples_in_files,
        measured=tuple(own),
        trained=tuple(by_training),
    )


def training(gpus: tuple[tuple[str, int], ...], workload: str) -> dict[str, float] | None:
    """What a check emulates on a node with GPUs of one known model: {accelerators, batch, compute_s, utilisation}."""
    models = {measured_as(gpu_model(name), workload) for name, _ in gpus}
    need = NEEDS.get((models.pop(), workload)) if len(models) == 1 else None
    if need is None:
        return None
    count = sum(count for _, count in gpus)
    return {"accelerators": count, "batch": need.batch, "compute_s": need.compute_s, "utilisation": need.utilisation}


def _figures(node: NodeGate) -> str:
    if node.measured:
        return f"{', '.join(node.measured)} as alluxio_gpus says"
    if node.trained:
        return f"{', '.join(node.trained)}, times the least utilisation that counts"
    return "times the least utilisation that counts"


def _samples(node: NodeGate) -> str:
    part = f"{node.sample_share:.0%} of a dataset's bytes are in files below 1 MB, a sample each"
    return f"files/s: {part}" if node.files_per_s else f"no files/s: {part}, and {SAMPLES_COUNT:.0%} would count"


def _lowered(declared: tuple[float | None, float | None], derived: NodeGate) -> tuple[tuple[str, float], ...]:
    """Figures of the derived gate that the declared one is below, or leaves out altogether."""
    names = ("mb_per_s", "files_per_s")
    lower = zip(names, declared, (derived.mb_per_s, derived.files_per_s), strict=True)
    return tuple((name, need) for name, said, need in lower if need is not None and (said is None or said < need))


@rule("MLPerf Storage configurations; V100: Fluid's published 8-GPU run")
def gate(node: NodeGate, gpus: tuple[tuple[str, int], ...], workload: str) -> tuple[PlannedGate, str]:
    """The gate of one node as its plan has it."""
    own = node.measured or node.trained
    emulated = training(gpus, workload) if (node.mb_per_s or node.files_per_s) and not own else None
    amount = PlannedGate(node.status, node.mb_per_s, node.files_per_s, emulated, dict(node.planned) or None)
    have = " + ".join(f"{count} x {gpu_model(name)}" for name, count in gpus) or "no GPU"
    why = {
        "declared": "declared by alluxio_gate",
        "derived": f"{have} on {workload}, {_figures(node)}; {_samples(node)}",
        "unknown": f"no public figure for {', '.join(node.gaps)}: measure it with playbooks/train.yml, say mb_per_s in"
        " alluxio_gpus, or declare alluxio_gate, or the verdict is CANNOT TELL",
        UNSAID: f"{have} on {workload}: what they read is a matter of the model; say mb_per_s in alluxio_gpus, or"
        " declare alluxio_gate, to have speed judged",
    }.get(
        node.status, f"{have}, workload {workload}: digests and states decide, and alluxio_gate_min_disk_ratio if set"
    )
    return amount, why

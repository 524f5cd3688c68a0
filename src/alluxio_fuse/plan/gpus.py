"""What one GPU takes when it trains: public figures, by GPU model and workload. MB = 10^6 bytes."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Workload:
    """The mean size of a sample, and the least share of the time in which a GPU has to be busy (utilisation)."""

    sample_bytes: int
    utilisation: float


@dataclass(frozen=True, slots=True)
class Need:
    """One GPU on one workload: samples of a batch, and the seconds that it computes on them."""

    workload: Workload
    batch: int
    compute_s: float

    @property
    def samples_per_s(self) -> float:
        """At full utilisation."""
        return self.batch / self.compute_s

    @property
    def mb_per_s(self) -> float:
        """At full utilisation."""
        return self.samples_per_s * self.workload.sample_bytes / 1e6

    @property
    def utilisation(self) -> float:
        """The least that counts."""
        return self.workload.utilisation


#: MLPerf Storage's, github.com/mlcommons/storage: record_length_bytes and metric.au.
WORKLOADS: Final = {
    "unet3d": Workload(146_600_628, 0.90),
    "retinanet": Workload(322_957, 0.85),
    "resnet50": Workload(114_660, 0.90),
    "cosmoflow": Workload(2_828_486, 0.70),
}
#: MLPerf Storage's, there: batch_size and computation_time. Its B200 on unet3d is half of H100's time, not measured.
#: Its retinanet of H100 and A100 is left out: drafts with smaller images, by which a B200 is six times an H100.
#: V100 on resnet50 is of Fluid's published run, 9327.6 images/s on eight.
NEEDS: Final = {
    (model, workload): Need(WORKLOADS[workload], batch, compute_s)
    for model, workload, batch, compute_s in (
        ("V100", "unet3d", 4, 1.3604),
        ("A100", "unet3d", 7, 0.636),
        ("H100", "unet3d", 7, 0.323),
        ("B200", "unet3d", 7, 0.162),
        ("B200", "retinanet", 24, 0.04755),
        ("V100", "resnet50", 256, 256 / 1166),
        ("A100", "resnet50", 400, 0.435),
        ("H100", "resnet50", 400, 0.224),
        ("V100", "cosmoflow", 1, 0.00936),
        ("A100", "cosmoflow", 1, 0.00551),
        ("H100", "cosmoflow", 1, 0.0035),
    )
}
#: Where a model has no figure of its own, whose is taken: of the same generation, else of the one before.
STAND_INS: Final = {"H200": "H100", "GB300": "B300", "B300": "B200", "GB200": "B200", "B200": "H100"}
MODELS: Final = ("GB300", "B300", "GB200", "V100", "A100", "H100", "H200", "B200")


def measured_as(model: str, workload: str) -> str:
    """The model whose figure on a workload counts for this one; the last of its stand-ins where none has any."""
    while (model, workload) not in NEEDS and model in STAND_INS:
        model = STAND_INS[model]
    return model


@cache
def gpu_model(name: str) -> str:
    """`H100` of `NVIDIA H100 80GB HBM3`; the name itself where the table does not know it."""
    words = re.split(r"[^A-Za-z0-9]+", name.upper())
    return next((model for model in MODELS if model in words), name)

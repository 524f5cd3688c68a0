"""Labels follow from GPUs, ours always, the vendor's only when asked, and never over what others wrote."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

PLUGIN = Path(__file__).parents[3] / "plugins/filter/gpu_labels.py"
GPUS = [{"model": "NVIDIA A100 80GB PCIe", "memory": 0, "mig": False}] * 2
OURS = {
    "alluxio-fuse/gpu": "true",
    "alluxio-fuse/gpu.product": "NVIDIA-A100-80GB-PCIe",
    "alluxio-fuse/gpu.count": "2",
}
VENDOR = {
    "nvidia.com/gpu.present": "true",
    "nvidia.com/gpu.product": "NVIDIA-A100-80GB-PCIe",
    "nvidia.com/gpu.count": "2",
}
MEMORY = {"alluxio-fuse/vendor-labels": "true"}


@pytest.fixture
def labels() -> Any:
    spec = importlib.util.spec_from_file_location("gpu_labels", PLUGIN)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.gpu_labels


@pytest.mark.parametrize(
    ("gpus", "present", "vendor", "expected"),
    [
        (GPUS, {}, False, (OURS, [])),
        (GPUS, {}, True, ({**OURS, **VENDOR, **MEMORY}, [])),
        (GPUS, {**OURS, **VENDOR, **MEMORY}, True, ({}, [])),
        (GPUS, {"nvidia.com/gpu.count": "7"}, True, (OURS, [])),
        (GPUS, {**OURS, **VENDOR, **MEMORY}, False, ({}, sorted({**VENDOR, **MEMORY}))),
        ([], {**OURS, **VENDOR, **MEMORY}, True, ({}, sorted({**OURS, **VENDOR, **MEMORY}))),
        ([], {**OURS, **VENDOR}, True, ({}, sorted(OURS))),
        ([], {}, True, ({}, [])),
    ],
)
def test_labels(labels: Any, gpus: Any, present: dict[str, str], vendor: bool, expected: tuple[Any, Any]) -> None:
    found = labels(gpus, present, vendor)
    assert (found["set"], found["remove"]) == expected


def test_what_discovery_has_taken_over_stays(labels: Any) -> None:
    theirs = {"nvidia.com/gpu.count": "7", "nvidia.com/gpu.present": "true"}
    for gpus in (GPUS, []):
        found = labels(gpus, {**OURS, **MEMORY, **theirs}, True, discovery=True)
        assert not (found["set"].keys() | found["remove"]) & VENDOR.keys()
        assert "alluxio-fuse/vendor-labels" in found["remove"]


def test_value_is_one_that_kubernetes_takes(labels: Any) -> None:
    value = labels([{"model": "x" * 100 + "!"}], {}, False)["set"]["alluxio-fuse/gpu.product"]
    assert value == "x" * 63

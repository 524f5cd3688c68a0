"""GPUs of a node, and those at work: from nvidia-smi where the driver is loaded, else from the kernel's PCI tree."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import HUNG, in_child

FACTS = "name,memory.total,driver_version,mig.mode.current"
UTILISATION = "index,utilization.gpu"
BUSY_PERCENT = 5  # of a GPU's time, above which it counts as busy
TIMEOUT_S = 10.0
PCI = "/sys/bus/pci/devices"
NVIDIA = "0x10de"
DISPLAY_CLASSES = ("0x0300", "0x0302")

# Names by PCI device id, in nvidia-smi's spelling, for nodes whose driver is not loaded yet.
PCI_MODELS = {
    "0x1db1": ("Tesla V100-SXM2-16GB", 16),
    "0x1db4": ("Tesla V100-PCIE-16GB", 16),
    "0x1db5": ("Tesla V100-SXM2-32GB", 32),
    "0x1db6": ("Tesla V100-PCIE-32GB", 32),
    "0x1eb8": ("Tesla T4", 15),
    "0x20b0": ("NVIDIA A100-SXM4-40GB", 40),
    "0x20b2": ("NVIDIA A100-SXM4-80GB", 80),
    "0x20b5": ("NVIDIA A100 80GB PCIe", 80),
    "0x20f1": ("NVIDIA A100-PCIE-40GB", 40),
    "0x2236": ("NVIDIA A10", 22),
    "0x26b9": ("NVIDIA L40S", 44),
    "0x27b8": ("NVIDIA L4", 22),
    "0x2330": ("NVIDIA H100 80GB HBM3", 80),
    "0x2331": ("NVIDIA H100 PCIe", 80),
    "0x2335": ("NVIDIA H200", 141),
    "0x2901": ("NVIDIA B200", 180),
}

Gpu = dict[str, Any]


def parse_smi(text: str) -> tuple[list[Gpu], str | None]:
    """([{model, memory, mig}], driver version) of nvidia-smi's CSV answer to FACTS; memory in bytes."""
    gpus: list[Gpu] = []
    driver = None
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 4:
            continue
        model, memory, driver, mig = fields
        gpus.append({"model": model, "memory": int(memory) * 2**20 if memory.isdigit() else 0, "mig": mig == "Enabled"})
    return gpus, driver


def from_pci(root: str = PCI) -> list[Gpu]:
    """[{model, memory, mig: False}] of NVIDIA's display and 3D controllers; an unknown one is named by its PCI id."""
    gpus = []
    for device in sorted(Path(root).glob("*")):
        vendor, kind, model = (_attribute(device / name) for name in ("vendor", "class", "device"))
        if vendor == NVIDIA and kind.startswith(DISPLAY_CLASSES):
            name, gib = PCI_MODELS.get(model, (f"NVIDIA {vendor[2:]}:{model[2:]}", 0))
            gpus.append({"model": name, "memory": gib * 2**30, "mig": False})
    return gpus


def read_gpus(limit: float = TIMEOUT_S) -> tuple[list[Gpu], str | None]:
    """(GPUs, driver version or None). The PCI tree answers when nvidia-smi is missing, fails or takes too long."""
    answer = _ask_smi(FACTS, limit)
    return (from_pci(), None) if answer is None else parse_smi(answer)


def busy_gpus() -> list[str]:
    """GPUs that are at work; none where nvidia-smi does not answer."""
    answer = _ask_smi(UTILISATION, TIMEOUT_S)
    return [] if answer is None else parse_utilisation(answer)


def parse_utilisation(text: str) -> list[str]:
    """GPUs that are at work, of nvidia-smi's CSV answer to UTILISATION."""
    busy = []
    for line in text.splitlines():
        index, _, percent = (part.strip() for part in line.partition(","))
        if percent.isdigit() and int(percent) > BUSY_PERCENT:
            busy.append(f"GPU {index} ({percent}%)")
    return busy


def _ask_smi(fields: str, limit: float) -> str | None:
    """nvidia-smi's answer; None where it is missing, fails or takes too long."""
    query = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"]

    def ask() -> str | None:
        try:
            return subprocess.run(query, stdout=subprocess.PIPE, check=True, text=True).stdout
        except (OSError, subprocess.SubprocessError):
            return None

    answer: str | None = in_child(ask, limit)
    return None if answer == HUNG else answer


def _attribute(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""

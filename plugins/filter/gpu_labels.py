"""Labels of a Kubernetes node that follow from its GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

OURS = ("alluxio-fuse/gpu", "alluxio-fuse/gpu.product", "alluxio-fuse/gpu.count")
VENDOR = ("nvidia.com/gpu.present", "nvidia.com/gpu.product", "nvidia.com/gpu.count")
MEMORY = "alluxio-fuse/vendor-labels"  # present while the vendor's labels on this node were written by us


def gpu_labels(
    gpus: Iterable[Mapping[str, Any]], present: Mapping[str, str], vendor: bool, discovery: bool = False
) -> dict[str, Any]:
    """{set: {label: value}, remove: [label]}: what to change on a node that carries `present`.

    Labels of the vendor are written only if asked for (`vendor`), and never over a value that somebody else wrote.
    Where GPU Feature Discovery or the GPU Operator labels the node (`discovery`), they are its own from then on.
    """
    models = [str(gpu["model"]) for gpu in gpus]
    values = ("true", _label_value(models[0]), str(len(models))) if models else ()
    wanted = dict(zip(OURS, values, strict=False))
    foreign = MEMORY not in present and any(name in present for name in VENDOR)
    if models and vendor and not foreign and not discovery:
        wanted |= dict(zip(VENDOR, values, strict=True)) | {MEMORY: "true"}
    ours = {*OURS, MEMORY, *(VENDOR if MEMORY in present and not discovery else ())}
    return {
        "set": {name: value for name, value in wanted.items() if present.get(name) != value},
        "remove": sorted(name for name in ours & present.keys() if name not in wanted),
    }


def _label_value(text: str) -> str:
    """As GPU Feature Discovery spells a product: NVIDIA-A100-SXM4-40GB."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:63].strip("-_.")


class FilterModule:
    """Filters of role platform_kubernetes."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        return {"gpu_labels": gpu_labels}

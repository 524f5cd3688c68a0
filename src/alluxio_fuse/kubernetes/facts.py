"""Facts of a node as its cluster knows them, joined to those that were gathered on it or in a pod there."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from alluxio_fuse.plan.rules.gate import UNKNOWN

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_GPU = "nvidia.com/gpu"
#: Before a MIG profile, like 1g.5gb: one of an A100's or H100's seven compute slices, or of an A30's four.
_SLICE = "nvidia.com/mig-"


def quantity(text: str) -> int:
    """A Kubernetes quantity in whole units; `m` is rounded down."""
    match = re.fullmatch(r"(\d+)(m|k|[MGT]|[KMGT]i|)", text)
    if not match:
        raise ValueError(f"not a quantity: {text}")
    return int(match[1]) // 1000 if match[2] == "m" else int(match[1]) * _UNITS[match[2]]


def with_node(facts: Mapping[str, Any], node: Mapping[str, Any] | None, node_access: bool = True) -> dict[str, Any]:
    """Facts with what the Node object adds: its allocatable memory, and the GPUs that its device plugin offers.

    node: as the module `alluxio.fuse.cluster_facts` returns it; None when the cluster has no node of that name.
    node_access: whether the facts are the node's own; those of a pod do not tell whether there is a /dev/fuse.
    """
    if node is None:
        return dict(facts)
    allocatable = quantity(node["allocatable"]["memory"])
    limit = facts["memory"]["limit"]
    return {
        **facts,
        "cpus": min(facts["cpus"], _cpus(node["allocatable"]["cpu"])),
        "memory": {**facts["memory"], "limit": min(limit or allocatable, allocatable)},
        "gpus": facts["gpus"] or _gpus(node),
        "fuse": {**facts["fuse"], "device": facts["fuse"]["device"] or not node_access},
    }


def _cpus(text: str) -> float:
    return int(text.removesuffix("m")) / 1000 if text.endswith("m") else float(text)


def _gpus(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """GPUs as the device plugin counts them and GPU Feature Discovery names them.

    Without names they are still there: to leave them out would be to lower the gate. Slices count as the GPUs that they
    are cut from, whether the product is their name (strategy `single`) or the resource (`mixed`).
    """
    labels, offered = node["labels"], node["allocatable"]
    model, _, profile = (labels.get(f"{_GPU}.product") or UNKNOWN).partition("-MIG-")
    count = int(offered.get(_GPU, labels.get(f"{_GPU}.count", "0")))
    memory = int(labels.get(f"{_GPU}.memory", "0")) * 2**20
    slices = {name.removeprefix(_SLICE): int(number) for name, number in offered.items() if name.startswith(_SLICE)}
    if profile:
        slices, count, memory = {**slices, profile: count}, 0, 0
    sizes = {profile: re.match(r"\d+(?=g\.)", profile) for profile in slices}  # INVALID: not cut as is said
    computing = sum(int(size[0]) * slices[profile] for profile, size in sizes.items() if size)
    cut = math.ceil(computing / (4 if "A30" in model else 7))
    whole = {"model": model, "memory": memory, "mig": False}
    return [whole] * count + [{**whole, "mig": True}] * cut

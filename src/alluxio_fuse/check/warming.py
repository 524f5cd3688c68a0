"""What is left to do to fill the caches with a dataset, and how far they are filled."""

from collections.abc import Mapping
from typing import Any

from alluxio_fuse.check import passes
from alluxio_fuse.plan.rules.caches import LOW

ENOUGH = 0.98  # of the bytes, from which on a cache counts as filled


def steps(
    header: Mapping[str, Any],
    dataset: Mapping[str, Any],
    kept: Mapping[str, Any],
    levels: Mapping[str, Any],
    settings: Mapping[str, bool],
) -> dict[str, Any]:
    """{first: passes, load: bool, fill: passes}; `settings` say whether there are workers and what may be disrupted."""
    mount, cache = dataset["mount_point"], dataset["client_cache_bytes"]
    if dataset.get("direct"):
        return {"first": [], "load": False, "fill": []}
    cold = dataset.get("first_reads", True)
    done = {one["name"] for one in kept.get("passes", [])}
    filled = (levels["client_cache_used"] or 0) >= ENOUGH * passes.resident_bytes(header, cache)
    of_rest = dataset.get("cache_of_rest")  # readers fill it, since the copy of the others goes through it first
    disruptive = settings["disruptive"]
    first = [] if kept.get("load") else passes.first_passes(header, mount, disruptive, cold)
    fill = [one for one in passes.fill_passes(header, mount, cache, disruptive, cold=cold) if one["name"] not in done]
    if not dataset.get("own_cluster", True):  # nobody counts what other clusters' workers read: no states to be kept
        fill = [one | {"keep": False} for one in fill]
    # a client cache that was lost is filled again, but those are no first reads to be kept
    again = [one | {"keep": False} for one in passes.fill_passes(header, mount, cache, disruptive, again=True)]
    return {
        "first": [one for one in first if one["name"] not in done],
        "load": settings["workers"] and "load" in dataset["warm_up"] and not _loaded(kept, levels),
        "fill": [] if filled or of_rest else fill or again,
    }


def _loaded(kept: Mapping[str, Any], levels: Mapping[str, Any]) -> bool:
    """Whether the workers hold at least as much as when the load had ended, or are as full as evictions leave them."""
    then: float | None = kept.get("load", {}).get("worker_used")
    if then is None:
        return False
    full: float = LOW * (levels.get("worker_capacity") or float("inf"))
    used: float = levels["worker_used"] or 0
    return used >= ENOUGH * min(then, full)


def summary(header: Mapping[str, Any], dataset: Mapping[str, Any], levels: Mapping[str, Any]) -> str:
    """A line that says what is resident where."""
    size = f"  {dataset['name']}: {header['files']} files, {_mb(header['bytes'])} MB"
    if dataset.get("direct"):
        return f"{size}; read from its source without a cluster, so there is no cache to fill"
    held = [f"workers hold {_mb(levels['worker_used'])} MB of all datasets"]
    if dataset["client_cache_bytes"]:
        rest = " MB, for what is not staged" if dataset.get("cache_of_rest") else f" of {_mb(header['bytes'])} MB"
        held.append(f"the client cache {_mb(levels['client_cache_used'])}{rest}")
    return f"{size}; {', '.join(held)}"


def _mb(size: float | None) -> str:
    return "?" if size is None else f"{size / 1e6:.0f}"

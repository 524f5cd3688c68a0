"""Datasets that a node mounts and a run would take away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alluxio_fuse import names


def going(facts: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """Mount points on a node that a run would take away: of datasets that are not said any more, or of another source.

    asked: what `alluxio_fuse.preflight.questions` returns.
    """
    prefix, planned = f"{asked['name']}-fuse-", asked["datasets"]
    owned = [item["id"] for item in facts["owned"].get("items", []) if item["kind"] in ("container", "unit")]
    mounted = [one.removeprefix(prefix).removesuffix(".service") for one in owned if one.startswith(prefix)]
    gone = [dataset for dataset in mounted if dataset not in planned]
    # pods are no items of the record, but each node has the manifest of what they mount
    other = [dataset for dataset, source in facts["manifests"].items() if _another(planned.get(dataset, ""), source)]
    return [names.mount_point(asked["name"], dataset) for dataset in (*gone, *other)]


def _another(said: str, before: str) -> bool:
    """Whether a source is another one than that of the manifest; a sample's is not said."""
    return bool(said and before) and said.rstrip("/") != before.rstrip("/")

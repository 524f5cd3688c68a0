"""The variable by which the user said what a value of the chart was planned from."""

from __future__ import annotations

import json
from typing import Any, Final

from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.refusals import Finding

Place = tuple[str | int, ...]

_PATHS: Final = "pods get folders whose paths have letters, digits, dots, hyphens and underscores only"
_ELSEWHERE: Final = "name a folder that has such a path, or mount it at one"
_NAMES: Final = "the chart takes names of small letters and digits, with hyphens between them"
#: By a name on the way to a value, the variable.
_VARIABLES: Final = {
    "image": "alluxio_image",
    "nodeSelector": "alluxio_kubernetes.node_selector",
    "storageClass": "alluxio_kubernetes.storage_class",
    "jvm": "alluxio_overrides",
    "properties": "alluxio_overrides",
    "mountOptions": "alluxio_overrides",
    "env": "alluxio_overrides",
}


def said_as(plan: Plan, place: Place, value: Any, reason: str, remedy: str) -> Finding:
    """A finding on a planned value, as one on what the user wrote; reason and remedy are the chart's."""
    shown = value if isinstance(value, str) else json.dumps(value)[:80]
    if "tolerations" in place:
        return Finding(_toleration(place), shown, reason, remedy)
    if place[:1] == ("datasets",) and (found := _of_dataset(plan, place, shown, reason, remedy)):
        return found
    if "hostPath" in place or "folders" in place:
        base = shown.partition(f"/{plan.name}/")[0]
        return Finding("alluxio_cache_tiers", base, _PATHS, _ELSEWHERE)
    variable = next((_VARIABLES[key] for key in place if key in _VARIABLES), None)
    return Finding(variable or f"value {'.'.join(map(str, place))} of the chart", shown, reason, remedy)


def _of_dataset(plan: Plan, place: Place, shown: str, reason: str, remedy: str) -> Finding | None:
    index = int(place[1])
    dataset, where = plan.datasets[index], f"alluxio_datasets[{index}]"
    match place[2:]:
        case ("name",):
            return Finding(f"{where}.name", shown, "objects are named by it: it may have 30 characters", "shorten it")
        case ("volume", "claim"):
            return Finding(f"{where}.source", dataset.source, _NAMES, "name a claim that has such a name")
        case ("volume" | "source", *_):
            return Finding(f"{where}.source", dataset.source, _PATHS, _ELSEWHERE)
        case ("options", *_):
            return Finding(f"{where}.{'oss' if dataset.oss else 's3'}", shown, reason, remedy)
    return None


def _toleration(place: Place) -> str:
    """Of a pod's tolerations, the first is for nvidia.com/gpu."""
    first = place.index("tolerations") + 1
    return ".".join([f"alluxio_kubernetes.tolerations[{int(place[first]) - 1}]", *map(str, place[first + 1 :])])

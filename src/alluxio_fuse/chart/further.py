"""Values of the chart that users say beside the plan: joined with the plan's, or refused where it writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from alluxio_fuse.plan.refusals import Finding
from alluxio_fuse.plan.values import Amounts

VARIABLE: Final = "alluxio_kubernetes.values"
#: Values that the plan writes as a whole: a part of one would stand beside what it does not know of.
_WHOLE: Final = frozenset({"nodeSelector", "resources", "jvm", "properties", "stage"})
#: By the value's name, how the user says it to the plan.
_SAID_BY: Final[Mapping[str, str]] = {
    "fullnameOverride": "say alluxio_name",
    "profile": "say alluxio_profile",
    "image": "say alluxio_image, alluxio_kubernetes.image or pull_secrets",
    "datasets": "say it of the dataset in alluxio_datasets",
    "nodeSelector": "say alluxio_kubernetes.node_selector",
    "tolerations": "say alluxio_kubernetes.tolerations",
    "storageClass": "say alluxio_kubernetes.storage_class",
    "replicas": "say it by the hosts in group masters",
    "tiers": "say alluxio_cache_tiers",
    "stage": "say alluxio_datasets[].stage",
    "pools": "say them by groups of the inventory below gpu_nodes",
    "jvm": "say alluxio_overrides, as {service}.heap",
    "resources": "say alluxio_overrides, as {service}.container_memory or {service}.cpu_request",
    "properties": "say alluxio_overrides, as {service}.properties",
}
_SERVICES: Final[Mapping[str, str]] = {"jobMaster": "job_master", "jobWorker": "job_worker"}


def joined(planned: Amounts, further: Mapping[str, Any]) -> Amounts:
    """The plan's values and, where it has none, those that the user says."""
    both = {**further, **planned}
    for key in further.keys() & planned.keys():
        if isinstance(further[key], Mapping) and isinstance(planned[key], Mapping):
            both[key] = joined(planned[key], further[key])
    return both


def taken(planned: Mapping[str, Any], further: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[Finding]:
    """What the user says, and the plan writes. path: of both among the values."""
    for key in sorted(further.keys() & planned.keys()):
        mine, theirs, place = planned[key], further[key], (*path, key)
        if key not in _WHOLE and isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            yield from taken(mine, theirs, place)
        else:
            where, value = ".".join((VARIABLE, *place)), json.dumps(theirs)[:80]
            yield Finding(where, value, "the plan writes this value", _remedy(place))


def _remedy(place: tuple[str, ...]) -> str:
    service = _SERVICES.get(place[0], place[0])
    said = next((_SAID_BY[name] for name in reversed(place) if name in _SAID_BY), None)
    return said.format(service=service) if said else "remove it"

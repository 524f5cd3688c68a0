"""Services of a plan, from what plan.json holds."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from alluxio_fuse.plan.intent.clusters import Fluid, Kubernetes
from alluxio_fuse.plan.intent.nodes import Aws
from alluxio_fuse.plan.parts import (
    FleetGate,
    PlannedCache,
    PlannedDataset,
    PlannedExport,
    PlannedGate,
    PlannedKeeper,
    PlannedPool,
    PlannedStage,
    PlannedTier,
)
from alluxio_fuse.plan.values import Service, Value


def load_service(raw: Mapping[str, Any]) -> Service:
    """The values of a service that plan.json holds; TypeError or ValueError where one has other parts than its type."""
    return {key: _typed(key, Value.load(value)) for key, value in raw.items()}


def typed(key: str, amount: Any) -> Any:
    """The amount of the value `key` of a service, from what plan.json holds."""
    return amount if amount is None or key not in _TYPES else _TYPES[key](amount)


def _typed(key: str, value: Value[Any]) -> Value[Any]:
    return replace(value, amount=typed(key, value.amount), overridden=typed(key, value.overridden))


def _gate(raw: Mapping[str, Any]) -> PlannedGate:
    return FleetGate(**raw) if "min_disk_ratio" in raw else PlannedGate(**raw)


_TYPES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "client_cache": lambda raw: PlannedCache(**raw),
    "tiers": lambda raw: [PlannedTier(**one) for one in raw],
    "stage": lambda raw: PlannedStage(**raw),
    "keeper": lambda raw: PlannedKeeper(**raw),
    "gate": _gate,
    "datasets": lambda raw: [PlannedDataset(**one) for one in raw],
    "exports": lambda raw: [PlannedExport(**one) for one in raw],
    "pools": lambda raw: [PlannedPool(**one) for one in raw],
    "aws": Aws.model_validate,
    "fluid": Fluid.model_validate,
    "kubernetes": Kubernetes.model_validate,
}

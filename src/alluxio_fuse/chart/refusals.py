"""What the chart would refuse of a plan, before the plan is kept: each finding names what the user wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from jsonschema import Draft7Validator, ValidationError

from alluxio_fuse.chart.further import VARIABLE, joined, taken
from alluxio_fuse.chart.reserved import CHART
from alluxio_fuse.chart.said import said_as
from alluxio_fuse.chart.values import planned_values
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.intent.clusters import Kubernetes
from alluxio_fuse.plan.refusals import Finding, did_you_mean, merged
from alluxio_fuse.plan.values import Amounts

_README: Final = "charts/alluxio-fuse/README.md lists every value"
_LONGEST: Final = 63  # characters of a label, and of the name of an object that becomes one


class _Wrong(NamedTuple):
    """What the chart does not take: where it is among the values, why, and what to write."""

    place: tuple[str | int, ...]
    reason: str
    remedy: str


def refusals(plan: Plan) -> list[Finding]:
    """What speaks against the chart's values of a plan, and those that the user says beside it."""
    if not plan.capabilities.in_pods or plan.capabilities.by_fluid:
        return []
    cluster: Kubernetes = plan.fleet["kubernetes"].amount
    planned = planned_values(plan, cluster.secrets)
    found = list(taken(planned, cluster.values))
    return found or list(merged([*_too_long(plan, planned, cluster), *_not_taken(plan, planned, cluster.values)]))


def _not_taken(plan: Plan, planned: Amounts, further: Mapping[str, Any]) -> Iterator[Finding]:
    """Of values that are wrong without the user's, the plan has them of other variables."""
    of_plan = set(_wrong(planned))
    for wrong in sorted(of_plan, key=str):
        yield said_as(plan, wrong.place, _at(planned, wrong.place), wrong.reason, wrong.remedy)
    if not further:
        return
    both = joined(planned, further)
    for wrong in sorted(set(_wrong(both)) - of_plan, key=str):
        where, own = ".".join(map(str, (VARIABLE, *wrong.place))), _at(further, wrong.place)
        yield Finding(where, json.dumps(own)[:80], wrong.reason, wrong.remedy)


def _wrong(values: Amounts) -> Iterator[_Wrong]:
    for error in _schema().iter_errors(values):
        place = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            known = error.schema.get("properties", {})
            for key in error.instance.keys() - known.keys():
                yield _Wrong((*place, key), "the chart knows no such key", f"{did_you_mean(key, known)}; {_README}")
        elif "propertyNames" in error.absolute_schema_path:
            yield _Wrong((*place, error.instance), f"the chart does not take the name: {_message(error)}", _README)
        else:
            yield _Wrong(place, f"the chart does not take it: {_message(error)}", _README)


def _message(error: ValidationError) -> str:
    """Without what a list or a mapping holds, which may be all that the plan has there."""
    if isinstance(error.instance, (list, dict)):
        return str(error.message).removeprefix(f"{error.instance!r} ")
    return str(error.message)


def _at(values: Any, place: tuple[str | int, ...]) -> Any:
    """What stands at a place; None where nothing does."""
    for key in place:
        try:
            values = values[key]
        except (KeyError, IndexError, TypeError):
            return None
    return values


def _too_long(plan: Plan, planned: Amounts, cluster: Kubernetes) -> Iterator[Finding]:
    """Names of objects that are put together of several."""
    for index, dataset in enumerate(plan.datasets):
        if len(plan.name) + len(dataset.name) > _LONGEST - len("-fuse--"):
            reason = f"objects are named by alluxio_name and it, which would be longer than {_LONGEST} characters"
            remedy = f"shorten one of them: together they may have {_LONGEST - len('-fuse--')}"
            yield Finding(f"alluxio_datasets[{index}].name", dataset.name, reason, remedy)
        for pool in planned["pools"]:
            name = f"{plan.name}-fuse-{dataset.name}-{pool['name']}"
            if len(name) > _LONGEST:
                reason = f"{name}, the name of an object, is longer than {_LONGEST} characters"
                remedy = "shorten the name of the inventory's group, of the dataset, or alluxio_name"
                yield Finding("gpu_nodes", f"pool {pool['name']}", reason, remedy)
    namespace = cluster.namespace or plan.name
    if _at(cluster.values, ("csi", "enabled")) is True and len(f"{plan.name}.{namespace}") > _LONGEST:
        reason = f"the name of the CSI driver, {plan.name}.{namespace}, is longer than {_LONGEST} characters"
        yield Finding("alluxio_kubernetes.namespace", namespace, reason, "shorten it, or alluxio_name")


@cache
def _schema() -> Draft7Validator:
    return Draft7Validator(json.loads((CHART / "values.schema.json").read_text()))

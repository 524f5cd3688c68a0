"""What a user said of one variable, as the plan would read it: for playbooks that need it before there is a plan."""

from typing import Any

from pydantic import BaseModel, ValidationError

from alluxio_fuse.plan.intent.fleet import FLEET_VARIABLES, FleetIntent
from alluxio_fuse.plan.intent.nodes import NodeIntent
from alluxio_fuse.plan.invalid import refuse_invalid
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.refusals import Refused


def said(name: str, given: dict[str, Any]) -> Any:
    """The variable `name` of those given, validated and of its type, or its default; refused as a plan refuses it."""
    model: type[BaseModel] = FleetIntent if name in FLEET_VARIABLES else NodeIntent
    try:
        read = model.model_validate({name: given[name]} if name in given else {})
    except ValidationError as error:
        problems = Problems(frozenset())
        refuse_invalid(model, error, problems)
        raise Refused(problems.findings) from None
    return read.model_dump(mode="json")[name]

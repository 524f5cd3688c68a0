"""Objects of Fluid are valid in the vendor's own models."""

from __future__ import annotations

import copy
from types import ModuleType

import pytest
from fluid_models import UnknownFieldError, round_trip
from fluid_systems import SYSTEMS, Nodes, nfs


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_vendors_models_hold_all_of_each_object(name: str, nodes: Nodes, fluid: ModuleType) -> None:
    for one in SYSTEMS[name](nodes):
        assert round_trip(one, fluid) == one


def test_the_round_trip_sees_a_field_that_the_vendor_does_not_have(nodes: Nodes, fluid: ModuleType) -> None:
    dataset, runtime = nfs(nodes)
    wrong = copy.deepcopy(runtime)
    wrong["spec"]["worker"]["jvmOption"] = []
    with pytest.raises(UnknownFieldError, match=r"AlluxioRuntime.spec.worker: .* has no jvmOption"):
        round_trip(wrong, fluid)
    dataset["spec"]["mounts"][0]["readOnly"] = "true"
    with pytest.raises(UnknownFieldError, match="'true' is no bool"):
        round_trip(dataset, fluid)

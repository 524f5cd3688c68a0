"""What objects of Fluid's that are there are against those that are planned, and why they stay."""

from __future__ import annotations

import json
from typing import Any

from alluxio_fuse.fluid.state import APPLIED, blocking, differing, former_load, mounted_by_keys
from alluxio_fuse.preflight import questions


def there(kind: str, spec: dict[str, Any], told: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """An object as the API has it, told: what it was last made of."""
    notes = {} if told is None else {"annotations": {APPLIED: json.dumps({"kind": kind, "spec": told})}}
    return {kind: {"kind": kind, "metadata": {"name": "set", **notes}, "spec": spec}}


def wanted(kind: str, spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"kind": kind, "metadata": {"name": "set"}, "spec": spec}]


def test_what_controllers_added_is_no_difference() -> None:
    said = {"master": {"replicas": 1}}
    found = there("AlluxioRuntime", {"master": {"replicas": 1, "ports": {}}, "runAs": None}, said)
    assert differing(found, wanted("AlluxioRuntime", said)) == []


def test_a_field_that_was_said_and_is_not_any_more_is_a_difference() -> None:
    before = {"master": {"env": {"A": "b"}}, "disablePrometheus": True}
    found = there("AlluxioRuntime", before, before)
    paths = differing(found, wanted("AlluxioRuntime", {"master": {"env": {}}}))
    assert paths == ["AlluxioRuntime.spec.master.env.A", "AlluxioRuntime.spec.disablePrometheus"]


def test_a_field_of_an_item_that_is_not_said_any_more_is_a_difference() -> None:
    before = {"mounts": [{"name": "set", "options": {"region": "eu", "endpoint": "e"}}]}
    found = there("Dataset", before, before)
    now = {"mounts": [{"name": "set", "options": {"endpoint": "e"}}]}
    assert differing(found, wanted("Dataset", now)) == ["Dataset.spec.mounts[0].options.region"]


def test_keys_count_once_the_source_is_mounted_by_them() -> None:
    by_keys = there("Dataset", {"mounts": [{"encryptOptions": [{"name": "key"}]}]})
    assert not mounted_by_keys({})
    assert not mounted_by_keys(by_keys)
    by_keys["Dataset"]["status"] = {"phase": "Bound"}
    assert mounted_by_keys(by_keys)
    assert not mounted_by_keys({"Dataset": {"spec": {"mounts": [{}]}, "status": {"phase": "Bound"}}})


def test_workers_are_what_fluid_acts_on() -> None:
    found = there("AlluxioRuntime", {"replicas": 1}, {"replicas": 1})
    assert differing(found, wanted("AlluxioRuntime", {"replicas": 2})) == []


def test_an_object_without_a_note_is_compared_by_what_is_wanted() -> None:
    found = there("Dataset", {"placement": "Shared"})
    assert differing(found, wanted("Dataset", {"placement": "Exclusive"})) == ["Dataset.spec.placement"]


def test_a_data_load_stays_only_as_it_is_planned() -> None:
    found = there("DataLoad", {"policy": "Once"}, {"policy": "Once"})
    assert not former_load({}, [])
    assert not former_load(found, wanted("DataLoad", {"policy": "Once"}))
    assert former_load(found, wanted("DataLoad", {"policy": "Cron", "schedule": "0 3 * * *"}))
    assert former_load(found, wanted("Dataset", {}))
    assert differing(found, wanted("DataLoad", {"policy": "Cron"})) == []


def test_pods_that_do_not_end_are_named() -> None:
    assert "set-fuse-x" in blocking({}, [], ["set-fuse-x"])
    assert "pods with the claim: job-1" in blocking(there("Dataset", {}), ["job-1"], ["set-fuse-x"])


def test_a_second_run_does_not_take_the_claim_for_a_mount_of_others() -> None:
    said = {"alluxio_datasets": [{"name": "set", "source": "pvc://source"}]}
    assert questions({"alluxio_platform": "fluid", **said})["mount_points"] == []
    assert questions({"alluxio_platform": "kubernetes", **said})["mount_points"] == ["/mnt/alluxio-fuse/set/data"]

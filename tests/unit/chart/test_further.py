"""Values of the chart that users say beside the plan."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import IMAGENET, fleet, host

from alluxio_fuse import preflight
from alluxio_fuse.chart import further
from alluxio_fuse.chart.refusals import refusals
from alluxio_fuse.chart.values import chart_values
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan import plan as derive

MONITORED = {"monitoring": {"podMonitor": {"enabled": True}}, "master": {"podAnnotations": {"team": "vision"}}}


def hosts(**values: Any) -> dict[str, Any]:
    said = {"alluxio_platform": "kubernetes", "alluxio_datasets": [IMAGENET], "alluxio_kubernetes": {"values": values}}
    return fleet(2, said, memory=512, cpus=64, disk=2000, gpus=("V100",) * 8)


def planned(**values: Any) -> Plan:
    return derive(hosts(**values))


def test_what_the_plan_does_not_write_passes_through_and_nothing_else_changes() -> None:
    alone, both = chart_values(planned()), chart_values(planned(**MONITORED))
    assert refusals(planned(**MONITORED)) == []
    assert both["monitoring"] == MONITORED["monitoring"]
    assert both["master"].pop("podAnnotations") == {"team": "vision"}
    assert {key: value for key, value in both.items() if key != "monitoring"} == alone


@pytest.mark.parametrize(
    ("values", "path", "remedy"),
    [
        ({"worker": {"jvm": {"heap": "9Gi"}}}, "worker.jvm", "say alluxio_overrides, as worker.heap"),
        ({"jobWorker": {"jvm": {"heap": "1Gi"}}}, "jobWorker.jvm", "say alluxio_overrides, as job_worker.heap"),
        ({"datasets": []}, "datasets", "say it of the dataset in alluxio_datasets"),
        (
            {"master": {"journal": {"storageClass": "x"}}},
            "master.journal.storageClass",
            "alluxio_kubernetes.storage_class",
        ),
        ({"fuse": {"nodeSelector": {"a": "b"}}}, "fuse.nodeSelector", "say alluxio_kubernetes.node_selector"),
        ({"trust": {"configMap": "mine"}}, "trust.configMap", "remove it"),
        ({"image": {"tag": "latest"}}, "image.tag", "say alluxio_image"),
        ({"stage": {"resources": {}}}, "stage", "say alluxio_datasets[].stage"),
    ],
)
def test_what_the_plan_writes_is_refused_by_name(values: dict[str, Any], path: str, remedy: str) -> None:
    (found,) = refusals(planned(**values))
    assert found.path == f"{further.VARIABLE}.{path}"
    assert found.reason == "the plan writes this value"
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("values", "path", "value", "reason"),
    [
        ({"monitorin": {"a": 1}}, "monitorin", '{"a": 1}', "did you mean monitoring?"),
        ({"master": {"podAnnotation": {"a": "b"}}}, "master.podAnnotation", '{"a": "b"}', "mean podAnnotations?"),
        (
            {"monitoring": {"podMonitor": {"enabled": "yes"}}},
            "monitoring.podMonitor.enabled",
            '"yes"',
            "'yes' is not of type 'boolean'",
        ),
        ({"extraObjects": {"a": 1}}, "extraObjects", '{"a": 1}', "does not take it: is not of type 'array'"),
        ({"properties": {"alluxio": "1"}}, "properties.alluxio", '"1"', "does not take the name: 'alluxio' does not"),
    ],
    ids=["no key", "no key within the plan's", "text", "a mapping", "a name"],
)
def test_what_the_chart_does_not_take_is_refused_before_anything_is_changed(
    values: dict[str, Any], path: str, value: str, reason: str
) -> None:
    (found,) = preflight.findings(hosts(**values))
    assert (found["path"], found["value"]) == (f"{further.VARIABLE}.{path}", value)
    assert reason in f"{found['reason']}: {found['remedy']}"


def test_other_platforms_have_no_chart() -> None:
    local = {"node": host({"alluxio_datasets": [IMAGENET]}, memory=64, cpus=16, disk=500)}
    assert refusals(derive(local)) == []

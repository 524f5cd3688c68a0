"""What the chart would refuse is refused of the plan, by what the user wrote."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.alluxio.fuse.plugins.filter import planner
from fleets import IMAGENET, filesystem, fleet

from alluxio_fuse import preflight
from alluxio_fuse.chart.refusals import refusals
from alluxio_fuse.plan import plan

LONG = "imagenet-of-2012-with-all-classes"
DOTTED = "pvc://my.claim/x"
SPACED = "file:///mnt/my data"
TIERS = [{"medium": "ssd", "path": "/mnt/my disk/fast", "budget": "100Gi"}]


def hosts(variables: dict[str, Any] | None = None, **dataset: Any) -> dict[str, Any]:
    said = {"alluxio_platform": "kubernetes", "alluxio_datasets": [IMAGENET | dataset]} | (variables or {})
    disks = [filesystem("/", 2000), filesystem("/mnt/my disk", 2000, rotational=False)]
    return fleet(2, said, memory=512, cpus=64, gpus=("V100",) * 8, filesystems=disks)


CASES = {
    "a long name": (hosts(name=LONG), "alluxio_datasets[0].name", LONG, "30 characters"),
    "a hyphen at its end": (hosts(name="imagenet-"), "alluxio_datasets[0].name", "imagenet-", "ends with a hyphen"),
    "names that are long together": (
        hosts({"alluxio_name": f"d{'x' * 39}"}, name="imagenet-of-2012-"[:-1] + "x"),
        "alluxio_datasets[0].name",
        "imagenet-of-2012x",
        "longer than 63 characters",
    ),
    "the deployment's name": (hosts({"alluxio_name": "data-"}), "alluxio_name", "data-", "ends with a hyphen"),
    "a namespace": (
        hosts({"alluxio_kubernetes": {"namespace": "data-"}}),
        "alluxio_kubernetes.namespace",
        "'data-'",
        "not a namespace's name",
    ),
    "a driver's name": (
        hosts(
            {
                "alluxio_name": "a" * 40,
                "alluxio_kubernetes": {"namespace": "b" * 30, "values": {"csi": {"enabled": True}}},
            }
        ),
        "alluxio_kubernetes.namespace",
        "b" * 30,
        "longer than 63 characters",
    ),
    "a claim": (hosts(source=DOTTED), "alluxio_datasets[0].source", DOTTED, "the chart takes names"),
    "a folder": (hosts(source=SPACED), "alluxio_datasets[0].source", SPACED, "pods get folders"),
    "a tier": (hosts({"alluxio_cache_tiers": TIERS}), "alluxio_cache_tiers", "/mnt/my disk/fast", "pods get folders"),
    "a toleration": (
        hosts({"alluxio_kubernetes": {"tolerations": [{"key": "a"}, {"Key": "dedicated"}]}}),
        "alluxio_kubernetes.tolerations[1].Key",
        "dedicated",
        "did you mean key?",
    ),
    "a Secret": (
        hosts({"alluxio_kubernetes": {"secrets": {"imagenet": "keys-"}}}),
        "alluxio_kubernetes.secrets.imagenet",
        "'keys-'",
        "not a Secret's name",
    ),
    "a pull secret": (
        hosts({"alluxio_kubernetes": {"pull_secrets": ["good", "keys-"]}}),
        "alluxio_kubernetes.pull_secrets[1]",
        "'keys-'",
        "not a Secret's name",
    ),
    "an endpoint": (
        hosts(s3={"endpoint": "https://a\nb"}),
        "alluxio_datasets[0].s3.endpoint",
        r"'https://a\nb'",
        "not an address of a store",
    ),
    "an override": (
        hosts({"alluxio_overrides": {"fuse.mount_options": ["allow_other", "fsname=a:b"]}}),
        "alluxio_overrides",
        "fsname=a:b",
        "does not match",
    ),
}


@pytest.mark.parametrize(("said", "path", "value", "why"), CASES.values(), ids=CASES)
def test_refused_by_what_the_user_wrote(said: dict[str, Any], path: str, value: str, why: str) -> None:
    (found,) = preflight.findings(said)
    assert (found["path"], found["value"]) == (path, value)
    assert why in f"{found['reason']}: {found['remedy']}"
    with pytest.raises(AnsibleFilterError, match="There is no plan that holds"):
        planner.plan(said)


def test_nobody_is_blamed_for_what_they_did_not_write() -> None:
    values = {"values": {"fuse": {"podLabels": {"team": "vision"}}, "monitoring": {"podMonitor": {"enabled": "yes"}}}}
    ours, theirs = refusals(plan(hosts({"alluxio_kubernetes": values}, name=LONG)))
    assert ours.path == "alluxio_datasets[0].name"
    assert theirs.path == "alluxio_kubernetes.values.monitoring.podMonitor.enabled"
    assert "podLabels" not in f"{ours} {theirs}"


def test_names_that_just_fit_are_planned() -> None:
    assert refusals(plan(hosts({"alluxio_name": "a" * 40}, name="imagenet-of-2012"))) == []
    assert refusals(plan(hosts({"alluxio_name": "a" * 26}, name="b" * 30))) == []


def test_a_pool_has_its_name_in_those_of_objects() -> None:
    said = hosts({"alluxio_name": "a" * 26}, name="b" * 30)
    said["node-1"]["facts"]["memory"] = {"total": 2**37, "available": 2**37, "limit": None}
    said["node-1"]["groups"].append("small")
    (found,) = refusals(plan(said))
    assert (found.path, found.value) == ("gpu_nodes", "pool small")
    assert "longer than 63 characters" in found.reason


def test_other_platforms_take_such_names() -> None:
    said = {"alluxio_datasets": [IMAGENET | {"name": f"{LONG}-"}]}
    assert refusals(plan(fleet(2, said, memory=512, cpus=64, disk=2000))) == []

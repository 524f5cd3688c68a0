"""A plan is what plan.json holds, and back."""

import json
from typing import Any

import pytest
from fleets import IMAGENET, Hosts, examples, fleet, local, staged

from alluxio_fuse import targets
from alluxio_fuse.adapters import as_filter
from alluxio_fuse.plan import Plan, Refused, plan
from alluxio_fuse.plan.document import VERSION
from alluxio_fuse.plan.intent.clusters import Kubernetes
from alluxio_fuse.plan.loading import load_service
from alluxio_fuse.plan.parts import FleetGate, PlannedCache, PlannedDataset, PlannedExport, PlannedGate
from alluxio_fuse.plan.values import dump_service
from alluxio_fuse.plan.views.amounts import amounts
from alluxio_fuse.plan.views.deployment import deployment
from alluxio_fuse.plan.views.diff import diff_lines
from alluxio_fuse.tune import trials

HOLD = {title: hosts for title, hosts in (examples() | staged()).items() if not title.endswith("refused")}


@pytest.mark.parametrize("hosts", HOLD.values(), ids=list(HOLD))
def test_what_was_saved_is_the_plan_again(hosts: Hosts) -> None:
    made = plan(hosts).dump()
    assert Plan.load(made).dump() == made
    assert Plan.load(json.loads(json.dumps(made))).dump() == made


def test_an_overridden_value_says_so_again() -> None:
    made = plan(local(alluxio_overrides={"worker.heap": "2Gi"}))
    assert Plan.load(made.dump()).nodes["localhost"]["worker"]["heap"] == made.nodes["localhost"]["worker"]["heap"]


VALUE = {"rule": "r", "why": "w", "source": "s"}
V100 = fleet(
    2,
    {"alluxio_platform": "kubernetes", "alluxio_datasets": [IMAGENET], "alluxio_gate": {"mb_per_s": 1}},
    memory=64,
    cpus=16,
    gpus=("Tesla V100",),
)
CACHE: dict[str, Any] = {"enabled": True, "medium": "ssd", "path": "/a", "size": 1, "page_size": 2**20, "of_rest": True}
LACK = {"enabled": False, "medium": None, "path": None, "size": 0, "page_size": 2**20, "of_rest": False}
TIER = {"medium": "memory", "path": "/b", "quota": 2, "high": 0.99, "low": 0.8}
GATE = {"status": "none (no GPU)", "mb_per_s": None, "files_per_s": None}
TRAINED = GATE | {"training": {"accelerators": 1, "batch": 400}, "planned": {"mb_per_s": 9.0}}


@pytest.mark.parametrize(
    ("key", "amount", "kind"),
    [
        ("client_cache", CACHE, PlannedCache),
        ("client_cache", LACK, PlannedCache),
        ("tiers", [TIER, TIER], list),
        ("tiers", [], list),
        ("gate", GATE, PlannedGate),
        ("gate", TRAINED, PlannedGate),
        ("gate", GATE | {"min_disk_ratio": None}, FleetGate),
        ("gate", TRAINED | {"min_disk_ratio": 0.5}, FleetGate),
    ],
)
def test_parts_have_types_and_are_saved_as_the_same_bytes(key: str, amount: Any, kind: type) -> None:
    saved = {key: {"amount": amount, "rule": "r", "why": "w", "source": "s", "overridden": amount}}
    service = load_service(saved)
    assert type(service[key].amount) is type(service[key].overridden) is kind
    assert json.dumps(dump_service(service)) == json.dumps(saved)


def test_a_client_cache_of_a_plan_of_the_last_version_is_of_no_rest() -> None:
    amount = {key: one for key, one in CACHE.items() if key != "of_rest"}
    service = load_service({"client_cache": {"amount": amount, "rule": "r", "why": "w", "source": "s"}})
    assert service["client_cache"].amount == PlannedCache(**amount, of_rest=False)


def test_a_plan_is_saved_with_all_parts_in_their_order() -> None:
    made = plan(V100).dump()
    fuse, node, worker = (made["nodes"]["node-0"][name] for name in ("fuse/imagenet", "node", "worker"))
    assert list(fuse["client_cache"]["amount"]) == list(CACHE)
    assert [list(tier) for tier in worker["tiers"]["amount"]] == [list(TIER)]
    assert list(node["gate"]["amount"]) == list(TRAINED)
    assert list(made["fleet"]["gate"]["amount"]) == [*TRAINED, "min_disk_ratio"]
    assert made["fleet"]["kubernetes"]["amount"] == Kubernetes().model_dump() | {"namespace": "alluxio-fuse"}


def test_datasets_and_exports_have_their_type_and_are_saved_as_before() -> None:
    said = {"name": "set", "source": "nfs://filer/set", "files": 10, "bytes": "1Gi"}
    made = plan(fleet(1, {"alluxio_platform": "containers", "alluxio_datasets": [said]}))
    saved = json.loads(json.dumps(made.dump()))
    (dataset,), (export,) = (saved["fleet"][key]["amount"] for key in ("datasets", "exports"))
    assert list(dataset)[:3] == ["name", "alluxio_path", "source"]
    assert {key for key, amount in dataset.items() if amount is None} == {"s3", "oss", "hdfs", "marker", "sample"}
    assert list(export) == ["dataset", "address", "folder", "options"]
    loaded = Plan.load(saved)
    assert loaded.datasets == made.datasets == [PlannedDataset(**dataset)]
    assert loaded.exports == made.exports == [PlannedExport(**export)]


def test_what_ansible_gets_of_a_plan_is_plain() -> None:
    made = plan(V100)
    for found in (amounts(made, "node-0"), deployment(made, "node-0"), targets.gate(made, "node-0")):
        assert json.loads(json.dumps(found)) == found


def test_a_dataset_may_be_called_as_a_part_is() -> None:
    named = [{**IMAGENET, "name": name, "source": f"s3://bucket/{name}"} for name in ("gate", "tiers")]
    made = plan(fleet(1, {"alluxio_platform": "containers", "alluxio_datasets": named}))
    saved = json.loads(json.dumps(made.dump()))
    assert Plan.load(saved).dump() == saved


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"version": 1}, ("plan.json: version: 1", f"only plans of version {VERSION}", "playbooks/plan.yml")),
        ({"fleet": None}, ("no whole plan", "playbooks/plan.yml")),
        ({"nodes": {"localhost": {"worker": {"heap": 1}}}}, ("no whole plan",)),
        ({"nodes": {"localhost": {"worker": {"heap": {"amount": 1}}}}}, ("no whole plan", "'rule'")),
        ({"notes": []}, ("no whole plan", "'notes'")),
        ({"fleet": {"gate": VALUE | {"amount": {"speed": 1}}}}, ("no whole plan", "'speed'")),
        ({"fleet": {"kubernetes": VALUE | {"amount": {"pods": 1}}}}, ("no whole plan", "pods")),
        ({"fleet": {"datasets": VALUE | {"amount": [{"name": "a"}]}}}, ("no whole plan", "'source'")),
        ({"fleet": {"tiers": VALUE | {"amount": [1]}}}, ("no whole plan",)),
    ],
)
def test_what_is_no_plan_of_this_version_is_refused(changed: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(Refused) as refused:
        Plan.load(plan(local()).dump() | changed)
    assert all(word in str(refused.value) for word in words), refused.value


@pytest.mark.parametrize("raw", [None, "plan", [], {}, {"name": "a"}])
def test_neither_is_what_never_was_one(raw: Any) -> None:
    with pytest.raises(Refused, match="this is no plan"):
        Plan.load(raw)


def test_a_filter_gets_plans_and_services_as_their_types() -> None:
    """What is said of each parameter counts, wherever it stands: others, a part of a plan, and by name."""
    made = plan(local())
    saved = made.dump()
    (target,) = as_filter(targets.targets)(saved, "localhost", others=[saved])
    assert target == targets.targets(made, "localhost", [made])[0]
    assert as_filter(diff_lines)(saved, new=saved) == ["the plans are equal"]
    assert as_filter(trials.planned)(saved["nodes"]["localhost"]["fuse/imagenet-sample"])["knobs"]
    with pytest.raises(Refused, match=f"only plans of version {VERSION}"):
        as_filter(targets.targets)(saved | {"version": 0}, "localhost")

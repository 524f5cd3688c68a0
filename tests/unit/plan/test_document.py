"""A plan is what plan.json holds, and back."""

import json
from typing import Any

import pytest
from fleets import Hosts, examples, local

from alluxio_fuse import targets
from alluxio_fuse.doors import door
from alluxio_fuse.plan import Plan, Refused, plan
from alluxio_fuse.plan.document import VERSION
from alluxio_fuse.plan.doors.diff import diff_lines
from alluxio_fuse.tune import trials

HOLD = {title: hosts for title, hosts in examples().items() if not title.endswith("refused")}


@pytest.mark.parametrize("hosts", HOLD.values(), ids=list(HOLD))
def test_what_was_saved_is_the_plan_again(hosts: Hosts) -> None:
    made = plan(hosts).dump()
    assert Plan.load(made).dump() == made
    assert Plan.load(json.loads(json.dumps(made))).dump() == made


def test_an_overridden_value_says_so_again() -> None:
    made = plan(local(alluxio_overrides={"worker.heap": "2Gi"}))
    assert Plan.load(made.dump()).nodes["localhost"]["worker"]["heap"] == made.nodes["localhost"]["worker"]["heap"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"version": 1}, ("plan.json: version: 1", f"only plans of version {VERSION}", "playbooks/plan.yml")),
        ({"fleet": None}, ("no whole plan", "playbooks/plan.yml")),
        ({"nodes": {"localhost": {"worker": {"heap": 1}}}}, ("no whole plan",)),
        ({"nodes": {"localhost": {"worker": {"heap": {"amount": 1}}}}}, ("no whole plan", "'rule'")),
        ({"notes": []}, ("no whole plan", "'notes'")),
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
    (target,) = door(targets.targets)(saved, "localhost", others=[saved])
    assert target == targets.targets(made, "localhost", [made])[0]
    assert door(diff_lines)(saved, new=saved) == ["the plans are equal"]
    assert door(trials.planned)(saved["nodes"]["localhost"]["fuse/imagenet-sample"])["knobs"]
    with pytest.raises(Refused, match=f"only plans of version {VERSION}"):
        door(targets.targets)(saved | {"version": 0}, "localhost")

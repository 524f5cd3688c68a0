"""The kernel's side of a mount: by the rules, as the user says, or as it was measured on the node."""

from typing import Any

from fleets import local

from alluxio_fuse.plan import plan
from alluxio_fuse.plan.values import Value

SET = "fuse/imagenet-sample"
WHY = "measured over 512: large files x1.40 (1.31 to 1.44)"


def tuned(behind: str, *, overrides: dict[str, Any] | None = None, **kept: int) -> dict[str, Value[Any]]:
    hosts = local(alluxio_overrides=overrides or {})
    record = {key: {"amount": amount, "why": WHY, "at": "2026-11-22T03:00:00Z"} for key, amount in kept.items()}
    facts = next(iter(hosts.values()))["facts"]
    facts["tuned"] = {"imagenet-sample": {"behind": behind, "kept": record}}
    return plan(hosts).nodes["localhost"][SET]


def amounts(service: dict[str, Value[Any]]) -> tuple[int, ...]:
    return tuple(service[key].amount for key in ("read_ahead_kb", "max_background", "congestion_threshold"))


def behind() -> str:
    return str(plan(local()).nodes["localhost"][SET]["behind"].amount)


def test_by_the_rules() -> None:
    assert amounts(plan(local()).nodes["localhost"][SET]) == (512, 64, 48)
    assert amounts(plan(local(alluxio_overrides={"fuse.client_cache_size": 0})).nodes["localhost"][SET])[0] == 1024
    assert amounts(plan(local(alluxio_profile="upstream")).nodes["localhost"][SET]) == (128, 12, 9)


def test_what_was_kept_on_the_node_is_planned_with_its_reason() -> None:
    service = tuned(behind(), read_ahead_kb=256)
    assert amounts(service) == (256, 64, 48)
    assert service["read_ahead_kb"].why == WHY
    assert service["read_ahead_kb"].source == "playbooks/tune.yml, 2026-11-22T03:00:00Z"


def test_what_follows_from_it_follows() -> None:
    assert amounts(tuned(behind(), max_background=32)) == (512, 32, 24)
    assert amounts(tuned(behind(), max_background=32, congestion_threshold=32)) == (512, 32, 32)


def test_what_was_measured_over_something_else_is_worth_nothing() -> None:
    assert amounts(tuned("workers", read_ahead_kb=4096)) == (512, 64, 48)


def test_what_the_user_says_stands() -> None:
    assert amounts(tuned(behind(), overrides={"fuse.read_ahead_kb": 256}, read_ahead_kb=4096)) == (256, 64, 48)

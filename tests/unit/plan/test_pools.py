"""In a Kubernetes cluster, which nodes have the same pods, and which have pods of their own."""

from typing import Any

import pytest
from fleets import facts

from alluxio_fuse.plan import Plan, Refused, plan
from alluxio_fuse.plan.pools import inventory_groups
from alluxio_fuse.plan.values import amounts

DATASET = {"name": "imagenet", "source": "s3://bucket/imagenet", "files": 1_300_000, "bytes": "150Gi"}
SAID = {"alluxio_platform": "kubernetes", "alluxio_datasets": [DATASET]}


def planned(nodes: dict[str, tuple[int, list[str]]], **said: Any) -> Plan:
    """A plan of {host: (GiB of memory, its groups below gpu_nodes)}, and of a master."""
    hosts = {"cpu": {"groups": ["masters"], "variables": SAID | said, "facts": facts(memory=32, cpus=8)}}
    for name, (memory, groups) in nodes.items():
        about = facts(memory=memory, cpus=32, gpus=("NVIDIA A100-SXM4-80GB",))
        hosts[name] = {"groups": ["gpu_nodes", *groups], "variables": SAID | said, "facts": about}
    return plan(hosts)


def pools(made: Plan) -> dict[str, list[str]]:
    return {one.name: one.nodes for one in made.fleet["pools"].amount}


def held(made: Plan, host: str) -> int:
    """Bytes of datasets that a node's worker and FUSE hold."""
    services = {name: amounts(one) for name, one in made.nodes[host].items()}
    return int(sum(tier.quota for tier in services["worker"]["tiers"]) + services["fuse/imagenet"]["client_cache"].size)


IMAGENET = "alluxio-fuse.alluxio-fuse/imagenet"  # the label that tells how a node reads it
SMALL, BIG = (64, ["gpu_t4"]), (1024, ["gpu_a100"])


def test_each_group_of_unlike_nodes_has_pods_of_its_own_plan() -> None:
    made = planned({"t4-1": SMALL, "t4-2": SMALL, "a100-1": BIG})
    assert pools(made) == {"": ["t4-1", "t4-2"], "gpu-a100": ["a100-1"]}
    assert held(made, "a100-1") > 150 * 2**30 > held(made, "t4-1")
    assert not [one for one in made.warnings if one["path"] == "gpu_nodes"]


def test_pods_find_their_nodes_by_the_amount_of_a_label() -> None:
    made = planned({"t4-1": SMALL, "a100-1": BIG})
    labels = {host: made.nodes[host]["node"]["labels"].amount for host in made.nodes}
    assert labels["cpu"] == {"alluxio-fuse/alluxio-fuse.master": "true"}
    services = [f"alluxio-fuse/alluxio-fuse.{service}" for service in ("worker", "fuse")]
    assert {label: labels["t4-1"][label] for label in services} == dict.fromkeys(services, "true")
    assert {label: labels["a100-1"][label] for label in services} == dict.fromkeys(services, "gpu-a100")
    assert labels["t4-1"].keys() == labels["a100-1"].keys() == {*services, IMAGENET}


def test_a_label_tells_how_a_node_reads_a_dataset() -> None:
    nodes = {"t4-1": SMALL, "a100-1": BIG}

    def told(stage: str) -> dict[str, str]:
        made = planned(nodes, alluxio_datasets=[{**DATASET, "stage": stage}])
        return {host: made.nodes[host]["node"]["labels"].amount[IMAGENET] for host in nodes}

    assert told("off") == {"t4-1": "fuse", "a100-1": "fuse"}
    assert told("auto") == {"t4-1": "fuse", "a100-1": "staged"}


@pytest.mark.parametrize("group", ["us_east_1_p4de_24xlarge_a100_80gb", "gpu_a100_"])
def test_a_group_that_no_label_can_name_is_refused(group: str) -> None:
    with pytest.raises(Refused, match="a pool is called by its inventory group"):
        planned({"t4-1": SMALL, "a100-1": (1024, [group])})


def test_groups_of_nodes_alike_are_one_pool() -> None:
    made = planned({"a": (256, ["rack_1"]), "b": (256, ["rack_2"])})
    assert pools(made) == {"": ["a", "b"]}


def test_a_pool_has_the_name_of_the_largest_group_that_it_holds_whole() -> None:
    big = {f"a100-{rack}": (1024, ["gpu_a100", f"rack_{rack}"]) for rack in (1, 2)}
    made = planned({"t4-1": (64, ["gpu_t4", "rack_1"]), **big})
    assert pools(made) == {"": ["t4-1"], "gpu-a100": ["a100-1", "a100-2"]}


def test_unlike_nodes_of_one_group_have_the_shape_of_the_smallest_and_say_so() -> None:
    made = planned({"old": (128, ["gpu"]), "new": (1024, ["gpu"])})
    assert pools(made) == {"": ["old", "new"]}
    assert held(made, "old") == held(made, "new")
    (warning,) = [one["message"] for one in made.warnings if one["path"] == "gpu_nodes"]
    assert "new could hold more" in warning
    assert "a group of its own below gpu_nodes" in warning


def test_nodes_that_a_label_of_the_users_picks_are_one_pool() -> None:
    """No label of ours tells them apart."""
    made = planned({"t4-1": SMALL, "a100-1": BIG}, alluxio_kubernetes={"node_selector": {"pool": "gpu"}})
    assert pools(made) == {"": ["t4-1", "a100-1"]}
    assert held(made, "t4-1") == held(made, "a100-1")


def test_nodes_without_a_worker_are_apart_from_those_that_have_one() -> None:
    small = [{**DATASET, "files": 1000, "bytes": "1Gi"}]
    made = planned({"a": (256, ["gpu"]), "b": (6, ["gpu"])}, alluxio_datasets=small)
    assert "worker" not in made.nodes["b"]
    assert pools(made) == {"": ["a"], "gpu-mounts": ["b"]}


def test_each_pool_may_say_what_its_gpus_need() -> None:
    """The gate of A100s does not hang on T4s, which no public figure tells of."""
    hosts = {"t4-1": SMALL, "a100-1": BIG}
    said = {"model": "T4", "count": 1, "mb_per_s": 40, "files_per_s": 350}
    base = planned(hosts).nodes["a100-1"]["node"]["gate"]
    own = {"cpu": {"groups": ["masters"], "variables": SAID, "facts": facts(memory=32, cpus=8)}}
    for name, (memory, groups) in hosts.items():
        gpus = {"alluxio_gpus": [said]} if name == "t4-1" else {}
        about = facts(memory=memory, cpus=32, gpus=("NVIDIA A100-SXM4-80GB",))
        own[name] = {"groups": ["gpu_nodes", *groups], "variables": SAID | gpus, "facts": about}
    made = plan(own)
    assert made.nodes["a100-1"]["node"]["gate"] == base
    gate = made.nodes["t4-1"]["node"]["gate"].amount
    assert (gate.status, gate.mb_per_s) == ("derived", 40)


def test_a_need_in_files_alone_is_refused() -> None:
    said = {"alluxio_gpus": [{"model": "T4", "count": 1, "files_per_s": 350}]}
    with pytest.raises(Refused, match="files_per_s without mb_per_s"):
        planned({"t4-1": SMALL}, **said)


def test_a_saved_plan_has_the_same_pools() -> None:
    made = planned({"t4-1": SMALL, "a100-1": BIG})
    assert Plan.load(made.dump()).fleet["pools"] == made.fleet["pools"]


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ({"a": ["gpu_nodes", "big"], "b": ["masters"]}, {"a": ("big",)}),
        ({"a": ["gpu_nodes", "debian"], "b": ["masters", "debian"]}, {"a": ()}),
        ({"a": ["gpu_nodes", "masters", "z", "b"]}, {"a": ("b", "z")}),
    ],
)
def test_groups_that_hold_others_are_no_pools(groups: dict[str, list[str]], found: dict[str, tuple[str, ...]]) -> None:
    assert inventory_groups(groups) == found

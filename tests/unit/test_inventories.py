"""The inventories that users copy are planned on nodes as they describe, and rendered into values of the chart."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fleets import facts, filesystem

from alluxio_fuse.chart.values import chart_values
from alluxio_fuse.fluid.render import render
from alluxio_fuse.plan import plan

ROOT = Path(__file__).parents[2]
NVME = [f"/mnt/nvme{number}" for number in range(8)]
#: GiB of each disk for caches.
CACHE = {
    "gpu_t4": {"/mnt/cache": 900},
    "gpu_a100": {"/mnt/cache": 7000},
    "gpu_h100": dict.fromkeys(NVME, 3500),
}
MACHINES: dict[str, dict[str, Any]] = {
    "masters": {"memory": 64, "cpus": 16},
    "gpu_t4": {"memory": 64, "cpus": 8, "gpus": ("Tesla T4",)},
    "gpu_a100": {"memory": 1024, "cpus": 96, "gpus": ("NVIDIA A100-SXM4-80GB",) * 8},
    "gpu_h100": {"memory": 2048, "cpus": 192, "gpus": ("NVIDIA H100 80GB HBM3",) * 8},
    "gpu_pool": {"memory": 512, "cpus": 96, "gpus": ("NVIDIA A100-SXM4-80GB",) * 8},
}
CLUSTERS = ("staging", "production", "managed")


def inventory(name: str) -> dict[str, Any]:
    command = [f"{sys.prefix}/bin/ansible-inventory", "-i", f"inventories/{name}", "--list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    listed: dict[str, Any] = json.loads(done.stdout)
    return listed


def fleet(name: str) -> dict[str, Any]:
    """The hosts of an inventory with facts of the machines that it describes."""
    listed = inventory(name)
    hosts = {}
    for host, variables in listed["_meta"]["hostvars"].items():
        groups = [group for group, about in listed.items() if host in about.get("hosts", [])]
        pool = next(group for group in reversed(groups) if group in MACHINES)
        if any(group.startswith("gpu_") for group in groups):
            groups.append("gpu_nodes")
            pool = next(group for group in groups if group in MACHINES and group != "masters")
        volumes = [filesystem("/", 200)]
        for path, size in CACHE.get(pool, {}).items():
            volumes.append(filesystem(path, size, inodes_free=400_000_000))
        said = {key: value for key, value in variables.items() if key.startswith("alluxio_")}
        known = facts(**MACHINES[pool], filesystems=volumes)
        hosts[host] = {"groups": groups, "variables": said, "facts": known}
    return hosts


@pytest.mark.parametrize("name", CLUSTERS)
def test_it_is_planned_and_rendered(name: str) -> None:
    made = plan(fleet(name))
    values = chart_values(made, {"imagenet": "keys"})
    assert values["datasets"][0]["credentials"]["secret"] == "keys"  # noqa: S105 - a name
    assert values["master"]["replicas"] == (3 if name == "production" else 1)
    assert made.environment == name


def test_that_of_fluid_is_planned_and_rendered() -> None:
    hosts = {}
    for name, said in inventory("fluid")["_meta"]["hostvars"].items():
        known = facts(memory=512, cpus=96, filesystems=[filesystem("/", 200), filesystem("/mnt/nvme", 1500)])
        groups = ["gpu_nodes", *(["masters"] if name == "gpu-1" else [])]
        dataset = said["alluxio_datasets"][0] | {"files": 1024, "bytes": 144_000_000_000}
        variables = {key: value for key, value in said.items() if key.startswith("alluxio_")}
        hosts[name] = {"groups": groups, "variables": variables | {"alluxio_datasets": [dataset]}, "facts": known}
    dataset, runtime = render(plan(hosts), {})
    assert dataset["spec"]["mounts"][0]["mountPoint"] == "pvc://nfs-imagenet/train"
    assert runtime["spec"]["replicas"] == 2


@pytest.mark.parametrize(
    ("cluster", "reached"),
    [
        ({"kubeconfig": "/kube/config", "context": "gpu", "namespace": "data"}, ["/kube/config", "gpu", "data"]),
        ({}, ["", "", "alluxio-fuse"]),
    ],
)
@pytest.mark.parametrize("name", ["managed", "fluid"])
def test_the_connection_is_to_the_cluster_that_is_named(name: str, cluster: dict[str, str], reached: list[str]) -> None:
    how = "{{ [ansible_kubectl_kubeconfig, ansible_kubectl_context, ansible_kubectl_namespace] | to_json }}"
    extra = json.dumps({"alluxio_kubernetes": cluster, "how": how})
    ask = [f"{sys.prefix}/bin/ansible", "all", "-i", f"inventories/{name}", "-m", "debug", "-a", "var=how", "-e", extra]
    said = subprocess.run(ask, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert json.dumps(reached) in said, said


def test_each_pool_has_the_shape_of_its_own_nodes() -> None:
    hosts = fleet("staging")
    for host in hosts.values():
        host["variables"]["alluxio_datasets"][0]["bytes"] = "1Ti"
    made = plan(hosts)
    t4, a100 = made.nodes["staging-t4-1"], made.nodes["staging-a100-1"]
    cached = [node["fuse/imagenet"]["client_cache"].amount.size for node in (t4, a100)]
    assert cached[1] > 1.5 * cached[0]
    assert [one for one in made.warnings if one["path"] == "gpu_nodes"] == []
    pools = {made.pool(host): pool.nodes for pool in made.fleet["pools"].amount for host in pool.nodes}
    assert sorted(map(sorted, pools.values())) == [["staging-a100-1"], ["staging-t4-1", "staging-t4-2"]]
    values = chart_values(made)
    (other,) = values["pools"]
    whole = {values["worker"]["nodeSelector"]["alluxio-fuse/alluxio-fuse.worker"], other["name"]}
    assert whole in ({"true", "gpu-t4"}, {"true", "gpu-a100"})
    assert other["worker"]["nodeSelector"] == {"alluxio-fuse/alluxio-fuse.worker": other["name"]}
    assert other["datasets"]["imagenet"]["clientCache"] != values["datasets"][0]["fuse"]["clientCache"]


def test_every_disk_of_a_node_is_used() -> None:
    hosts = fleet("production")
    for host in hosts.values():
        host["variables"]["alluxio_datasets"][0]["bytes"] = "40Ti"
    tiers = plan(hosts).nodes["prod-h100-1"]["worker"]["tiers"].amount
    assert {tier.path for tier in tiers if tier.medium == "ssd"} == {f"{path}/alluxio-fuse/tier" for path in NVME}


def test_labels_follow_the_groups_and_a_pool_of_its_own_needs_none() -> None:
    production, managed = plan(fleet("production")).nodes, plan(fleet("managed")).nodes
    assert production["prod-cpu-1"]["node"]["labels"].amount == {"alluxio-fuse/alluxio-fuse.master": "true"}
    pools = {production[host]["node"]["pool"].amount: host for host in ("prod-h100-1", "prod-a100-1")}
    assert len(pools) == 2
    for pool, host in pools.items():
        assert production[host]["node"]["labels"].amount == {
            "alluxio-fuse/alluxio-fuse.worker": pool or "true",
            "alluxio-fuse/alluxio-fuse.fuse": pool or "true",
            "alluxio-fuse.alluxio-fuse/imagenet": "fuse",
            "alluxio-fuse.alluxio-fuse/clicks": "fuse",
        }
    assert managed["managed-gpu-2"]["node"]["labels"].amount == {}


def test_only_this_machine_is_let_off_what_could_not_be_told() -> None:
    said = {name: inventory(name)["_meta"]["hostvars"] for name in (*CLUSTERS, "local")}
    forgiving = {name for name, hosts in said.items() for host in hosts.values() if "alluxio_check_fail_on" in host}
    assert forgiving == {"local"}
    assert said["local"]["localhost"]["alluxio_check_fail_on"] == ["FAIL"]
    made = plan({"n": {"groups": ["masters", "gpu_nodes"], "variables": {}, "facts": facts()}})
    assert made.fleet["gate"].amount.min_disk_ratio is None


def test_environments_are_alike_in_shape() -> None:
    """The same variables everywhere but for what an environment has of its own."""
    own = {"alluxio_gpus", "alluxio_credentials", "alluxio_cache_tiers"}
    shapes = []
    for name in CLUSTERS:
        said = {key for host in fleet(name).values() for key in host["variables"]} - own
        shapes.append(said)
    assert shapes[0] == shapes[1] == shapes[2]


SCRIPT = """#!/bin/sh
echo '{"gpu_nodes": {"hosts": ["asked"]}, "_meta": {"hostvars": {"asked": {"alluxio_gpus": []}}}}'
"""
CONSTRUCTED = """
plugin: ansible.builtin.constructed
groups:
  gpu_nodes: inventory_hostname is match('gpu')
"""
TOML = '[gpu_nodes.hosts.told]\nalluxio_name = "x"\n'


@pytest.mark.parametrize(
    ("sources", "group", "host"),
    [
        (["gpu-1,"], "ungrouped", "gpu-1"),
        (["script"], "gpu_nodes", "asked"),
        (["gpu-1,", "constructed.yml"], "gpu_nodes", "gpu-1"),
        (["told.toml"], "gpu_nodes", "told"),
    ],
)
def test_what_ansible_reads_by_itself_is_read_here(tmp_path: Path, sources: list[str], group: str, host: str) -> None:
    (tmp_path / "script").write_text(SCRIPT)
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "constructed.yml").write_text(CONSTRUCTED)
    (tmp_path / "told.toml").write_text(TOML)
    command = [f"{sys.prefix}/bin/ansible-inventory", "--list"]
    for source in sources:
        command += ["-i", source if source.endswith(",") else str(tmp_path / source)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[group]["hosts"] == [host], done.stderr
    assert "WARNING" not in done.stderr

"""Objects of Fluid from a plan: as reviewed, and with the plan's amounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fluid_systems import IMAGE, SYSTEMS, Nodes, nfs, on_s3, planned

from alluxio_fuse.fluid.render import render
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.values import amounts

GOLDEN = Path(__file__).parent / "golden"
Object = dict[str, Any]


class Plain(yaml.SafeDumper):
    """YAML as people write it: no aliases, and items of a list indented."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base calls it so
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)


@pytest.mark.parametrize("name", SYSTEMS)
def test_objects_are_as_reviewed(name: str, nodes: Nodes, pytestconfig: pytest.Config) -> None:
    file, made = GOLDEN / f"{name}.yaml", SYSTEMS[name](nodes)
    if pytestconfig.getoption("--update-golden", default=False):
        file.write_text(yaml.dump_all(made, Dumper=Plain, sort_keys=False, width=110, explicit_start=True))
    assert list(yaml.safe_load_all(file.read_text())) == made, "run with --update-golden and review the difference"


@pytest.mark.parametrize("name", SYSTEMS)
def test_nothing_can_be_written_through_any_object(name: str, nodes: Nodes) -> None:
    dataset, runtime = SYSTEMS[name](nodes)[:2]
    assert dataset["spec"]["accessModes"] == ["ReadOnlyMany"]
    assert [mount["readOnly"] for mount in dataset["spec"]["mounts"]] == [True]
    options = " ".join(runtime["spec"]["fuse"]["args"]).replace("=", ",").replace("-o", ",").split(",")
    assert "ro" in [option.strip() for option in options]
    if dataset["spec"]["mounts"][0]["mountPoint"].startswith("pvc://"):  # which `readOnly` does not reach
        assert runtime["spec"]["properties"]["alluxio.master.mount.table.root.readonly"] == "true"


@pytest.mark.parametrize("name", ["oss-jindo", "oss-alluxio", "s3-alluxio"])
def test_keys_are_named_and_never_there(name: str, nodes: Nodes) -> None:
    mount = SYSTEMS[name](nodes)[0]["spec"]["mounts"][0]
    references = [one["valueFrom"]["secretKeyRef"] for one in mount["encryptOptions"]]
    assert references == [{"name": "alluxio-fuse-imagenet", "key": key} for key in ("access_key", "secret_key")]
    assert not {one["name"] for one in mount["encryptOptions"]} & mount["options"].keys()


def test_a_store_that_anybody_may_read_needs_no_secret(nodes: Nodes) -> None:
    mount = render(planned(**on_s3(anonymous=True)), nodes)[0]["spec"]["mounts"][0]
    assert "encryptOptions" not in mount
    assert mount["options"]["alluxio.underfs.s3.signer.algorithm"] == "NoOpSignerType"


def service(made: Plan, name: str) -> dict[str, Any]:
    return amounts(made.nodes["node-0"][name])


@pytest.mark.parametrize(("part", "name"), [("master", "master"), ("worker", "worker"), ("fuse", "fuse/imagenet")])
def test_heaps_are_the_plans_and_not_16_gib(part: str, name: str, nodes: Nodes) -> None:
    made = planned()
    options = render(made, nodes)[1]["spec"][part]["jvmOptions"]
    assert f"-Xmx{service(made, name)['heap'] // 2**20}m" in options
    limit = render(made, nodes)[1]["spec"][part]["resources"]["limits"]["memory"]
    assert limit == f"{-(-service(made, name)['container_memory'] // 2**20)}Mi"


def test_an_override_reaches_the_runtime(nodes: Nodes) -> None:
    made = planned(alluxio_overrides={"worker.heap": "3Gi"})
    assert "-Xmx3072m" in render(made, nodes)[1]["spec"]["worker"]["jvmOptions"]


def test_job_services_get_a_heap_by_the_only_way_that_reaches_them(nodes: Nodes) -> None:
    spec = nfs(nodes)[1]["spec"]
    assert [option for option in spec["jvmOptions"] if option.startswith("-XX:MaxRAMPercentage=")]
    assert spec["jobWorker"].keys() == {"resources"}


def test_a_disk_holds_workers_tiers_and_no_client_cache(nodes: Nodes) -> None:
    made = planned(alluxio_cache_tiers=[{"medium": "memory"}, {"medium": "ssd", "path": "/mnt/nvme"}])
    cache = service(made, "fuse/imagenet")["client_cache"]
    assert cache.medium in (None, "memory")


def test_a_client_cache_in_memory_is_a_volume_of_the_pod(nodes: Nodes) -> None:
    small = [{"name": "small", "source": "s3://bucket/small", "files": 1000, "bytes": "1Gi"}]
    runtime = render(
        planned(alluxio_datasets=small, alluxio_fluid={}, alluxio_cache_tiers=[{"medium": "memory"}]), nodes
    )[1]
    spec = runtime["spec"]
    volume = next(one for one in spec["volumes"] if one["name"] == "client-cache")
    assert volume["emptyDir"]["medium"] == "Memory"
    mounted = next(one for one in spec["fuse"]["volumeMounts"] if one["name"] == "client-cache")["mountPath"]
    assert spec["fuse"]["properties"]["alluxio.user.client.cache.dirs"] == mounted


def test_several_disks_are_one_level_with_a_quota_for_each(nodes: Nodes) -> None:
    from fleets import IMAGENET, filesystem, fleet  # noqa: PLC0415

    from alluxio_fuse.plan import plan  # noqa: PLC0415

    tiers = [{"medium": "ssd", "path": f"/mnt/nvme{number}"} for number in range(2)]
    variables = {
        "alluxio_platform": "fluid",
        "alluxio_datasets": [IMAGENET],
        "alluxio_cache_tiers": tiers,
        "alluxio_workload": "resnet50",
    }
    disks = [filesystem("/", 200), *(filesystem(f"/mnt/nvme{number}", 60) for number in range(2))]
    level = render(plan(fleet(4, variables, memory=512, cpus=96, filesystems=disks)), {})[1]["spec"]["tieredstore"][
        "levels"
    ][0]
    assert len(level["path"].split(",")) == len(level["quotaList"].split(",")) == 2


@pytest.mark.parametrize(
    ("variables", "key", "values"),
    [
        ({}, "nvidia.com/gpu.product", ["Tesla-V100-SXM2-32GB"]),
        ({"alluxio_kubernetes": {"node_selector": {"example.com/pool": "gpu"}}}, "example.com/pool", ["gpu"]),
    ],
)
def test_nodes_are_chosen_by_label(variables: dict[str, Any], key: str, values: list[str], nodes: Nodes) -> None:
    terms = render(planned(**variables), nodes)[0]["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": key, "operator": "In", "values": values}]}]


def test_nodes_without_labels_of_gpus_are_chosen_by_name() -> None:
    terms = render(planned(), {})[0]["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    hosts = [f"node-{number}" for number in range(4)]
    assert terms[0]["matchExpressions"] == [{"key": "kubernetes.io/hostname", "operator": "In", "values": hosts}]


def test_the_official_image_is_for_fluids_pods_alone(nodes: Nodes) -> None:
    made = planned(alluxio_fluid={"image": "docker.io/alluxio/alluxio:2.9.5"})
    spec = render(made, nodes)[1]["spec"]
    assert spec["alluxioVersion"] == {"image": "docker.io/alluxio/alluxio", "imageTag": "2.9.5"}
    assert (spec["fuse"]["image"], spec["fuse"]["imageTag"]) == ("docker.io/alluxio/alluxio", "2.9.5")
    assert made.fleet["image"].amount == IMAGE

"""Values of the chart from a plan: the same amounts, in the chart's words."""

import copy
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fleets import IMAGENET, fleet
from jsonschema import validate
from planned import plan_of, value

from alluxio_fuse.chart.reserved import CHART
from alluxio_fuse.chart.values import UnlikeNodesError, chart_digest, chart_values
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan import plan as derive
from alluxio_fuse.plan.sources import UNSIGNED
from alluxio_fuse.tune.processes import OTHER_COLLECTOR

GIB, MIB = 2**30, 2**20


def service(heap: int, limit: int, **more: Any) -> dict[str, Any]:
    """A Java service of a plan: MiB of heap and of its limit."""
    return {
        "heap": heap * MIB,
        "direct_memory": 128 * MIB,
        "container_memory": limit * MIB,
        "cpu_request": 200,
        "collector": "Serial",
        "jvm_extra": ["-XX:ActiveProcessorCount=16"],
        "properties": {"alluxio.master.hostname": "m", "alluxio.user.rpc.retry.max.duration": "1min"},
        **more,
    }


def fuse(dataset: str, **cache: Any) -> dict[str, Any]:
    return service(
        1024,
        4096,
        mount_options=["allow_other", "ro"],
        libfuse=2,
        environment={"MAX_IDLE_THREADS": "64"},
        settings_file=f"/var/lib/a/mount-settings/{dataset}",
        read_ahead_kb=2048,
        client_cache={"enabled": True, "page_size": MIB, "path": f"/mnt/nvme0/a/client-cache/{dataset}", **cache},
    )


def dataset(name: str, source: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "source": source, "readers": {"uid": 0, "gid": 2000, "mode": "0750"}, **more}


def say(plan: Plan, index: int, **said: Any) -> None:
    """Plan a dataset otherwise."""
    datasets = plan.fleet["datasets"].amount
    datasets[index] = replace(datasets[index], **said)


@pytest.fixture
def plan() -> Plan:
    """Two nodes alike: a tier in memory and one on a disk, a dataset on S3 and one on a shared filesystem."""
    tiers = [
        {"medium": "memory", "path": "/var/lib/a/tier/memory", "quota": GIB, "high": 0.99, "low": 0.8},
        {"medium": "ssd", "path": "/mnt/nvme0/a/tier", "quota": 100 * GIB, "high": 0.99, "low": 0.8},
    ]
    here = {
        "node": {
            "mount_root": "/mnt/a",
            "cache_media": [
                {"kind": "filesystem", "path": "/mnt/nvme0"},
                {"kind": "tmpfs", "path": "/var/lib/a/tier/memory"},
            ],
        },
        "worker": service(1024, 4096, tiers=tiers),
        "job_worker": service(512, 1024),
        "fuse/imagenet": fuse("imagenet", medium="memory", size=2 * GIB) | {"tmpfs_memory": 2060 * MIB},
        "fuse/lake": fuse("lake", medium="ssd", size=50 * GIB),
    }
    fleet = {
        "image": "registry.example:5000/a/alluxio-fuse:2.9.6",
        "java_major": 17,
        "masters": ["a-master-0"],
        "node_access": True,
        "kubernetes": {"node_selector": {}, "tolerations": [], "pull_secrets": [], "storage_class": ""},
        "datasets": [
            dataset("imagenet", "s3://bucket/imagenet/", options={"alluxio.underfs.s3.endpoint": "https://s3"}),
            dataset("lake", "file:///mnt/lustre/lake"),
        ],
    }
    first = {"master": service(2048, 3072), "job_master": service(512, 1024), **here}
    nodes = {"node-0": first, "node-1": copy.deepcopy(here)}
    return plan_of("a", fleet, nodes)


def test_java_is_typed_and_its_parts_make_the_limit(plan: Plan) -> None:
    worker = chart_values(plan)["worker"]
    assert worker["jvm"] == {
        "heap": "1024Mi",
        "direct": "128Mi",
        "overhead": "1920Mi",
        "collector": "Serial",
        "extra": ["-XX:ActiveProcessorCount=16"],
    }
    assert worker["resources"] == {"requests": {"cpu": "200m", "memory": "4096Mi"}, "limits": {"memory": "4096Mi"}}


def test_what_the_chart_derives_is_left_to_it(plan: Plan) -> None:
    assert chart_values(plan)["master"]["properties"] == {"alluxio.user.rpc.retry.max.duration": "1min"}


def test_tiers_on_disks_say_what_must_be_mounted(plan: Plan) -> None:
    memory, ssd = chart_values(plan)["worker"]["tiers"]
    assert memory == {"medium": "memory", "quota": "1024Mi", "high": 0.99, "low": 0.8, "emptyDir": {}}
    assert ssd["hostPath"] == {"path": "/mnt/nvme0/a/tier", "mountPoint": "/mnt/nvme0"}


def test_datasets(plan: Plan) -> None:
    imagenet, lake = chart_values(plan, {"imagenet": "imagenet-keys"})["datasets"]
    assert imagenet["source"] == "s3://bucket/imagenet"
    assert imagenet["credentials"] == {"secret": "imagenet-keys", "accessKey": "access_key", "secretKey": "secret_key"}
    cache = {"enabled": True, "medium": "memory", "size": "2048Mi", "pageSize": "1Mi", "volumeSize": "2060Mi"}
    assert imagenet["fuse"]["clientCache"] == cache
    assert imagenet["fuse"]["jvm"]["overhead"] == "884Mi"
    assert lake["volume"] == {"hostPath": "/mnt/lustre/lake"}
    assert "credentials" not in lake
    assert lake["fuse"]["clientCache"]["hostPath"] == {"path": "/mnt/nvme0/a/client-cache", "mountPoint": "/mnt/nvme0"}


def test_oss_may_have_a_token(plan: Plan) -> None:
    """Whether the Secret has one shows in the Secret alone."""
    say(plan, 0, oss={"endpoint": "https://oss-x.aliyuncs.com", "region": "x"})
    imagenet, lake = chart_values(plan, {"imagenet": "imagenet-keys"})["datasets"]
    assert imagenet["credentials"]["securityToken"] == "security_token"
    assert "credentials" not in lake


def test_an_anonymous_dataset_needs_no_secret(plan: Plan) -> None:
    options = plan.datasets[0].options
    say(plan, 0, options={**options, **UNSIGNED})
    imagenet, lake = chart_values(plan)["datasets"]
    assert (imagenet["s3"], imagenet["options"]) == ({"anonymous": True}, options)
    assert "credentials" not in imagenet
    assert "s3" not in lake


def test_the_marker_of_a_shared_filesystem_is_proven_by_pods(plan: Plan) -> None:
    marker = {"file": ".dataset", "sha256": "0" * 64}
    say(plan, 1, marker=marker)
    lake = chart_values(plan)["datasets"][1]
    assert lake["volume"] == {"hostPath": "/mnt/lustre/lake", "marker": marker}


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("registry.example:5000/a/b:1", ("registry.example:5000/a/b", "1", "")),
        ("registry.example:5000/a/b", ("registry.example:5000/a/b", "", "")),
        ("a/b@sha256:00", ("a/b", "", "sha256:00")),
    ],
)
def test_image(plan: Plan, image: str, parts: tuple[str, str, str]) -> None:
    plan.fleet["image"] = value(image)
    made = chart_values(plan)["image"]
    assert (made["repository"], made["tag"], made["digest"]) == parts


def test_nodes_that_differ_are_refused_by_name(plan: Plan) -> None:
    plan.nodes["node-1"]["worker"]["heap"] = value(5 * GIB)
    with pytest.raises(UnlikeNodesError, match="worker: node-0 and node-1 differ in heap"):
        chart_values(plan)


def test_what_was_tuned_on_a_node_is_no_difference_and_stays_there(plan: Plan) -> None:
    plan.nodes["node-1"]["fuse/imagenet"]["read_ahead_kb"] = value(512)
    assert chart_values(plan)["fuse"]["settingsPath"] == "/var/lib/a/mount-settings"
    plan.fleet["node_access"] = value(False)
    assert chart_values(plan)["fuse"]["settingsPath"] == ""


def test_an_edited_template_is_another_digest(tmp_path: Path) -> None:
    chart = Path(shutil.copytree(CHART, tmp_path / "chart"))
    assert chart_digest(chart) == chart_digest()
    (chart / "README.md").write_text("not deployed")
    assert chart_digest(chart) == chart_digest()
    (chart / "templates" / "NOTES.txt").write_text("edited")
    assert chart_digest(chart) != chart_digest()


def test_addresses_of_nodes_are_no_difference(plan: Plan) -> None:
    properties = plan.nodes["node-1"]["worker"]["properties"].amount
    properties["alluxio.worker.hostname"] = "node-1"
    assert chart_values(plan)["worker"]["properties"] == {"alluxio.user.rpc.retry.max.duration": "1min"}


def test_certificates_are_told_apart_by_digest(plan: Plan) -> None:
    assert chart_values(plan)["trust"]["digest"] == ""
    assert chart_values(plan, trust_digest="abc")["trust"]["digest"] == "abc"


def test_a_collector_that_the_user_names_is_the_chart_s() -> None:
    """Its schema takes it as a value, and not among other flags."""
    said = {"alluxio_platform": "kubernetes", "alluxio_datasets": [IMAGENET]}
    flags = {"worker.jvm_flags": [*OTHER_COLLECTOR, "-Xss1m"]}
    made = [chart_values(derive(fleet(2, said | more, memory=512))) for more in ({}, {"alluxio_overrides": flags})]
    before, after = (values["worker"]["jvm"] for values in made)
    assert (before["collector"], after["collector"]) == ("Serial", "Parallel")
    assert after["extra"] == [*before["extra"], "-Xss1m"]


def test_objects_of_others_may_have_every_name_that_kubernetes_allows() -> None:
    """The chart's schema takes them, too."""
    secret, namespace = f"registry.{'x' * 200}.example", "n" * 63
    cluster = {"namespace": namespace, "pull_secrets": [secret], "secrets": {"imagenet": secret}}
    said = {"alluxio_platform": "kubernetes", "alluxio_datasets": [IMAGENET], "alluxio_kubernetes": cluster}
    values = chart_values(derive(fleet(2, said)), {"imagenet": secret})
    validate(values, json.loads((CHART / "values.schema.json").read_text()))
    assert values["image"]["pullSecrets"] == [secret]
    assert values["datasets"][0]["credentials"]["secret"] == secret

"""Unlike nodes in one release: each pool has what was planned for it, and no pod is two pools'."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from fleets import facts
from helm import Helm, Object, case, containers, pod_template
from test_change import templates

from alluxio_fuse.chart.reserved import is_reserved
from alluxio_fuse.chart.values import chart_values
from alluxio_fuse.plan import Plan, plan
from alluxio_fuse.plan.values import amounts

DATASETS = [
    {"name": "imagenet", "source": "s3://bucket/imagenet", "files": 256, "bytes": "36Gi"},
    {"name": "clicks", "source": "s3://bucket/clicks", "files": 12_000, "bytes": "60Gi", "freshness": "within: 10m"},
]
SAID = {"alluxio_platform": "kubernetes", "alluxio_datasets": DATASETS}
PLACES = (".port", ".hostname", ".dirs", ".bind.host", ".size", ".dirs.path", ".dirs.quota", "ratio")


@pytest.fixture(scope="module")
def planned() -> Plan:
    """Two nodes of 64 GiB with a T4, one of 1 TiB with A100s, and a master."""
    small, big = facts(memory=64, cpus=8, gpus=("Tesla T4",)), facts(memory=1024, cpus=96, gpus=("NVIDIA A100",) * 4)
    hosts: dict[str, Any] = {"cpu-1": {"groups": ["masters"], "variables": SAID, "facts": facts(memory=64, cpus=16)}}
    for host, known in {"t4-1": small, "t4-2": small, "a100-1": big}.items():
        group = f"gpu_{host.partition('-')[0]}"
        hosts[host] = {"groups": ["gpu_nodes", group], "variables": SAID, "facts": known}
    return plan(hosts)


def container(objects: dict[Any, Object], daemons: str, name: str) -> Object:
    template = objects["DaemonSet", f"alluxio-fuse-{daemons}"]["spec"]["template"]
    return next(one for one in containers(template) if one["name"] == name)


def site(objects: dict[Any, Object], component: str) -> dict[str, str]:
    text = objects["ConfigMap", "alluxio-fuse"]["data"][f"{component}.properties"]
    return dict(line.split("=", 1) for line in text.splitlines() if line)


@pytest.mark.parametrize(("host", "pool"), [("t4-2", ""), ("a100-1", "gpu-a100")])
def test_each_pool_has_the_memory_and_the_site_files_of_its_own_plan(
    helm: Helm, planned: Plan, host: str, pool: str
) -> None:
    objects = helm.objects(values=chart_values(planned))
    end, dot = (f"-{pool}", f".{pool}") if pool else ("", "")
    for service, daemons, name in (
        ("worker", "worker", "worker"),
        ("job_worker", "worker", "job-worker"),
        ("fuse/imagenet", "fuse-imagenet", "fuse"),
        ("fuse/clicks", "fuse-clicks", "fuse"),
    ):
        wanted = amounts(planned.nodes[host][service])
        made = container(objects, f"{daemons}{end}", name)
        assert made["resources"]["limits"]["memory"] == f"{wanted['container_memory'] // 2**20}Mi"
        component = daemons if service.startswith("fuse/") else name
        its = site(objects, f"{component}{dot}")
        rule = {key: amount for key, amount in wanted["properties"].items() if not key.endswith(PLACES)}
        assert {key: its.get(key) for key in rule} == rule
        assert {key for key in its if not is_reserved(key)} <= wanted["properties"].keys()
        configure = container(objects, f"{daemons}{end}", f"configure-{name}")
        assert f"{component}{dot}.properties" in [mount.get("subPath") for mount in configure["volumeMounts"]]
    selector = objects["DaemonSet", f"alluxio-fuse-worker{end}"]["spec"]["template"]["spec"]["nodeSelector"]
    assert selector["alluxio-fuse/alluxio-fuse.worker"] == (pool or "true")
    labels = planned.nodes[host]["node"]["labels"].amount
    services = {label: labels[label] for label in labels if label.startswith("alluxio-fuse/")}
    assert services.items() <= {**selector, "alluxio-fuse/alluxio-fuse.fuse": pool or "true"}.items()


def test_a_pool_that_comes_changes_no_pod_of_others(helm: Helm) -> None:
    with_pool = helm.objects(case("unlike-nodes"))
    without = helm.objects(case("unlike-nodes"), values={"pools": []})
    before, after = templates(without), templates(with_pool)
    assert {key: after[key] for key in before} == before
    new = {"worker.a100", "fuse-imagenet.a100", "fuse-clicks.a100", "startup-taint.a100"}
    assert after.keys() - before.keys() == new


def test_no_selector_matches_pods_of_another_controller(helm: Helm) -> None:
    """The API server takes such selectors, and controllers may adopt each other's pods."""
    made = [one for one in helm.objects(case("unlike-nodes")).values() if "selector" in one.get("spec", {})]
    controllers = [one for one in made if one["kind"] in ("DaemonSet", "Deployment", "StatefulSet")]
    assert len(controllers) == 10
    for one, other in permutations(controllers, 2):
        template = pod_template(other)
        assert template is not None
        assert not one["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()

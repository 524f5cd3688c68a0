"""What the planner decides goes through the chart unchanged, and a real API server takes it."""

from typing import Any

import pytest
from fleets import fleet
from helm import Helm, RefusedError, containers
from test_render import apply

from alluxio_fuse.chart.refusals import refusals
from alluxio_fuse.chart.values import chart_values
from alluxio_fuse.plan import Plan, plan
from alluxio_fuse.plan.values import amounts

VARIABLES = {
    "alluxio_platform": "kubernetes",
    "alluxio_environment": "staging",
    "alluxio_datasets": [
        {"name": "imagenet", "source": "s3://bucket/imagenet", "files": 1_300_000, "bytes": 150 * 10**9},
        {"name": "clicks", "source": "s3://bucket/clicks", "files": 1000, "bytes": 10**9, "freshness": "within: 10m"},
    ],
}


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(fleet(4, VARIABLES, memory=512, cpus=64, disk=2000, gpus=("V100",) * 8))


def test_api_server_takes_a_planned_release(helm: Helm, cluster: list[str], planned: Plan) -> None:
    objects = list(helm.objects(values=chart_values(planned, {"imagenet": "keys"})).values())
    apply(cluster, [one for one in objects if one["kind"] not in ("PriorityClass", "Pod")], "--dry-run=server")


def test_a_dataset_within_the_room_starts_nothing_of_the_others_again(helm: Helm) -> None:
    """Only its own FUSE is new, and the deployment that mounts datasets is another one."""

    def objects(datasets: list[dict[str, Any]], **said: Any) -> dict[tuple[str, str], Any]:
        variables = VARIABLES | {"alluxio_datasets": datasets} | said
        made = plan(fleet(4, variables, memory=512, cpus=64, disk=2000, gpus=("V100",) * 8))
        return helm.objects(values=chart_values(made, {"imagenet": "keys", "clicks": "keys"}))

    def changed(**said: Any) -> set[str]:
        one, two = objects(VARIABLES["alluxio_datasets"][:1], **said), objects(VARIABLES["alluxio_datasets"], **said)
        kinds = ("StatefulSet", "DaemonSet", "Deployment")
        return {name for kind, name in two if kind in kinds and one.get((kind, name)) != two[kind, name]}

    new = {"alluxio-fuse-fuse-clicks", "alluxio-fuse-mounts"}
    assert changed() == {*new, "alluxio-fuse-master", "alluxio-fuse-worker"}
    assert changed(alluxio_room={"datasets": 4, "files": 2_000_000, "bytes": "200Gi"}) == new


def test_memory_and_mount_options_are_the_planned_ones(helm: Helm, planned: Plan) -> None:
    objects = helm.objects(values=chart_values(planned))
    for dataset in ("imagenet", "clicks"):
        template = objects["DaemonSet", f"alluxio-fuse-fuse-{dataset}"]["spec"]["template"]
        fuse = next(one for one in containers(template) if one["name"] == "fuse")
        wanted = amounts(planned.mounts("node-1")[dataset])
        assert fuse["resources"]["limits"]["memory"] == f"{wanted['container_memory'] // 2**20}Mi"
        assert fuse["args"][1] == f"--fuse-opts={','.join(wanted['mount_options'])}"
        assert fuse["args"][2] == wanted["mount_point"]


def test_the_volume_of_a_client_cache_has_room_for_what_small_files_lose(helm: Helm) -> None:
    """Each page is a file that loses 4 KiB: 2,000,000 files of 5 KB take nearly twice their bytes."""
    small = {"name": "clicks", "source": "s3://bucket/clicks", "files": 2_000_000, "bytes": 9 * 10**9}
    made = plan(fleet(4, VARIABLES | {"alluxio_datasets": [small]}, memory=512, cpus=64, gpus=("V100",) * 8))
    wanted = amounts(made.mounts("node-1")["clicks"])
    template = helm.objects(values=chart_values(made))["DaemonSet", "alluxio-fuse-fuse-clicks"]["spec"]["template"]
    volume = next(one for one in template["spec"]["volumes"] if one["name"] == "client-cache")
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": f"{wanted['tmpfs_memory'] // 2**20}Mi"}


def test_site_file_is_the_planned_one(helm: Helm, planned: Plan) -> None:
    site = helm.objects(values=chart_values(planned))["ConfigMap", "alluxio-fuse"]["data"]["fuse-imagenet.properties"]
    made = dict(line.split("=", 1) for line in site.splitlines())
    wanted = planned.mounts("node-1")["imagenet"]["properties"].amount
    places = {key for key in wanted if key.endswith((".port", ".hostname", ".dirs", ".bind.host", ".size"))}
    assert {key: made.get(key) for key in wanted.keys() - places} == {
        key: wanted[key] for key in wanted.keys() - places
    }


@pytest.mark.parametrize(("quota", "said"), [("1Gi", "NO_CACHE"), (None, "CACHE")])
def test_reads_go_past_workers_where_the_plan_has_them_do_so(helm: Helm, quota: str | None, said: str) -> None:
    """Where the plan says nothing, the default is Alluxio's own, and not the chart's."""
    own = {"alluxio_overrides": {"worker.tier_quota": quota}} if quota else {}
    made = plan(fleet(4, VARIABLES | own, memory=512, cpus=64, disk=2000, gpus=("V100",) * 8))
    data = helm.objects(values=chart_values(made))["ConfigMap", "alluxio-fuse"]["data"]
    for name in ("imagenet", "clicks"):
        site = dict(line.split("=", 1) for line in data[f"fuse-{name}.properties"].splitlines())
        assert site["alluxio.user.file.readtype.default"] == said


@pytest.mark.parametrize(
    ("said", "longest"),
    [
        (("a", "{}", "", "data"), 30),
        (("a" * 36, "{}", "", "data"), 20),
        (("a" * 24, "b" * 20, "{}", "data"), 12),
        (("a" * 30, "b", "", "{}"), 32),
    ],
    ids=["dataset", "dataset and deployment", "pool", "driver"],
)
def test_the_longest_names_are_those_that_the_chart_takes(helm: Helm, said: tuple[str, ...], longest: int) -> None:
    """Names of deployment, dataset, group and namespace: one is as long as it may be, and then a character longer."""

    def made(length: int) -> tuple[Plan, str]:
        name, dataset, group, namespace = (one.format("x" * length) for one in said)
        variables = {
            "alluxio_name": name,
            "alluxio_kubernetes": {"namespace": namespace, "values": {"csi": {"enabled": namespace != "data"}}},
            "alluxio_datasets": [VARIABLES["alluxio_datasets"][0] | {"name": dataset}],
        }
        hosts = fleet(2, VARIABLES | variables, memory=512, cpus=64, disk=2000, gpus=("V100",) * 8)
        if group:
            hosts["node-1"]["groups"].append(group)
            hosts["node-1"]["facts"]["memory"] = {"total": 2**37, "available": 2**37, "limit": None}
        return plan(hosts), namespace

    fits, namespace = made(longest)
    assert refusals(fits) == []
    helm.text(release=fits.name, namespace=namespace, values=chart_values(fits))
    too_long, namespace = made(longest + 1)
    assert len(refusals(too_long)) == 1
    with pytest.raises(RefusedError):
        helm.text(release=too_long.name, namespace=namespace, values=chart_values(too_long))

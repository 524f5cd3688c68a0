"""Staged datasets in pods: FUSE out of the readers' way, and a keeper with what was planned for it in each pool."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import Hosts, facts
from helm import Helm, Object, containers
from test_render import apply

from alluxio_fuse import keeper
from alluxio_fuse.chart.values import chart_values
from alluxio_fuse.plan import Plan, plan
from alluxio_fuse.stages import staged, staged_datasets

STAGED: list[dict[str, Any]] = [
    {"name": "imagenet", "source": "s3://bucket/imagenet", "files": 12_000, "bytes": "4Gi", "stage": "require"},
    {"name": "clicks", "source": "s3://bucket/clicks", "files": 4000, "bytes": "200Gi", "stage": "auto"},
    {"name": "logs", "source": "s3://bucket/logs", "files": 100, "bytes": "1Gi"},
]
SAID = {"alluxio_platform": "kubernetes", "alluxio_datasets": STAGED}
STATE = "/var/lib/alluxio-fuse"


@pytest.fixture(scope="module")
def planned() -> Plan:
    """A node with a T4, one with more memory and A100s, and a master."""
    return plan(fleet(SAID))


def fleet(said: dict[str, Any]) -> Hosts:
    """Those, with what an inventory says of all."""
    small = facts(memory=64, cpus=8, gpus=("Tesla T4",), layers=True)
    big = facts(memory=1024, cpus=96, gpus=("NVIDIA A100",) * 4, layers=True)
    hosts: dict[str, Any] = {"cpu-1": {"groups": ["masters"], "variables": said, "facts": facts(memory=64, cpus=16)}}
    for host, known in {"t4-1": small, "a100-1": big}.items():
        group = f"gpu_{host.partition('-')[0]}"
        hosts[host] = {"groups": ["gpu_nodes", group], "variables": said, "facts": known}
    return hosts


@pytest.fixture
def objects(helm: Helm, planned: Plan) -> dict[Any, Object]:
    return helm.objects(values=chart_values(planned, dict.fromkeys(("imagenet", "clicks", "logs"), "keys")))


def pod(objects: dict[Any, Object], daemons: str) -> Object:
    found: Object = objects["DaemonSet", f"alluxio-fuse-{daemons}"]["spec"]["template"]["spec"]
    return found


def container(objects: dict[Any, Object], daemons: str, name: str) -> Object:
    return next(one for one in containers({"spec": pod(objects, daemons)}) if one["name"] == name)


def seen(spec: Object, one: Object) -> dict[str, tuple[str, str | None, bool]]:
    """{path in the container: (path on the node, propagation, read only)} of folders of the node."""
    hosts = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume}
    return {
        mount["mountPath"]: (hosts[mount["name"]], mount.get("mountPropagation"), mount.get("readOnly", False))
        for mount in one["volumeMounts"]
        if mount["name"] in hosts
    }


def test_api_server_takes_it(cluster: list[str], objects: dict[Any, Object]) -> None:
    apply(cluster, [one for one in objects.values() if one["kind"] not in ("PriorityClass", "Pod")], "--dry-run=server")


@pytest.mark.parametrize(
    ("dataset", "parent", "entered"),
    [
        ("imagenet", f"{STATE}/fuse/imagenet", ["0", "0", "0700"]),
        ("clicks", f"{STATE}/fuse/clicks", ["0", "0", "0700"]),
        ("logs", "/mnt/alluxio-fuse/logs", ["0", "0", "0755"]),
    ],
)
def test_fuse_mounts_where_the_plan_says(
    objects: dict[Any, Object], planned: Plan, dataset: str, parent: str, entered: list[str]
) -> None:
    point = planned.mounts("t4-1")[dataset]["mount_point"].amount
    assert point == f"{parent}/data"
    spec, fuse = pod(objects, f"fuse-{dataset}"), container(objects, f"fuse-{dataset}", "fuse")
    assert fuse["args"][-2] == point
    assert seen(spec, fuse)[parent] == (parent, "Bidirectional", False)
    probes = [fuse[probe]["exec"]["command"][2] for probe in ("startupProbe", "readinessProbe", "livenessProbe")]
    assert set(probes) == {point}
    prepare = container(objects, f"fuse-{dataset}", "prepare")["args"]
    assert prepare[:5] == [parent, *entered, f"data-alluxio-fuse/{dataset}"]


@pytest.mark.parametrize(("host", "pool"), [("t4-1", ""), ("a100-1", "-gpu-a100")])
def test_the_keeper_sees_what_it_keeps(objects: dict[Any, Object], planned: Plan, host: str, pool: str) -> None:
    daemons = f"stage{pool}"
    spec, one = pod(objects, daemons), container(objects, daemons, "stage")
    folders = keeper.folders(STATE, staged_datasets(planned, host))
    passed = {"shared": "Bidirectional", "followed": "HostToContainer", "own": None}
    assert seen(spec, one) == {each.path: (each.path, passed[each.mounts], each.read_only) for each in folders}
    assert f"{STATE}/stage" in seen(spec, one)
    assert [volume["name"] for volume in spec["volumes"] if "emptyDir" in volume] == ["tmp"]
    assert one["command"] + one["args"] == ["/usr/bin/python3", *keeper.command(STATE)]
    assert spec["hostPID"]
    assert spec["nodeSelector"] == pod(objects, f"fuse-imagenet{pool}")["nodeSelector"]


@pytest.mark.parametrize(("host", "pool"), [("t4-1", ""), ("a100-1", "-gpu-a100")])
def test_limits_hold_what_is_staged_in_memory(objects: dict[Any, Object], planned: Plan, host: str, pool: str) -> None:
    copies = [fuse["stage"].amount for fuse in planned.mounts(host).values() if "stage" in fuse]
    tmpfs = sum(copy.footprint for copy in copies if copy.medium == "memory")
    resources = container(objects, f"stage{pool}", "stage")["resources"]
    wanted = planned.nodes[host]["node"]["keeper"].amount
    assert wanted.tmpfs == tmpfs > 4 << 30
    assert resources["limits"]["memory"] == resources["requests"]["memory"] == f"{wanted.memory >> 20}Mi"
    assert wanted.memory >= tmpfs + (192 << 20)


def test_the_keeper_waits_for_its_media(objects: dict[Any, Object]) -> None:
    """Before a tmpfs or a disk is mounted, a copy would fill the node's own disk."""
    said = container(objects, "stage", "verify")["args"]
    assert said[:2] == ["storage", f"{STATE}/stage"]
    assert said[3] == f"{STATE}/stage"


def test_readers_parents_are_claimed(objects: dict[Any, Object]) -> None:
    said = container(objects, "stage", "prepare")["args"]
    assert said[1::6] == ["/mnt/alluxio-fuse/imagenet", "/mnt/alluxio-fuse/clicks"]
    assert said[5::6] == ["data-alluxio-fuse/imagenet", "data-alluxio-fuse/clicks"]


def test_other_programs_roll_the_keeper_alone(helm: Helm, planned: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    def templates() -> dict[str, Object]:
        made = helm.objects(values=chart_values(planned))
        return {name: one["spec"]["template"] for (kind, name), one in made.items() if kind == "DaemonSet"}

    before = templates()
    monkeypatch.setattr(keeper, "files", lambda _: [{"path": "/another"}])
    after = templates()
    assert {name for name in before if before[name] != after[name]} == {
        "alluxio-fuse-stage",
        "alluxio-fuse-stage-gpu-a100",
    }


def test_without_a_staged_dataset_there_is_no_keeper(helm: Helm) -> None:
    said = {**SAID, "alluxio_datasets": [{**one, "stage": "off"} for one in STAGED[:1]]}
    made = plan({"node": {"groups": ["masters", "gpu_nodes"], "variables": said, "facts": facts(memory=64, cpus=8)}})
    assert not [name for _, name in helm.objects(values=chart_values(made)) if "stage" in name]


def test_nodes_get_programs_and_no_container(planned: Plan) -> None:
    made = staged(planned, "t4-1")
    assert made.keeper is None
    assert any(one["path"].endswith("module_utils/keeper.py") for one in made.files)
    owned = {(one["kind"], one["id"]) for one in made.owned}
    assert ("file", "/mnt/alluxio-fuse/imagenet/.owner") in owned
    assert ("directory", f"{STATE}/keeper") in owned

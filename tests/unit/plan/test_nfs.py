"""Exports of NFS as sources: what is planned of them on nodes and in pods, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import IMAGENET, filesystem, fleet, local

from alluxio_fuse import containers
from alluxio_fuse.chart.values import chart_values
from alluxio_fuse.exports import export_mounts, unit_name
from alluxio_fuse.host import units
from alluxio_fuse.plan import Plan, plan
from alluxio_fuse.plan.nfs import Export, export_of, export_options
from alluxio_fuse.plan.refusals import Refused
from alluxio_fuse.preflight import questions
from alluxio_fuse.targets import targets
from alluxio_fuse.views.kubernetes import release

SOURCE = "nfs://filer.example/export/imagenet"
FOLDER = "/var/lib/alluxio-fuse/nfs/filer.example+export+imagenet"
IN_PODS = {
    "alluxio_platform": "kubernetes",
    "alluxio_image": "registry.example.com/alluxio-fuse:2.9.6",
    "alluxio_workload": "resnet50",
}


def dataset(**said: Any) -> dict[str, Any]:
    return {"alluxio_datasets": [IMAGENET | {"source": SOURCE} | said]}


def planned(variables: dict[str, Any]) -> Plan:
    return plan(fleet(2, variables, filesystems=[filesystem("/", 200)]))


@pytest.mark.parametrize(
    ("source", "export"),
    [
        ("nfs://filer/export", Export("filer", "/export")),
        ("nfs://10.0.0.7/vol/a b", None),
        ("nfs://10.0.0.7/vol/set-1.0/", Export("10.0.0.7", "/vol/set-1.0")),
        ("nfs://filer:2049/export", None),
        ("nfs://filer/export/../etc", None),
        ("nfs://filer/a+b", None),
        ("nfs://[fd00::1]/export", None),
        ("nfs://filer", None),
        ("s3://filer/export", None),
    ],
)
def test_a_source_names_an_export(source: str, export: Export | None) -> None:
    assert export_of(source) == export


def test_nodes_mount_it_read_only_and_services_see_a_folder() -> None:
    made = planned(dataset())
    (unit,) = export_mounts(made).units
    assert (unit.address, unit.folder) == ("filer.example:/export/imagenet", FOLDER)
    assert unit.options.split(",")[:3] == ["ro", "nosuid", "nodev"]
    assert made.datasets[0].folder == FOLDER
    assert made.datasets[0].listed_by == "node"
    (target,) = targets(made, "node-0")
    assert target["folder"] == FOLDER
    workers = [one for one in containers.containers(made, "node-0") if one["under_store"]]
    assert workers
    for one in workers:
        assert f"{FOLDER}:{FOLDER}:ro,rslave" in one["volumes"]


def test_the_folder_of_an_export_is_its_own() -> None:
    (one,) = export_mounts(planned(dataset())).units
    (below,) = export_mounts(planned(dataset(source="nfs://filer.example/export/imagenet/train"))).units
    assert one.name != below.name
    assert not below.folder.startswith(f"{one.folder}/")


def test_what_a_node_has_of_it_is_recorded_before() -> None:
    owned = export_mounts(planned(dataset())).owned
    assert [item["id"] for item in owned if item["kind"] == "directory"] == [
        "/var/lib/alluxio-fuse/nfs",
        FOLDER,
    ]
    assert [item["id"] for item in owned if item["kind"] == "unit"] == [unit_name(FOLDER)]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/var/lib/alluxio-fuse/nfs/filer/a", r"var-lib-alluxio\x2dfuse-nfs-filer-a.mount"),
        ("/var/lib/x/nfs/f.e/a_b+c@d~e", r"var-lib-x-nfs-f.e-a_b\x2bc\x40d\x7ee.mount"),
    ],
)
def test_a_mount_unit_is_called_as_systemd_wants_it(path: str, name: str) -> None:
    assert unit_name(path) == name  # systemd-escape --path --suffix=mount


@pytest.mark.parametrize(
    ("said", "there", "absent"),
    [
        (("4.1", 8, None), ["vers=4.1", "hard", "nconnect=8", "nocto", "actimeo=3600"], ["nolock"]),
        (("3", 4, None), ["vers=3", "nolock", "mountproto=tcp", "nconnect=4"], []),
        (("4.0", 8, None), ["vers=4.0"], ["nconnect=8"]),
        (("4.2", 1, 600), ["vers=4.2", "actimeo=120"], ["nocto", "nconnect=1"]),
    ],
)
def test_options(said: tuple[str, int, int | None], there: list[str], absent: list[str]) -> None:
    options = export_options(*said).amount
    assert set(there) <= set(options)
    assert not set(absent) & set(options)


def test_on_a_host_fuse_reads_the_folder_and_waits_for_its_mount() -> None:
    made = planned({"alluxio_platform": "host", **dataset(through="under_store")})
    (unit,) = units(made, "node-0")
    assert f"file://{FOLDER}" in unit["arguments"]
    assert FOLDER in unit["requires"]


@pytest.mark.parametrize(("within", "platform"), [("10m", {}), ("10m", IN_PODS), ("5s", {}), ("64s", IN_PODS)])
def test_what_the_client_keeps_counts_towards_freshness(within: str, platform: dict[str, Any]) -> None:
    made = planned(platform | dataset(freshness=f"within: {within}"))
    stale = made.fleet["staleness"].amount["imagenet"]
    declared = {"10m": 600, "5s": 5, "64s": 64}[within]
    assert stale is not None
    assert stale <= declared
    assert "NFS client" in made.fleet["staleness"].parts["imagenet"].why
    exports = made.fleet.get("exports")
    mounted = next((o for o in exports.amount[0].options if o.startswith("actimeo=")), "") if exports else ""
    keeps = int(mounted.partition("=")[2] or 60)
    fuse = made.nodes["node-0"]["fuse/imagenet"]["mount_options"].amount
    kernel = int(next(o for o in fuse if o.startswith("attr_timeout=")).partition("=")[2])
    assert keeps + 4 * kernel <= declared


def test_pods_mount_a_volume_and_one_of_them_lists_it() -> None:
    made = planned(IN_PODS | dataset(freshness="within: 10m"))
    (values,) = chart_values(made)["datasets"]
    assert values["volume"] == {"nfs": {"server": "filer.example", "path": "/export/imagenet"}}
    assert values["freshness"] == "within: 9m"
    assert export_mounts(made).units == []
    assert targets(made, "node-0")[0]["folder"] == ""
    cluster = {"namespace": "data", "kubeconfig": "", "context": "", "pull_secrets": [], "secrets": {}, "claims": {}}
    asked = questions(IN_PODS | dataset())
    assert asked["exports"] == []
    (lists,) = release(
        cluster | {"node_access": True, "exports": asked["kubernetes"]["exports"]},
        "d",
        image="i",
        hosts=["n"],
        inventory=["n", "m"],
    ).access_pods
    (volume,) = [one for one in lists["spec"]["volumes"] if "nfs" in one]
    assert volume["nfs"] == {"server": "filer.example", "path": "/export/imagenet", "readOnly": True}


def test_nodes_are_asked_to_try_the_version_that_is_said() -> None:
    for said, version in (({}, "4.1"), ({"nfs": {"version": "3"}}, "3"), ({"nfs": {"version": "5"}}, "4.1")):
        (export,) = questions(dataset(**said))["exports"]
        assert (export["source"], export["server"], export["path"]) == (SOURCE, "filer.example", "/export/imagenet")
        assert export["options"].startswith(f"vers={version},")
    assert questions({"alluxio_datasets": [{"name": "a", "source": "nfs://filer/../etc"}]})["exports"] == []


@pytest.mark.parametrize(
    ("variables", "path", "reason"),
    [
        (dataset(source="nfs://filer"), "[0].source", "not an export"),
        (dataset(source="nfs://filer:2049/x"), "[0].source", "without a port"),
        (dataset(writable=True), "[0]", "nfs:// is read only here"),
        (dataset(nfs={"version": "5"}), "[0].nfs.version", ""),
        (dataset(nfs={"connections": 17}), "[0].nfs.connections", ""),
        (dataset(source="s3://b/x", nfs={"version": "3"}), "[0]", "nfs is given"),
        (dataset(freshness="within: 4s"), "[0]", "a second each"),
        (IN_PODS | dataset(freshness="within: 60s"), "[0].freshness", "for 60s"),
        (IN_PODS | dataset(nfs={"version": "3"}), "[0].nfs", "no options"),
        (
            {"alluxio_platform": "host", "alluxio_cluster": {"masters": ["m:19998"]}, **dataset()},
            "[0].source",
            "the cluster elsewhere reads it",
        ),
        (
            IN_PODS | dataset() | {"alluxio_kubernetes": {"image": {"by": "import"}}},
            "alluxio_kubernetes.image.by",
            "a pod lists",
        ),
    ],
)
def test_what_cannot_be_is_refused(variables: dict[str, Any], path: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        planned(variables)
    where = path if path.startswith("alluxio") else f"alluxio_datasets{path}"
    found = next(one for one in refused.value.findings if one.path.startswith(where) and reason in one.reason)
    assert found.remedy


@pytest.mark.parametrize(
    ("state", "remedy"),
    [
        ("unsupported", "nfs-common"),
        ("denied", "no_root_squash"),
        ("missing", "a path that the server exports"),
        ("unreachable", "TCP 2049"),
        ("empty", "an export that holds the dataset"),
    ],
)
def test_each_state_has_a_way_out(state: str, remedy: str) -> None:
    there = {"state": state, "detail": "what the server said", "files": None, "bytes": None}
    hosts = local(alluxio_datasets=[{"name": "a", "source": SOURCE}])
    hosts["localhost"]["facts"]["sources"] = {SOURCE: there}
    with pytest.raises(Refused) as refused:
        plan(hosts)
    (found,) = refused.value.findings
    assert remedy in found.remedy
    assert "what the server said" in found.reason

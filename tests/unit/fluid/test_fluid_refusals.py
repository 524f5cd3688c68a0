"""What cannot work with Fluid is refused before anything is made: the variable, its value, why, what to write."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from fleets import IMAGENET
from fluid_systems import IMAGE, on_hdfs, on_oss, on_s3, planned

from alluxio_fuse.fluid.findings import fluid_findings, quota_findings
from alluxio_fuse.fluid.render import refusals, render
from alluxio_fuse.fluid.traps import traps
from alluxio_fuse.plan.refusals import Refused
from alluxio_fuse.views import fluid as views

FOLDER = IMAGENET | {"source": "file:///data/imagenet"}
EXPORT = IMAGENET | {"source": "nfs://server/export"}
CLAIM = IMAGENET | {"source": "pvc://nfs"}
Facts = dict[str, Any]


@pytest.mark.parametrize(
    ("variables", "variable", "reason", "remedy"),
    [
        ({"alluxio_datasets": [FOLDER]}, "alluxio_datasets[0].source", "PersistentVolumeClaim", "write pvc://<claim>"),
        ({"alluxio_datasets": [EXPORT]}, "alluxio_datasets[0].source", "also those of NFS", "write pvc://<claim>"),
        (
            {"alluxio_datasets": [CLAIM, IMAGENET | {"name": "b"}]},
            "alluxio_datasets",
            "cluster of its own",
            "alluxio_name",
        ),
        (
            {"alluxio_datasets": [CLAIM | {"writable": True}]},
            "alluxio_datasets[0].writable",
            "read-write",
            "kubernetes",
        ),
        (
            {"alluxio_datasets": [CLAIM | {"readers": {"gid": 5}}]},
            "alluxio_datasets[0].readers",
            "namespace",
            "namespace",
        ),
        ({"alluxio_datasets": [CLAIM | {"stage": "require"}]}, "alluxio_datasets[0].stage", "not ours", "remove it"),
        (
            {"alluxio_datasets": [IMAGENET | {"source": "pvc://a/../x"}]},
            "alluxio_datasets[0].source",
            "not a claim",
            "name",
        ),
        ({"alluxio_fluid": {"load": "at night"}}, "alluxio_fluid.load", "schedule", "once"),
        ({"alluxio_fluid": {"runtime": "juicefs"}}, "alluxio_fluid.runtime", "alluxio", "jindo"),
        ({"alluxio_image": "r.example.com/a:2.7.4"}, "alluxio_image", "MOUNT_POINT", "r.example.com/a:2.9.6"),
        ({"alluxio_image": "r.example.com/a:latest"}, "alluxio_image", "Alluxio's version", "r.example.com/a:2.9.6"),
        ({"alluxio_image": "r.example.com:5000/a"}, "alluxio_image", "name:tag", "2.9.6"),
        ({"alluxio_image": IMAGE + "@sha256:" + "0" * 64}, "alluxio_image", "without a digest", "2.9.6"),
        ({"alluxio_fluid": {"image": "x/y:2.6"}}, "alluxio_fluid.image", "version", "x/y:2.9.6"),
        (
            {"alluxio_fluid": {"runtime": "jindo"}} | {"alluxio_datasets": [IMAGENET]},
            "alluxio_datasets[0].source",
            "for claims",
            "alluxio",
        ),
        (
            on_hdfs() | {"alluxio_fluid": {"runtime": "jindo"}},
            "alluxio_datasets[0].source",
            "for claims and oss://",
            "alluxio",
        ),
        (
            on_oss() | {"alluxio_fluid": {"image": "alluxio/alluxio:2.9.6"}},
            "alluxio_fluid.image",
            "signs by version 1",
            "alluxio_image",
        ),
        ({"alluxio_kubernetes": {"storage_class": "fast"}}, "alluxio_kubernetes.storage_class", "chart", "remove it"),
        ({"alluxio_port_offset": 100}, "alluxio_port_offset", "networks of their own", "remove it"),
        ({"alluxio_check_disruptive": True}, "alluxio_check_disruptive", "page cache", "write false"),
        (
            {"alluxio_platform": "kubernetes", "alluxio_image": IMAGE, "alluxio_fluid": {"load": "once"}},
            "alluxio_fluid",
            "kubernetes",
            "alluxio_platform: fluid",
        ),
    ],
)
def test_an_inventory(variables: dict[str, Any], variable: str, reason: str, remedy: str) -> None:
    with pytest.raises(Refused) as refused:
        planned(**variables)
    found = next(one for one in refused.value.findings if one.path.startswith(variable))
    assert reason in found.reason + found.remedy
    assert remedy in found.remedy + found.reason
    assert found.value


@pytest.mark.parametrize(
    ("further", "variable", "reason"),
    [
        ({"runtime": {"replicas": 9}}, "alluxio_fluid.further.runtime.replicas", "the plan writes it"),
        (
            {"runtime": {"worker": {"jvmOptions": ["-Xmx16G"]}}},
            "alluxio_fluid.further.runtime.worker.jvmOptions",
            "plan",
        ),
        (
            {"runtime": {"jobWorker": {"jvmOptions": ["-Xmx1g"]}}},
            "alluxio_fluid.further.runtime.jobWorker.jvmOptions",
            "not read",
        ),
        (
            {"runtime": {"jobMaster": {"properties": {"a": "b"}}}},
            "alluxio_fluid.further.runtime.jobMaster.properties",
            "not read",
        ),
        (
            {"dataset": {"accessModes": ["ReadWriteMany"]}},
            "alluxio_fluid.further.dataset.accessModes",
            "the plan writes it",
        ),
        (
            {"dataset": {"sharedOptions": {"s3a.secretKey": "x"}}},
            "alluxio_fluid.further.dataset.sharedOptions.s3a",
            "a key",
        ),
    ],
)
def test_further_fields(further: dict[str, Any], variable: str, reason: str) -> None:
    found = refusals(planned(alluxio_fluid={"further": further}))
    assert [one for one in found if one.path.startswith(variable) and reason in one.reason]
    assert "x" not in {one.value for one in found}


def test_a_further_field_that_the_plan_does_not_write_is_taken() -> None:
    made = planned(alluxio_fluid={"further": {"runtime": {"disablePrometheus": True, "master": {"env": {"A": "b"}}}}})
    assert refusals(made) == []
    spec = render(made, {})[1]["spec"]
    assert spec["disablePrometheus"] is True
    assert spec["master"]["env"]["A"] == "b"
    assert spec["master"]["jvmOptions"]


def objects(**fluid: Any) -> list[dict[str, Any]]:
    return copy.deepcopy(render(planned(**on_s3()), {}))


def jindo(mount: dict[str, Any], **spec: Any) -> list[dict[str, Any]]:
    """A Dataset and a JindoRuntime as older write-ups have them."""
    whole = {"mountPoint": "oss://b/p", "name": "p", "path": "/p", "readOnly": True}
    whole["options"] = {"fs.oss.endpoint": "e", **mount.pop("options", {})}
    dataset = {"kind": "Dataset", "spec": {"accessModes": ["ReadOnlyMany"], "mounts": [whole | mount]}}
    return [dataset, {"kind": "JindoRuntime", "spec": spec}]


def key(name: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": "s", "key": name}}}


LEVEL = {"mediumtype": "SSD", "volumeType": "hostPath", "path": "/a,/b", "quotaList": "1Gi"}


@pytest.mark.parametrize(
    ("made", "variable", "reason"),
    [
        (jindo({"options": {"fs.oss.endpoint": ""}}), "dataset.mounts[0].options.fs.oss.endpoint", "fails without"),
        (jindo({"encryptOptions": [key("fs.oss.accessKeyId")]}), "dataset.mounts[0].encryptOptions", "half a key pair"),
        (jindo({"options": {"metaPolicy": "NEVER"}}), "dataset.mounts[0].options.metaPolicy", "no such policy"),
        (
            jindo({"options": {"metaPolicy": "ALWAYS", "cacheStrategy": "DHT"}}),
            "dataset.mounts[0].options.metaPolicy",
            "ONCE",
        ),
        (
            jindo({"options": {"fs.oss.accessKeySecret": "x"}}),
            "dataset.mounts[0].options.fs.oss.accessKeySecret",
            "many may read",
        ),
        (jindo({"readOnly": False}), "dataset.mounts[0].readOnly", "read-write"),
        (jindo({"path": ""}), "dataset.mounts[0].path", "mount's name"),
        (
            jindo({"path": "/", "encryptOptions": [key("fs.oss.accessKeyId"), key("fs.oss.accessKeySecret")]}),
            "dataset.mounts[0].path",
            "name of a key's file",
        ),
        (jindo({}, tieredstore={"levels": [LEVEL]}), "runtime.tieredstore.levels[0].quotaList", "1 quota for 2 paths"),
        (
            jindo({}, tieredstore={"levels": [{"path": "/a"}, {"path": "/b"}]}),
            "runtime.tieredstore.levels",
            "first one only",
        ),
    ],
)
def test_traps_of_older_write_ups(made: list[dict[str, Any]], variable: str, reason: str) -> None:
    found = traps(made)
    assert [one.path for one in found] == [f"alluxio_fluid.further.{variable}"]
    assert reason in found[0].reason
    assert found[0].remedy


def test_watermarks_of_a_level_are_not_read_for_alluxio() -> None:
    dataset, runtime = objects()
    assert traps([dataset, runtime]) == []
    runtime["spec"]["tieredstore"]["levels"][0]["high"] = "0.95"
    assert [one.path for one in traps([runtime])] == ["alluxio_fluid.further.runtime.tieredstore.levels[0].high"]


def facts(**other: Any) -> Facts:
    """A cluster with all that Fluid brings."""
    kinds = ("datasets", "alluxioruntimes", "jindoruntimes", "dataloads")
    running = {"replicas": 1, "ready": 1, "wakes": False}
    return {
        "crds": [f"{kind}.data.fluid.io" for kind in kinds],
        "controllers": {"dataset-controller": running, "alluxioruntime-controller": running},
        "driver": True,
        "objects": {},
        "foreign_claim": False,
        "secrets": {"keys": ["access_key", "secret_key"]},
        "quotas": [],
        **other,
    }


def found(there: Facts, *, temporary: bool = False) -> list[Any]:
    asked: dict[str, Any] = {"dataset": "imagenet", "runtime": "alluxio", "secrets": ["keys"], "temporary": temporary}
    return list(fluid_findings(there, "alluxio-fuse", **asked))


OFF = {"replicas": 0, "ready": 0, "wakes": False}
SLEEPS = {"replicas": 0, "ready": 0, "wakes": True}
FOREIGN = {"metadata": {"name": "imagenet", "labels": {}}}
OURS = {
    "metadata": {"labels": {"app.kubernetes.io/name": "alluxio-fuse", "app.kubernetes.io/instance": "alluxio-fuse"}}
}


def test_a_cluster_with_fluid_has_nothing_in_the_way() -> None:
    assert found(facts()) == []
    controllers = facts()["controllers"] | {"alluxioruntime-controller": SLEEPS}
    assert found(facts(controllers=controllers, objects={"Dataset": OURS, "AlluxioRuntime": OURS})) == []


@pytest.mark.parametrize(("secrets", "count"), [({}, 1), ({"imagenet": "keys"}, 0)], ids=["ours", "the user's Secret"])
def test_keys_that_end_are_those_that_fluid_mounts_with(secrets: dict[str, str], count: int) -> None:
    cluster = {"fluid": {"dataset": "imagenet", "runtime": "alluxio"}, "secrets": secrets}
    keys = {"imagenet": {"access_key": "STS.id", "secret_key": "canary", "security_token": "canary"}}
    said = views.fluid_findings(facts(), "alluxio-fuse", cluster=cluster, credentials=keys)
    assert len(said.found) == count
    assert "canary" not in said.text


def test_keys_that_end_are_refused() -> None:
    (one,) = found(facts(), temporary=True)
    assert one.path == "alluxio_credentials.imagenet.security_token"
    assert "mounts the source once" in one.reason


@pytest.mark.parametrize(
    ("there", "variable", "reason"),
    [
        (
            {"crds": []},
            "alluxio_platform",
            "datasets.data.fluid.io, alluxioruntimes.data.fluid.io, dataloads.data.fluid.io",
        ),
        ({"controllers": {}}, "dataset-controller", "nothing would act"),
        (
            {"controllers": facts()["controllers"] | {"alluxioruntime-controller": OFF}},
            "alluxioruntime-controller",
            "off",
        ),
        (
            {"controllers": facts()["controllers"] | {"dataset-controller": OFF | {"replicas": 1}}},
            "dataset-controller",
            "act",
        ),
        ({"driver": False}, "CSIDriver fuse.csi.fluid.io", "mount a claim"),
        ({"objects": {"Dataset": FOREIGN}}, "alluxio_datasets[0].name", "did not make"),
        ({"objects": {"JindoRuntime": OURS}}, "alluxio_fluid.runtime", "has a JindoRuntime"),
        ({"foreign_claim": True}, "alluxio_datasets[0].name", "another"),
        ({"secrets": {}}, "alluxio_kubernetes.secrets.imagenet", "no such Secret"),
        ({"secrets": {"keys": ["access_key"]}}, "alluxio_kubernetes.secrets.imagenet", "half a key pair"),
        (
            {"secrets": {"keys": ["access_key", "secret_key", "security_token"]}},
            "alluxio_kubernetes.secrets.imagenet",
            "it has a security_token",
        ),
    ],
)
def test_a_cluster(there: Facts, variable: str, reason: str) -> None:
    said = found(facts(**there))
    assert said[0].path == variable
    assert reason in said[0].reason
    assert said[0].remedy


def test_a_quota_that_the_pods_do_not_fit_into() -> None:
    made = render(planned(), {})
    quota = {
        "name": "team",
        "hard": {"requests.memory": "8Gi", "requests.cpu": "100"},
        "used": {"requests.memory": "1Gi"},
    }
    said = list(quota_findings(facts(quotas=[quota]), made, 4))
    assert [(one.path, one.value) for one in said] == [("ResourceQuota team", "requests.memory: 8Gi, 1Gi used")]
    large = quota | {"hard": {"requests.memory": "100Gi", "requests.cpu": "100"}}
    assert list(quota_findings(facts(quotas=[large]), made, 4)) == []
    assert list(quota_findings(facts(quotas=[quota], objects={"Dataset": OURS}), made, 4)) == []

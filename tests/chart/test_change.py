"""A changed value rolls the pods that it concerns, and no others."""

from typing import Any

import pytest
from helm import Helm, Object, pod_template

KEYS = {"secret": "keys", "accessKey": "a", "secretKey": "b"}
TWO: dict[str, Any] = {
    "datasets": [
        {"name": "imagenet", "source": "s3://bucket/imagenet", "credentials": KEYS},
        {"name": "clicks", "source": "s3://bucket/clicks"},
    ]
}
MASTER, WORKER, MOUNTS, IMAGENET, CLICKS = "master", "worker", "mounts", "fuse-imagenet", "fuse-clicks"


def with_dataset(number: int, **values: Any) -> dict[str, Any]:
    return {"datasets": [{**one, **values} if index == number else one for index, one in enumerate(TWO["datasets"])]}


CHANGES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "flag of workers": ({"worker": {"jvm": {"extra": ["-XX:+AlwaysPreTouch"]}}}, {WORKER}),
    "heap of masters": ({"master": {"jvm": {"heap": "1200Mi"}}}, {MASTER}),
    "property of the master": (
        {"master": {"properties": {"alluxio.master.rpc.executor.max.pool.size": "600"}}},
        {MASTER},
    ),
    "property of the job worker": (
        {"jobWorker": {"properties": {"alluxio.job.worker.threadpool.size": "20"}}},
        {WORKER},
    ),
    "property of FUSE": ({"fuse": {"properties": {"alluxio.fuse.logging.threshold": "2s"}}}, {IMAGENET, CLICKS}),
    "property of one dataset's FUSE": (
        with_dataset(1, fuse={"properties": {"alluxio.fuse.logging.threshold": "2s"}}),
        {CLICKS},
    ),
    "property of all": (
        {"properties": {"alluxio.user.rpc.retry.max.duration": "1min"}},
        {MASTER, WORKER, MOUNTS, IMAGENET, CLICKS},
    ),
    "tier": ({"worker": {"tiers": [{"medium": "ssd", "quota": "10Gi", "emptyDir": {}}]}}, {WORKER}),
    "mount option": (with_dataset(0, fuse={"mountOptions": ["allow_other"]}), {IMAGENET}),
    "freshness": (with_dataset(1, freshness="within: 1h"), {CLICKS}),
    "readers": (with_dataset(1, readers={"uid": 0, "gid": 5, "mode": "0750"}), {CLICKS}),
    "region of a store": (with_dataset(0, s3={"region": "eu-west-1"}), {MOUNTS}),
    "source": (with_dataset(1, source="s3://bucket/other"), {MOUNTS, CLICKS}),
    "Secret of a dataset": (with_dataset(0, credentials=KEYS | {"secret": "new"}), {MOUNTS}),
    "dataset added": (
        {"datasets": [*TWO["datasets"], {"name": "coco", "source": "s3://bucket/coco"}]},
        {MOUNTS, "fuse-coco"},
    ),
    "dataset removed": ({"datasets": TWO["datasets"][:1]}, {MOUNTS, CLICKS}),
    "alerts": ({"monitoring": {"rules": {"enabled": True}}}, set()),
    "digest of the chart": ({"chartDigest": "abc"}, set()),
    "image": ({"image": {"tag": "2.9.7"}}, {MASTER, WORKER, MOUNTS, IMAGENET, CLICKS}),
}


def templates(objects: dict[Any, Object]) -> dict[str, Object]:
    """Pod templates that a controller keeps running, by component."""
    found = {}
    for one in objects.values():
        if one["kind"] != "Pod" and (template := pod_template(one)):
            found[template["metadata"]["labels"]["app.kubernetes.io/component"]] = template
    return found


@pytest.mark.parametrize("name", CHANGES)
def test_only_what_a_change_concerns_rolls(helm: Helm, name: str) -> None:
    change, expected = CHANGES[name]
    before, after = templates(helm.objects(values=TWO)), templates(helm.objects(values=TWO | change))
    assert {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} == expected


def test_other_certificates_roll_what_reads_them(helm: Helm) -> None:
    def with_trust(digest: str, config: str = "ca") -> dict[str, Object]:
        trust = {"configMap": config, "digest": digest}
        return templates(helm.objects(values=TWO | {"trust": trust, "fuse": {"startupTaint": {"enabled": True}}}))

    before, after = with_trust("a"), with_trust("b")
    assert {key for key in before if before[key] != after[key]} == {MASTER, WORKER, MOUNTS, IMAGENET, CLICKS}
    assert with_trust("a", "") == with_trust("b", "")


def test_every_service_has_the_password_and_wants_it(helm: Helm) -> None:
    objects = helm.objects(values=TWO | {"rpcPassword": {"secret": "ours"}})
    without = helm.objects(values=TWO)
    site = next(
        one["data"] for (kind, name), one in objects.items() if kind == "ConfigMap" and name == "cache-alluxio-fuse"
    )
    assert site
    for text in site.values():
        assert "\nalluxio.security.authentication.type=CUSTOM\n" in text
        assert "\nalluxio.security.authentication.custom.provider.class=alluxio.image.Password\n" in text
    before, after = templates(without), templates(objects)
    assert {key for key in before if before[key] == after[key]} == set()
    for template in after.values():
        volumes = {one["name"]: one for one in template["spec"]["volumes"]}
        assert volumes["rpc-password"]["secret"]["secretName"] == "ours"
        for one in template["spec"]["initContainers"]:
            mounts = [mount["mountPath"] for mount in one["volumeMounts"]]
            assert ("/password" in mounts) == one["name"].startswith("configure-")
    assert "CUSTOM" not in str(without)


def test_fuse_pods_wait_to_be_deleted(helm: Helm) -> None:
    key = "DaemonSet", "cache-alluxio-fuse-fuse-imagenet"
    assert helm.objects(values=TWO)[key]["spec"]["updateStrategy"] == {"type": "OnDelete"}


def test_labels_of_the_chart_version_roll_nothing(helm: Helm) -> None:
    for template in templates(helm.objects(values=TWO)).values():
        assert not {"helm.sh/chart", "app.kubernetes.io/version"} & template["metadata"]["labels"].keys()

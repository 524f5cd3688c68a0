"""Values that cannot work are refused at render, with what to write instead."""

from typing import Any

import pytest
from helm import Helm, RefusedError

IMAGENET = {"name": "imagenet", "source": "s3://bucket/imagenet"}
SSD = {"medium": "ssd", "quota": "10Gi", "hostPath": {"path": "/mnt/nvme0/tier"}}


def worker(**values: Any) -> dict[str, Any]:
    return {"worker": values}


OFFICIAL = {"kind": "official", "java": 11}
ROLE_ARN = "arn:aws:iam::111122223333:role/reader"
KEYS = {"secret": "s", "accessKey": "a", "secretKey": "b"}
HIDDEN = {"path": "/var/lib/a/fuse/imagenet", "uid": 0, "gid": 0, "mode": "0700"}
IN_MEMORY = {"medium": "memory", "size": "4Gi"}
OSS = {"endpoint": "https://oss-cn-hangzhou.aliyuncs.com", "region": "cn-hangzhou"}


def datasets(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"datasets": [{**IMAGENET, **entry} for entry in entries]}


def on_disk(path: str) -> dict[str, Any]:
    return {"medium": "ssd", "size": "4Gi", "hostPath": {"path": path, "mountPoint": "/mnt/nvme0"}}


def pools(*entries: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Pools beside nodes with `gpu: t4`; each has its own label unless it says otherwise."""
    here, there = {"nodeSelector": {"gpu": "t4"}}, {"nodeSelector": {"gpu": "a100"}}
    made = [{"name": "a100", "worker": there, "fuse": there, **one} for one in entries]
    return {**datasets({}), "worker": here, "fuse": here, "pools": made, **values}


MEANINGLESS: dict[str, tuple[dict[str, Any], str]] = {
    "heap over the limit": (
        worker(jvm={"heap": "4Gi"}),
        "worker.resources.limits.memory is 4Gi, but heap 4Gi + direct 1Gi + overhead 512Mi + tiers[0].quota 1Gi "
        "= 6656Mi: write at least 6656Mi there",
    ),
    "memory tier over the limit": (
        worker(tiers=[{"medium": "memory", "quota": "8Gi", "emptyDir": {}}]),
        "tiers[0].quota 8Gi = 10752Mi",
    ),
    "client cache over the limit": (
        {"fuse": {"clientCache": {"size": "64Gi"}}},
        "fuse.resources.limits.memory is 3584Mi, but heap 1Gi + direct 512Mi + overhead 512Mi + clientCache.size 64Gi",
    ),
    "client cache of one dataset over the limit": (
        datasets({"fuse": {"clientCache": {"size": "64Gi"}}}),
        "datasets[0].fuse.resources.limits.memory is 3584Mi",
    ),
    "volume of a client cache over the limit": (
        {"fuse": {"clientCache": {"volumeSize": "64Gi"}}},
        "heap 1Gi + direct 512Mi + overhead 512Mi + clientCache.volumeSize 64Gi + pageCache 512Mi = 68096Mi",
    ),
    "volume of a client cache below the cache": (
        datasets({"fuse": {"clientCache": {"volumeSize": "512Mi"}}}),
        "clientCache.volumeSize 512Mi does not hold clientCache.size 1Gi: write at least that",
    ),
    "heap as a flag": (
        {"master": {"jvm": {"extra": ["-Xmx8g"]}}},
        "master.jvm.extra holds -Xmx8g: write it as master.jvm.heap, direct or collector",
    ),
    "flag that ends a modern JVM": (
        {"fuse": {"jvm": {"extra": ["-XX:+PrintGCDateStamps"]}}},
        "fuse.jvm.extra holds -XX:+PrintGCDateStamps, with which Java 17 does not start: remove it",
    ),
    "collector that is gone": (worker(jvm={"collector": "ConcMarkSweep"}), "gone since Java 14"),
    "collector that is not there yet": (
        {"image": {"java": 11}, **worker(jvm={"collector": "Z"})},
        "worker.jvm.collector Z needs Java 15, and image.java is 11: write G1",
    ),
    "read type as a property": (
        {"fuse": {"properties": {"alluxio.user.file.readtype.default": "CACHE"}}},
        "fuse.properties holds alluxio.user.file.readtype.default: write fuse.readType",
    ),
    "property as a flag": (
        {"fuse": {"jvm": {"extra": ["-Ds3a.secretKey=x"]}}},
        "holds the property s3a.secretKey: write it under properties, or as a Secret",
    ),
    "key as a property": (
        {"properties": {"s3a.secretKey": "x"}},
        "properties holds s3a.secretKey: write datasets[].credentials",
    ),
    "key as an option of a dataset": (
        datasets({"options": {"fs.oss.accessKeySecret": "x"}}),
        "datasets[0].options holds fs.oss.accessKeySecret: write datasets[].credentials",
    ),
    "anonymous with keys": (
        datasets({"s3": {"anonymous": True}, "credentials": KEYS}),
        "it has credentials, and s3.anonymous says to read without: remove one of them",
    ),
    "anonymous and writable": (
        datasets({"s3": {"anonymous": True}, "writable": True}),
        "it is writable, and s3.anonymous says to read without keys: remove one of them",
    ),
    "web identity without a region": (
        {"webIdentity": {"roleArn": ROLE_ARN}},
        "webIdentity.region is empty, and nothing says whose STS lends keys of the role",
    ),
    "web identity and a profile": (
        {"webIdentity": {"roleArn": ROLE_ARN, "region": "eu-1"}, "awsProfile": {"secret": "profile"}},
        "awsProfile.secret would not be read: webIdentity comes first in the credential chain: remove one of them",
    ),
    "web identity and a role of EKS": (
        {
            "webIdentity": {"roleArn": ROLE_ARN, "region": "eu-1"},
            "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": ROLE_ARN}},
        },
        "serviceAccount.annotations has EKS give a role to every pod, FUSE's too, and webIdentity gives one",
    ),
    "pool on the same nodes": (
        pools({"fuse": {"nodeSelector": {"zone": "b"}}}),
        "pools[0] (a100): its fuse.nodeSelector does not keep it off nodes of the release itself",
    ),
    "two pools on the same nodes": (
        pools({}, {"name": "b"}),
        "pools[1] (b): its worker.nodeSelector does not keep it off nodes of pool a100, which would get two",
    ),
    "pool of a taken name": (pools({}, {}), "pools[1] (a100): the name is taken by pools[0]"),
    "pool with an unknown dataset": (
        pools({"datasets": {"coco": {}}}),
        "pools[0] (a100): datasets holds coco, which is no dataset: write one of imagenet",
    ),
    "pools of a StatefulSet": (
        pools({}, worker={"kind": "StatefulSet", "nodeSelector": {"gpu": "t4"}}),
        "worker.kind is StatefulSet: write worker.kind DaemonSet, or remove pools",
    ),
    "heap over the limit in a pool": (
        pools({"worker": {"nodeSelector": {"gpu": "a100"}, "jvm": {"heap": "4Gi"}}}),
        "pools[0] (a100): worker.resources.limits.memory is 4Gi, but heap 4Gi",
    ),
    "client cache over the limit in a pool": (
        pools({"datasets": {"imagenet": {"clientCache": {"size": "64Gi"}}}}),
        "pools[0] (a100): datasets[0].fuse.resources.limits.memory is 3584Mi",
    ),
    "dataset and pool of one name": (
        {**pools({"name": "val"}), **datasets({}, {"name": "imagenet-val"})},
        "DaemonSet cache-alluxio-fuse-fuse-imagenet-val is the release's, too: write another name",
    ),
    "dataset with a place of its own beside pools": (
        {**pools({}), **datasets({"fuse": {"nodeSelector": {"gpu": "t4"}}})},
        "datasets[0].fuse.nodeSelector places a dataset in all pools alike",
    ),
    "volumes without FUSE": (
        {"csi": {"enabled": True}, "fuse": {"enabled": False}},
        "csi.enabled: volumes show what FUSE mounts, and fuse.enabled is false: write csi.enabled false",
    ),
    "volumes by the official image": (
        {"csi": {"enabled": True}, "image": OFFICIAL},
        "csi.enabled: the official image has no plugin for node and kubelet: write image.kind project",
    ),
    "claims of no driver": (
        {"csi": {"claims": ["vision"]}},
        "csi.claims lead to volumes of the CSI driver, and csi.enabled is false: write csi.enabled true",
    ),
    "derived property": (
        worker(properties={"alluxio.worker.tieredstore.levels": "2"}),
        "worker.properties holds alluxio.worker.tieredstore.levels: write worker.tiers",
    ),
    "watermarks upside down": (worker(tiers=[{**SSD, "high": 0.5, "low": 0.8}]), "low 0.8 is not below high 0.5"),
    "two pairs of watermarks": (
        worker(tiers=[{**SSD, "high": 0.9}, {**SSD, "hostPath": {"path": "/mnt/nvme1/tier"}}]),
        "worker.tiers[1]: tiers of medium ssd have other watermarks (high 0.9, low 0.8)",
    ),
    "two tiers in one folder": (worker(tiers=[SSD, SSD]), "hostPath /mnt/nvme0/tier is worker.tiers[0]'s, too"),
    "tier beside its device": (
        worker(tiers=[{**SSD, "hostPath": {"path": "/mnt/nvme01/tier", "mountPoint": "/mnt/nvme0"}}]),
        "hostPath.path /mnt/nvme01/tier is not below hostPath.mountPoint /mnt/nvme0",
    ),
    "client cache beside its device": (
        datasets({"fuse": {"clientCache": {"hostPath": {"path": "/mnt/nvme01/cache", "mountPoint": "/mnt/nvme0"}}}}),
        "clientCache.hostPath.path /mnt/nvme01/cache is not below hostPath.mountPoint /mnt/nvme0",
    ),
    "client cache without a folder": (
        {"datasets": [IMAGENET], "fuse": {"clientCache": {"hostPath": {"mountPoint": "/mnt/nvme0"}}}},
        "clientCache.hostPath.mountPoint is /mnt/nvme0 without a path: write hostPath.path",
    ),
    "claim of memory": (
        worker(kind="StatefulSet", tiers=[{"medium": "memory", "quota": "1Gi", "claim": {}}]),
        "a claim is not memory: write medium ssd or hdd, or emptyDir {}",
    ),
    "one name twice": (datasets({}, {}), "the name is taken by datasets[0]"),
    "data in two places": (datasets({"volume": {"claim": "c"}}), "write one of them"),
    "no data": ({"datasets": [{"name": "imagenet"}]}, "it has no data: write source (s3://bucket/prefix) or volume"),
    "store of another kind": (datasets({"oss": OSS}), "oss holds for oss:// sources only"),
    "writable and ro": (
        datasets({"writable": True, "fuse": {"mountOptions": ["ro"]}}),
        "writable, but mountOptions holds ro",
    ),
    "fresh and never looked at again": (
        datasets({"freshness": "within: 10m", "fuse": {"mountOptions": ["kernel_cache"]}}),
        'breaks freshness "within: 10m": write auto_cache',
    ),
    "option of another libfuse": (
        datasets({"fuse": {"mountOptions": ["big_writes"]}}),
        "holds big_writes, which libfuse 3 does not know: remove it, or write datasets[0].fuse.libfuse 2",
    ),
    "reads in order, of another libfuse": (
        datasets({"fuse": {"mountOptions": ["sync_read"]}}),
        "holds sync_read, which libfuse 3 does not know: remove it, or write datasets[0].fuse.libfuse 2",
    ),
    "names too long": (
        {"fullnameOverride": "a" * 40, **datasets({"name": "b" * 30})},
        "names of its objects would be longer than 63 characters",
    ),
    "test of no dataset": (
        {"tests": {"dataset": "coco"}, **datasets({})},
        "tests.dataset coco is not a dataset: write one of imagenet",
    ),
    "taint without mounts": (
        {"fuse": {"enabled": False, "startupTaint": {"enabled": True}}},
        "fuse.startupTaint waits for mounts, but fuse.enabled is false",
    ),
    "taint that waits for datasets of other nodes": (
        {"fuse": {"startupTaint": {"enabled": True}}, **datasets({"fuse": {"nodeSelector": {"pool": "a"}}})},
        "datasets[0].fuse.nodeSelector places a dataset on some nodes, but fuse.startupTaint waits for all datasets",
    ),
    "promise shorter than caches can keep": (
        datasets({"freshness": "within: 3s"}),
        'caches share it, a second each: write at least "within: 4s"',
    ),
    "metrics that nobody may read": (
        {"monitoring": {"podMonitor": {"enabled": True}}},
        "networkPolicy.metrics lets nobody in: name Prometheus there",
    ),
    "heap as a share": (
        worker(jvm={"extra": ["-XX:MaxRAMPercentage=80"]}),
        "write it as worker.jvm.heap, direct or collector",
    ),
    "short circuit off": ({"shortCircuit": {"path": "/run/x"}}, "write shortCircuit.enabled true, or remove the path"),
    "class of Kubernetes' own": (
        {"priorityClass": {"name": "system-node-critical"}},
        "belongs to Kubernetes: write priorityClass.create false to use it",
    ),
    "password for the official image": (
        {"image": OFFICIAL, "rpcPassword": {"secret": "ours"}},
        "the official image knows no password: write image.kind project",
    ),
    "authentication as a property": (
        {"properties": {"alluxio.security.authentication.type": "CUSTOM"}},
        "rpcPassword.secret",
    ),
    "official image of a new Java": ({"image": {"kind": "official"}}, "alluxio/alluxio carries 8 or 11"),
    "OSS by the official image": (
        {"image": OFFICIAL, **datasets({"source": "oss://bucket/imagenet", "oss": OSS})},
        "the official image signs requests to OSS by version 1",
    ),
    "OSS of an unknown place": (
        datasets({"source": "oss://bucket/imagenet", "credentials": KEYS}),
        "nothing says where the bucket is: write oss: {endpoint: https://oss-<region>.aliyuncs.com",
    ),
    "OSS without keys": (
        datasets({"source": "oss://bucket/imagenet", "oss": OSS}),
        "oss:// is read with keys only: write credentials",
    ),
    "OSS to be written to": (
        datasets({"source": "oss://bucket/imagenet", "oss": OSS, "credentials": KEYS, "writable": True}),
        "oss:// is read only here: remove writable",
    ),
    "HDFS of several namenodes": (
        datasets({"source": "hdfs://nameservice/train"}),
        "source is not one namenode, its port and a folder: write hdfs://<namenode>:<port>/folder",
    ),
    "HDFS with keys": (
        datasets({"source": "hdfs://namenode:8020/train", "credentials": KEYS}),
        "HDFS is read without keys: remove credentials",
    ),
    "HDFS to be written to": (
        datasets({"source": "hdfs://namenode:8020/train", "writable": True}),
        "hdfs:// is read only here: remove writable",
    ),
    "token of another store": (
        datasets({"credentials": {**KEYS, "securityToken": "token"}}),
        "credentials.securityToken holds for oss:// sources only",
    ),
    "claims without mounts": (
        {"fuse": {"enabled": False}, **datasets({"claims": ["vision"]})},
        "claims lead to the mount on the node, and fuse.enabled is false: remove claims",
    ),
    "kernel that believes longer than promised": (
        datasets({"freshness": "within: 10m", "fuse": {"mountOptions": ["attr_timeout=601"]}}),
        'attr_timeout=601 lets the kernel believe what it knows for longer than freshness "within: 10m" says: '
        "write at most 150",
    ),
    "spread of a DaemonSet": (
        worker(topologySpread=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]),
        "worker.topologySpread spreads a StatefulSet, and worker.kind is DaemonSet",
    ),
    "JVM options in the environment": (
        {"fuse": {"env": {"ALLUXIO_FUSE_JAVA_OPTS": "-Xmx8g"}}},
        "fuse.env holds ALLUXIO_FUSE_JAVA_OPTS: write fuse.jvm and fuse.properties",
    ),
    "key in the environment": (
        datasets({"fuse": {"env": {"AWS_SECRET_ACCESS_KEY": "x"}}}),
        "datasets[0].fuse.env holds AWS_SECRET_ACCESS_KEY, which every process of the pod and who reads the values "
        "would see: write datasets[].credentials or awsProfile",
    ),
    "the chart's own environment": ({"fuse": {"env": {"POD_IP": "::1"}}}, "holds POD_IP, which the chart sets"),
    "grace in the environment": (
        {"fuse": {"env": {"ALLUXIO_FUSE_GRACE": "1"}}},
        "holds ALLUXIO_FUSE_GRACE: write fuse.terminationGracePeriodSeconds",
    ),
    "label of a selector": (
        worker(podLabels={"app.kubernetes.io/component": "x"}),
        "worker.podLabels holds app.kubernetes.io/component, by which the chart selects its own pods: remove it",
    ),
    "folder that workers share": (
        worker(kind="StatefulSet", tiers=[SSD]),
        "worker.tiers[0]: several workers of a StatefulSet may be on one node and would share the folder",
    ),
    "blocks of another journal": (
        {"image": OFFICIAL, **worker(tiers=[SSD])},
        "worker.tiers[0]: it outlives its pod, and nothing in the official image discards blocks of another journal",
    ),
    "claimed blocks of another journal": (
        {"image": OFFICIAL, **worker(kind="StatefulSet", tiers=[{"medium": "ssd", "quota": "10Gi", "claim": {}}])},
        "worker.tiers[0]: it outlives its pod",
    ),
    "pages of another journal": (
        {"image": OFFICIAL, **datasets({"fuse": {"clientCache": {"hostPath": {"path": "/mnt/nvme0/cache"}}}})},
        "clientCache.hostPath outlives its pod, and nothing in the official image discards pages",
    ),
    "a keeper without the playbooks": (
        {"stage": {"enabled": True}},
        "stage.enabled: this is for the playbooks: write datasets[].stage in its place",
    ),
    "a hidden mount without the playbooks": (
        datasets({"mountParent": HIDDEN}),
        "stage.enabled, datasets[0].mountParent: this is for the playbooks: write datasets[].stage in its place",
    ),
    "a stage beside a plan": (
        {"profile": "planned", **datasets({"stage": IN_MEMORY})},
        "datasets[0].stage: the plan says what is staged, and profile is planned: remove it",
    ),
    "a copy of what changes": (
        datasets({"stage": IN_MEMORY, "freshness": "within: 10m"}),
        "datasets[0].stage: a copy does not change with its source, and this dataset may",
    ),
    "a copy of what is written": (
        datasets({"stage": IN_MEMORY, "writable": True}),
        "datasets[0].stage: a copy does not change with its source, and this dataset may",
    ),
    "a copy of no mount": (
        {"fuse": {"enabled": False}, **datasets({"stage": IN_MEMORY})},
        "datasets[0].stage: copies are made from FUSE mounts, and fuse.enabled is false",
    ),
    "a stage without its programs": (
        {"image": OFFICIAL, **datasets({"stage": IN_MEMORY})},
        "datasets[0].stage: the official image does not have the programs: write image.kind project",
    ),
    "a folder for what is in memory": (
        datasets({"stage": {**IN_MEMORY, "hostPath": {"path": "/mnt/nvme0/stage"}}}),
        "datasets[0].stage.hostPath: what is staged in memory is in no folder of a disk",
    ),
    "a copy on no disk": (
        datasets({"stage": {"medium": "ssd", "size": "4Gi"}}),
        "datasets[0].stage.hostPath is missing: write a folder of the nodes",
    ),
    "a copy beside its disk": (
        datasets({"stage": on_disk("/srv/stage")}),
        "datasets[0].stage: hostPath.path /srv/stage is not below hostPath.mountPoint /mnt/nvme0",
    ),
    "a copy among mounts": (
        {"fuse": {"mountRoot": "/mnt/nvme0/data"}, **datasets({"stage": on_disk("/mnt/nvme0/data/stage")})},
        "datasets[0].stage: hostPath.path /mnt/nvme0/data/stage is in /mnt/nvme0/data, which the release has",
    ),
    "a copy where FUSE is not": (
        datasets({"stage": IN_MEMORY, "fuse": {"nodeSelector": {"gpu": "t4"}}}),
        "datasets[0].fuse.nodeSelector places FUSE of a dataset that is staged elsewhere than its copies",
    ),
    "a copy in a pool where FUSE is not": (
        {**pools({"datasets": {"imagenet": {"nodeSelector": {"gpu": "b"}}}}), **datasets({"stage": IN_MEMORY})},
        "pools (a100): datasets.imagenet.nodeSelector places FUSE of a dataset that is staged elsewhere",
    ),
    "a staged dataset that nobody shows": (
        {"profile": "planned", **datasets({"mountParent": HIDDEN})},
        "datasets[0].mountParent: nobody would show the dataset where it is read, as stage.enabled is false: remove it",
    ),
    "copies of no mount": (
        {
            "profile": "planned",
            "stage": {"enabled": True},
            "fuse": {"enabled": False},
            **datasets({"mountParent": HIDDEN}),
        },
        "stage.enabled: copies are made from FUSE mounts, and fuse.enabled is false",
    ),
    "a keeper of nothing": (
        {"profile": "planned", "stage": {"enabled": True}, **datasets({})},
        "stage.enabled: no dataset has a mountParent, so there is nothing to keep: remove it",
    ),
    "keys for the official image": (
        {"image": {"kind": "official", "java": 11}, **datasets({"credentials": KEYS})},
        "write awsProfile, or image.kind project",
    ),
}

MISSPELT: dict[str, tuple[dict[str, Any], str]] = {
    "top": ({"wroker": {}}, "wroker"),
    "nested": ({"fuse": {"clientCache": {"sise": "1Gi"}}}, "sise"),
    "in a list": (worker(tiers=[{**SSD, "path": "/x"}]), "path"),
    "two places for a tier": (worker(tiers=[{**SSD, "emptyDir": {}}]), "oneOf"),
    "dataset": (datasets({"secret": "x"}), "secret"),
    "the planner's stage": (datasets({"stage": "auto"}), "stage"),
    "size": (worker(pageCache="1.5Gi"), "pattern"),
    "two masters": ({"master": {"replicas": 2}}, "replicas"),
    "privileged is no value": ({"fuse": {"privileged": False}}, "privileged"),
    "password": ({"awsProfile": {"secretKey": "x"}}, "secretKey"),
    "placed pool": (pools({"name": "A100"}), "pattern"),
    "value of a pool": (pools({"fuse": {"mountRoot": "/x"}}), "mountRoot"),
    "mode": (datasets({"readers": {"uid": 0, "gid": 0, "mode": "755"}}), "pattern"),
    "path that climbs": ({"fuse": {"mountRoot": "/mnt/"}}, "pattern"),
}


@pytest.mark.parametrize("name", MEANINGLESS)
def test_contradiction_is_refused(helm: Helm, name: str) -> None:
    values, message = MEANINGLESS[name]
    with pytest.raises(RefusedError) as said:
        helm.text(values=values)
    assert message in str(said.value)


@pytest.mark.parametrize("name", MISSPELT)
def test_unknown_value_is_refused(helm: Helm, name: str) -> None:
    values, word = MISSPELT[name]
    with pytest.raises(RefusedError, match=word):
        helm.text(values=values)


def test_all_contradictions_are_told_at_once(helm: Helm) -> None:
    with pytest.raises(RefusedError) as said:
        helm.text(values={**worker(jvm={"heap": "4Gi"}), **datasets({}, {})})
    assert "worker.resources.limits.memory" in str(said.value)
    assert "the name is taken" in str(said.value)

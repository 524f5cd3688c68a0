"""The two systems that this product comes from, as plans of platform fluid."""

from __future__ import annotations

from typing import Any

from fleets import IMAGENET, filesystem, fleet

from alluxio_fuse.fluid.render import render
from alluxio_fuse.plan import Plan, plan

IMAGE = "registry.example.com/data/alluxio-fuse:2.9.6"
Nodes = dict[str, dict[str, Any]]
Object = dict[str, Any]
SSD = [{"medium": "ssd", "path": "/mnt/nvme"}]


def said(**variables: Any) -> dict[str, Any]:
    """An inventory's variables: ImageNet on an NFS claim, cached on SSD."""
    return {
        "alluxio_platform": "fluid",
        "alluxio_environment": "fluid",
        "alluxio_image": IMAGE,
        "alluxio_datasets": [IMAGENET | {"source": "pvc://nfs-imagenet/train"}],
        "alluxio_cache_tiers": SSD,
        "alluxio_workload": "resnet50",
        **variables,
    }


def planned(**variables: Any) -> Plan:
    """The plan for four nodes of eight V100 with an NVMe disk."""
    disks = [filesystem("/", 200), filesystem("/mnt/nvme", 1500, type="xfs", inodes_free=400_000_000)]
    gpus = ("Tesla V100-SXM2-32GB",) * 8
    return plan(fleet(4, said(**variables), memory=512, cpus=96, gpus=gpus, filesystems=disks))


def on_s3(**store: Any) -> dict[str, Any]:
    """The same files in an object store."""
    s3 = {"endpoint": "https://s3.example.com", "region": "eu-central-1", "path_style": True, **store}
    return {"alluxio_datasets": [IMAGENET | {"s3": s3}]}


def on_oss() -> dict[str, Any]:
    """The same files in OSS."""
    store = {"endpoint": "https://oss-cn-shanghai-internal.aliyuncs.com", "region": "cn-shanghai"}
    files = {key: value for key, value in IMAGENET.items() if key != "s3"}
    return {"alluxio_datasets": [files | {"source": "oss://training/imagenet", "oss": store}]}


def on_hdfs() -> dict[str, Any]:
    """The same files in HDFS."""
    files = {key: value for key, value in IMAGENET.items() if key != "s3"}
    return {"alluxio_datasets": [files | {"source": "hdfs://namenode.example.com:8020/train/imagenet"}]}


def nfs(nodes: Nodes) -> list[Object]:
    """The first system: an NFS claim, an SSD tier, V100 by affinity, AlluxioRuntime."""
    return render(planned(), nodes)


def jindo(nodes: Nodes) -> list[Object]:
    """The second: OSS with a Secret, JindoRuntime, loaded every night."""
    fluid = {"runtime": "jindo", "load": "0 3 * * *"}
    return render(planned(alluxio_fluid=fluid, **on_oss()), nodes)


def oss(nodes: Nodes) -> list[Object]:
    """OSS with AlluxioRuntime and our image."""
    return render(planned(**on_oss()), nodes)


def hdfs(nodes: Nodes) -> list[Object]:
    """HDFS with AlluxioRuntime: no keys, no Secret."""
    return render(planned(**on_hdfs()), nodes)


def s3(nodes: Nodes) -> list[Object]:
    """S3 with a private CA and keys, memory and SSD, loaded once."""
    store = on_s3(ca_file="/etc/ssl/private-ca.pem") | {"alluxio_fluid": {"load": "once"}}
    return render(planned(**store, alluxio_cache_tiers=[{"medium": "memory"}]), nodes)


#: By the name of the golden file.
SYSTEMS = {"nfs-alluxio": nfs, "oss-jindo": jindo, "oss-alluxio": oss, "hdfs-alluxio": hdfs, "s3-alluxio": s3}


def four_nodes() -> Nodes:
    """Four nodes of V100, as the module `cluster_facts` returns them."""
    labels = {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}
    return {f"node-{number}": {"labels": labels} for number in range(4)}

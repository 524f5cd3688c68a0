"""The two systems that this product comes from, as plans of platform fluid."""

from __future__ import annotations

from typing import Any

from fleets import IMAGENET, filesystem, fleet

from alluxio_fuse.fluid.sources import KEYS, Source
from alluxio_fuse.plan import Plan, plan

IMAGE = "registry.example.com/data/alluxio-fuse:2.9.6"
SSD = [{"medium": "ssd", "path": "/mnt/nvme"}]


def said(**variables: Any) -> dict[str, Any]:
    """An inventory's variables: ImageNet on an NFS claim, cached on SSD."""
    return {
        "alluxio_platform": "fluid",
        "alluxio_environment": "fluid",
        "alluxio_image": IMAGE,
        "alluxio_datasets": [IMAGENET | {"source": "file:///data/imagenet"}],
        "alluxio_fluid": {"claims": {"imagenet": "nfs-imagenet/train"}},
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
    return {"alluxio_datasets": [IMAGENET | {"s3": s3}], "alluxio_fluid": {}}


def oss() -> Source:
    """The same files in OSS: no inventory can say that yet, so the mount is given."""
    endpoint = {"fs.oss.endpoint": "oss-cn-shanghai-internal.aliyuncs.com"}
    return Source("oss://training/imagenet", endpoint, KEYS["oss"])

"""Fleets to try the planner on, and the page that shows their plans: python tools/fleets.py."""

from copy import deepcopy
from typing import Any, Final

from alluxio_fuse.plan.planner import plan
from alluxio_fuse.plan.refusals import Refused
from alluxio_fuse.plan.units import GIB
from alluxio_fuse.plan.views.table import plan_table

Host = dict[str, Any]
Hosts = dict[str, Host]


def facts(
    memory: float = 24, cpus: float = 2, disk: float = 200, gpus: tuple[str, ...] = (), **other: Any
) -> dict[str, Any]:
    """Facts of a node with `memory` and `disk` GiB; a root filesystem only, unless `filesystems` says more."""
    base: dict[str, Any] = {
        "hostname": "node",
        "architecture": "x86_64",
        "kernel": "6.1.0",
        "distribution": {"id": "debian", "version": "12"},
        "service_manager": "systemd",
        "cpus": cpus,
        "numa_nodes": 1,
        "memory": {"total": int(memory * GIB), "available": int(memory * GIB * 0.9), "limit": None},
        "swap": 0,
        "cgroup": {"version": 2},
        "nofile": {"soft": 1024, "hard": 1_048_576},
        "shared_root": True,
        "filesystems": [filesystem("/", disk)],
        "block_devices": [],
        "fuse": {
            "device": True,
            "mode": "0666",
            "sonames": ["libfuse.so.2", "libfuse3.so.3"],
            "user_allow_other": True,
            "fusermount": [2, 3],
        },
        "java": [{"home": "/usr/lib/jvm/java-17", "major": 17}],
        "network": [
            {"name": "lo", "addresses": ["127.0.0.1"], "speed_mbps": None},
            {"name": "eth0", "addresses": ["10.0.0.1"], "speed_mbps": 100_000},
        ],
        "gpus": [{"model": model, "memory": 16 * GIB, "mig": False} for model in gpus],
        "gpu_driver": None,
        "listeners": [],
        "mounts": [],
        "mount_points": {},
        "sources": {},
        "media_speed": {},
        "leftovers": [],
        "manifests": {},
        "readers": {},
        "containers": [],
        "clock_skew": 0.0,
        "names": [],
        "owned": {},
    }
    return base | other


def filesystem(mount: str, size: float, free: float | None = None, **other: Any) -> dict[str, Any]:
    """A filesystem of `size` GiB, 90 % free unless said otherwise."""
    return {
        "mount": mount,
        "type": "ext4",
        "device": f"/dev/disk{mount.replace('/', '-')}",
        "size": int(size * GIB),
        "free": int((size * 0.9 if free is None else free) * GIB),
        "inodes_free": 10_000_000,
        "owned": 0,
        "rotational": False,
    } | other


def host(
    variables: dict[str, Any] | None = None, groups: tuple[str, ...] = ("masters", "gpu_nodes"), **kind: Any
) -> Host:
    """One host of a fleet, as playbooks hand it over."""
    return {"groups": list(groups), "variables": dict(variables or {}), "facts": facts(**kind)}


def local(**variables: Any) -> Hosts:
    """The local inventory: one machine that is everything, where nothing trains."""
    said = {
        "alluxio_environment": "local",
        "alluxio_platform": "containers",
        "alluxio_bind_address": "127.0.0.1",
        "alluxio_workload_memory": 0,
        "alluxio_workload_cpus": 0,
    } | variables
    return {"localhost": host(said)}


def fleet(count: int, variables: dict[str, Any], **kind: Any) -> Hosts:
    """`count` GPU nodes alike; the first is the master."""
    hosts = {}
    for number in range(count):
        groups = ("masters", "gpu_nodes") if number == 0 else ("gpu_nodes",)
        made = host(deepcopy(variables), groups, **deepcopy(kind))
        made["facts"]["hostname"] = f"node-{number}"
        made["facts"]["network"][1]["addresses"] = [f"10.{number // 65536}.{number // 256 % 256}.{number % 256 + 1}"]
        hosts[f"node-{number}"] = made
    return hosts


TIERS: Final = [{"medium": "memory"}, {"medium": "ssd", "path": "/mnt/nvme"}]
IMAGENET: Final = {"name": "imagenet", "source": "s3://bucket/tfrecords", "files": 1024, "bytes": 144_000_000_000}
KITS: Final = {"name": "kits", "source": "s3://bucket/kits", "files": 16_000, "bytes": 16_000 * 146_600_628}


def _with_nvme(size: float) -> list[dict[str, Any]]:
    return [filesystem("/", 200), filesystem("/mnt/nvme", size, type="xfs", inodes_free=400_000_000)]


def _unet3d(gpus: int, **dataset: str) -> Hosts:
    said = {"alluxio_datasets": [KITS | dataset], "alluxio_cache_tiers": TIERS, "alluxio_workload": "unet3d"}
    h100 = ("NVIDIA H100 80GB HBM3",) * gpus
    return fleet(16, said, memory=2048, cpus=192, gpus=h100, filesystems=_with_nvme(7000))


def examples() -> dict[str, Hosts]:
    """Fleets by title."""
    mini = {"name": "imagenet-mini", "source": "s3://bucket/mini", "files": 34_745, "bytes": 34_745 * 114_660}
    t4 = {
        "alluxio_datasets": [mini],
        "alluxio_gate": {"mb_per_s": 45, "files_per_s": 390},
        "alluxio_workload_memory": "10Gi",
    }
    v100 = {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": TIERS, "alluxio_workload": "resnet50"}
    vision = {"name": "vision", "source": "s3://vision/jpeg", "files": 1_281_167, "bytes": "137Gi"}
    speech = {
        "name": "speech",
        "source": "s3://speech/wav",
        "files": 280_000,
        "bytes": "60Gi",
        "freshness": "within: 10m",
    }
    teams = v100 | {
        "alluxio_datasets": [
            vision | {"cache": {"share": 0.6}, "readers": {"gid": 2000, "mode": "0750"}},
            speech
            | {
                "cache": {"share": 0.4},
                "readers": {"gid": 3000, "mode": "0750"},
                "freshness": "within: 10m",
            },
        ]
    }
    gpus = ("Tesla V100-SXM2-32GB",) * 8
    nvme = _with_nvme(1500)
    return {
        "This machine": local(),
        "A node of 16 GiB with one T4, and a declared gate": {"t4": host(t4, memory=16, cpus=8, gpus=("Tesla T4",))},
        "4 nodes of 8 V100, 512 GiB and NVMe over 144 GB of TFRecords": fleet(
            4, v100, memory=512, cpus=96, gpus=gpus, filesystems=nvme
        ),
        "16 nodes of 8 H100 on UNet3D: refused": _unet3d(8),
        "The same with 3 H100 in each node: met": _unet3d(3),
        "Two teams' datasets on one fleet": fleet(4, teams, memory=512, cpus=96, gpus=gpus, filesystems=nvme),
    }


def staged() -> dict[str, Hosts]:
    """Fleets that copy datasets to their nodes, by title."""
    v100 = {"memory": 512, "cpus": 96, "gpus": ("Tesla V100-SXM2-32GB",) * 8, "filesystems": _with_nvme(1500)}
    whole = {"alluxio_datasets": [IMAGENET | {"stage": "auto"}], "alluxio_cache_tiers": TIERS}
    part = whole | {
        "alluxio_cache_tiers": TIERS[:1],
        "alluxio_workload_memory": "64Gi",
        "alluxio_gate": {"mb_per_s": 600},
    }
    alone = {"alluxio_platform": "host", "alluxio_cache_tiers": TIERS}
    alone["alluxio_datasets"] = [IMAGENET | {"stage": "require", "through": "under_store"}]
    return {
        "4 nodes of 8 V100 hold the whole set on NVMe": fleet(4, whole, **v100),
        "4 nodes of 4 T4 without a disk hold a part of it in memory": fleet(
            4, part, memory=192, cpus=48, gpus=("Tesla T4",) * 4, layers=True
        ),
        "16 nodes of 8 H100 on UNet3D, more than a FUSE mount gives, read copies": _unet3d(8, stage="require"),
        "2 nodes on their own, without a cluster": fleet(2, alone, **v100),
    }


def refusals() -> dict[str, Hosts]:
    """Fleets for which there is no plan, by what is wrong."""
    v100 = {"alluxio_datasets": [IMAGENET], "alluxio_cache_tiers": TIERS, "alluxio_workload": "resnet50"}

    def four(nvme: float = 1500, memory: float = 512, **said: Any) -> Hosts:
        gpus = ("Tesla V100-SXM2-32GB",) * 8
        return fleet(4, v100 | said, memory=memory, cpus=96, gpus=gpus, filesystems=_with_nvme(nvme))

    tiny = local()
    tiny["localhost"]["facts"] = facts(memory=2)
    too_much = [{"medium": "ssd", "path": "/mnt/nvme", "budget": "2Ti"}]
    two_paths = [{"medium": "ssd", "path": f"/mnt/nvme/{name}"} for name in "ab"]
    big = IMAGENET | {"bytes": "250Gi"}
    small = {"name": "small", "source": "s3://bucket/small", "files": 1000, "bytes": "20Gi", "cache": {"share": 0.5}}
    live = [IMAGENET | {"freshness": "within: 10m"}]
    mounted_over = [{"medium": "ssd", "path": "/mnt/forgotten"}]
    store = {name: value for name, value in IMAGENET.items() if name != "s3"}
    store |= {"source": "file:///data/imagenet", "through": "under_store"}
    return {
        "A typing error and an ambiguous unit": local(alluxio_dataset=[], alluxio_workload_memory="64G"),
        "A machine that is too small": tiny,
        "A set larger than the caches, under a gate that needs them": four(nvme=20, memory=64),
        "A gate above what one mount can deliver": _unet3d(8),
        "A budget over what is free": four(alluxio_cache_tiers=too_much),
        "Two paths on one disk": four(alluxio_cache_tiers=two_paths),
        "A tier on a mount that is not there": four(alluxio_cache_tiers=mounted_over),
        "Datasets that evict each other": four(40, 64, alluxio_datasets=[big, small], alluxio_workload="none"),
        "A heap that does not fit any more": local(alluxio_overrides={"worker.heap": "40Gi"}),
        "A page cache that outlives its data": four(
            alluxio_datasets=live, alluxio_overrides={"fuse.mount_options": ["ro", "kernel_cache"]}
        ),
        "A property that this version does not have": local(
            alluxio_overrides={"worker.properties": {"alluxio.worker.file.buffer.size": "320MB"}}
        ),
        "A data cache without a cluster": four(
            alluxio_datasets=[store], alluxio_platform="host", alluxio_overrides={"fuse.client_cache_size": "8Gi"}
        ),
    }


def shown(hosts: Hosts) -> str:
    """The table of a plan, or its findings."""
    try:
        return "\n".join(plan_table(plan(hosts)))
    except Refused as refused:
        return str(refused)


def document() -> str:
    """The examples as a page."""
    head = "# Plans of some fleets\n\nGenerated by `python tools/fleets.py`; do not edit.\n"
    parts = [f"\n## {title}\n\n```\n{shown(hosts)}\n```\n" for title, hosts in examples().items()]
    parts.append("\n# Staged datasets\n")
    parts += [f"\n## {title}\n\n```\n{shown(hosts)}\n```\n" for title, hosts in staged().items()]
    parts.append("\n# What is refused\n")
    parts += [f"\n## {title}\n\n```\n{shown(hosts)}\n```\n" for title, hosts in refusals().items()]
    return head + "".join(parts)


if __name__ == "__main__":
    print(document(), end="")

"""How long planning takes, from ten nodes to thousands of mixed hardware: python -m alluxio_fuse.plan.bench."""

import gc
import time
from typing import Any, Final

from alluxio_fuse.plan.planner import plan
from alluxio_fuse.plan.units import GIB, TIB

DATASETS: Final = 100
SIZES: Final = (10, 100, 1000, 2000)
HARDWARE: Final = (
    (512 * GIB, 96, 3500 * GIB, "Tesla V100-SXM2-32GB"),
    (1 * TIB, 128, 7000 * GIB, "NVIDIA A100-SXM4-80GB"),
    (2 * TIB, 192, 14000 * GIB, "NVIDIA H100 80GB HBM3"),
    (2 * TIB, 224, 28000 * GIB, "NVIDIA H200"),
)


def _facts(number: int) -> dict[str, Any]:
    """Facts of one node; no two nodes have quite the same memory and free disk."""
    memory, cpus, disk, gpu = HARDWARE[number % len(HARDWARE)]
    free = int(disk * (0.95 - number % 37 / 1000))
    root = {
        "mount": "/",
        "type": "ext4",
        "device": "/dev/sda1",
        "size": 400 * GIB,
        "free": (300 + number % 61) * GIB,
        "inodes_free": 25_000_000,
        "owned": 0,
        "rotational": False,
    }
    nvme = root | {
        "mount": "/mnt/nvme",
        "type": "xfs",
        "device": "/dev/nvme0n1",
        "size": disk,
        "free": free,
        "inodes_free": 1_500_000_000,
    }
    return {
        "hostname": f"node-{number}",
        "architecture": "x86_64",
        "kernel": "6.1.0",
        "numa_nodes": 2,
        "distribution": {"id": "debian", "version": "12"},
        "service_manager": "systemd",
        "cpus": cpus,
        "memory": {"total": memory - number * 7_340_032 % GIB, "available": memory // 2, "limit": None},
        "swap": 0,
        "cgroup": {"version": 2},
        "nofile": {"soft": 1024, "hard": 1048576},
        "shared_root": True,
        "filesystems": [root, nvme],
        "block_devices": [],
        "fuse": {
            "device": True,
            "mode": "0666",
            "sonames": ["libfuse.so.2", "libfuse3.so.3"],
            "user_allow_other": False,
            "fusermount": [2, 3],
        },
        "java": [],
        "network": [
            {
                "name": "eth0",
                "addresses": [f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"],
                "speed_mbps": 100_000,
            }
        ],
        "gpus": [{"model": gpu, "memory": 80 * GIB, "mig": False}] * 8,
        "gpu_driver": None,
        "listeners": [],
        "mounts": [],
        "mount_points": {},
        "sources": {},
        "clock": 0.0,
        "owned": {},
    }


def fleet(nodes: int, datasets: int = DATASETS) -> dict[str, Any]:
    """What playbooks would hand over for this many nodes and datasets."""
    named = [
        {
            "name": f"set-{number}",
            "source": f"s3://bucket/set-{number}",
            "files": 2000 + number * 100,
            "bytes": (10 + number) * GIB,
            "freshness": "immutable" if number % 3 else "within: 10m",
        }
        for number in range(datasets)
    ]
    variables = {
        "alluxio_datasets": named,
        "alluxio_workload": "resnet50",
        "alluxio_cache_tiers": [{"medium": "memory"}, {"medium": "ssd", "path": "/mnt/nvme"}],
    }
    return {
        f"node-{number}": {
            "groups": ["masters", "gpu_nodes"] if number < 3 else ["gpu_nodes"],
            "variables": variables,
            "facts": _facts(number),
        }
        for number in range(nodes)
    }


def seconds(nodes: int, datasets: int = DATASETS) -> float:
    """The best of three plans of a fleet."""
    hosts = fleet(nodes, datasets)
    taken = []
    for _ in range(3):
        gc.collect()
        start = time.perf_counter()
        plan(hosts)
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Print the cost of each size."""
    print(f"{'nodes':>6} {'datasets':>9} {'seconds':>8} {'ms per node':>12}")
    for nodes in SIZES:
        taken = seconds(nodes)
        print(f"{nodes:>6} {DATASETS:>9} {taken:>8.3f} {taken * 1000 / nodes:>12.3f}")


if __name__ == "__main__":
    main()

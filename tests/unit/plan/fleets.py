"""Hosts for tests: facts of machines of different kinds, and fleets of them."""

from copy import deepcopy
from typing import Any

from alluxio_fuse.plan.units import GIB

Host = dict[str, Any]


def facts(
    memory: float = 24, cpus: float = 2, disk: float = 200, gpus: tuple[str, ...] = (), **other: Any
) -> dict[str, Any]:
    """Facts of a node with `memory` and `disk` GiB; a root filesystem only, unless `filesystems` says more."""
    base: dict[str, Any] = {
        "hostname": "node",
        "architecture": "x86_64",
        "kernel": "6.1.0",
        "distribution": {"id": "debian", "version": "12"},
        "service_manager": "none",
        "cpus": cpus,
        "numa_nodes": 1,
        "memory": {"total": int(memory * GIB), "available": int(memory * GIB * 0.9), "limit": None},
        "swap": 0,
        "cgroup": {"version": 2},
        "nofile": {"soft": 1024, "hard": 20000},
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
        "clock": 1.0,
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
    """One host of a fleet."""
    return {"groups": list(groups), "variables": dict(variables or {}), "facts": facts(**kind)}


def local(**variables: Any) -> dict[str, Host]:
    """The local inventory: one machine that is everything, where nothing trains."""
    said = {
        "alluxio_environment": "local",
        "alluxio_platform": "containers",
        "alluxio_bind_address": "127.0.0.1",
        "alluxio_workload_memory": 0,
        "alluxio_workload_cpus": 0,
    } | variables
    return {"localhost": host(said)}


def fleet(count: int, variables: dict[str, Any], **kind: Any) -> dict[str, Host]:
    """`count` GPU nodes alike; the first is the master."""
    hosts = {}
    for number in range(count):
        made = host(deepcopy(variables), ("masters", "gpu_nodes") if number == 0 else ("gpu_nodes",), **kind)
        made["facts"]["hostname"] = f"node-{number}"
        made["facts"]["network"][1]["addresses"] = [f"10.0.{number // 250}.{number % 250 + 1}"]
        hosts[f"node-{number}"] = made
    return hosts

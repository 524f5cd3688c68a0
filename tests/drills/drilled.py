"""The deployment of the drills."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bundle import Run, playbook, podman

NAME = "drills"
MOUNT_POINT = Path(f"/mnt/{NAME}/bucket/data")
IMAGE = "localhost/alluxio-fuse:2.9.6"
SAID = {"alluxio_name": NAME, "alluxio_environment": NAME, "alluxio_port_offset": 1000}
SERVICES = ("master", "job-master", "worker", "job-worker", "fuse-bucket")


def started(services: Sequence[str] = SERVICES) -> dict[str, str]:
    """When each service was started."""
    how = "{{.State.StartedAt}}"
    return {name: podman("inspect", "--format", how, f"{NAME}-{name}").strip() for name in services}


def java(name: str) -> int:
    """The JVM of a service."""
    lines = podman("top", f"{NAME}-{name}", "hpid", "comm").splitlines()
    return next(int(line.split()[0]) for line in lines if line.split()[1] == "java")


def status(variables: dict[str, Any]) -> Run:
    """What `playbooks/status.yml` says."""
    return playbook("playbooks/status.yml", **variables)

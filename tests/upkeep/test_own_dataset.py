"""A deployment follows its datasets, and frees what it held: a smaller one, a larger one, several, the first again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from bundle import C1_ALONE, Run, engine_options, playbook, podman, stages, succeed

NAME = "own-dataset"
IMAGE = "localhost/alluxio-fuse:2.9.6"
MIB = 1 << 20
SETS = {"first": (24, 2 * MIB), "small": (8, 300_000), "large": (30, 2 * MIB), "other": (9, 500_000)}
TIER, CLIENT_CACHE = Path(f"/var/lib/{NAME}/tier/memory"), Path(f"/var/lib/{NAME}/client-cache")
SHRINK = "cache_media : Shrink tmpfs media that services have freed"
UP_TO_SERVICES = ("preflight", "plan", "nodes", "services")


@pytest.fixture(scope="module")
def deployment() -> Iterator[Path]:
    """The sets, in a folder each; nothing is deployed yet."""
    with leftovers.folder(Path(f"/var/lib/{NAME}-sources")) as folder:
        for name, (files, size) in SETS.items():
            trees.fill(folder / name, {f"{name}-{number}.bin": size + number for number in range(files)})
        with leftovers.deployment(said(folder, ["first"])):
            yield folder


def said(sources: Path, names: Sequence[str]) -> dict[str, Any]:
    """What the user says of these sets. Tiers and caches are as small as they, else nothing would have to shrink."""
    size = sum(SETS[name][0] * SETS[name][1] for name in names)
    caches = {"worker.tier_quota": size + 2 * MIB, "fuse.client_cache_size": size // len(names) + 2 * MIB}
    return {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 2400,
        "alluxio_datasets": [{"name": name, "source": f"file://{sources}/{name}"} for name in names],
        "alluxio_overrides": C1_ALONE["alluxio_overrides"] | caches,
    }


def mounted(name: str) -> Path:
    return Path(f"/mnt/{NAME}/{name}/data")


def bounds() -> dict[Path, int]:
    """Bytes that each tmpfs may hold."""
    rooms = {path: os.statvfs(path) for path in (TIER, CLIENT_CACHE)}
    return {path: room.f_blocks * room.f_frsize for path, room in rooms.items()}


def in_use(path: Path) -> int:
    room = os.statvfs(path)
    return (room.f_blocks - room.f_bfree) * room.f_frsize


def deploy(sources: Path, *names: str) -> None:
    """The stages up to the mounts; then every byte of every set is read, into the client cache and by the worker."""
    succeed(stages(*UP_TO_SERVICES, **said(sources, names)))
    for name in names:
        podman("exec", f"{NAME}-master", "/opt/alluxio/bin/alluxio", "fs", "load", f"/{name}")
        assert trees.digests(mounted(name)) == trees.digests(sources / name)
    gone = [name for name in SETS if name not in names and mounted(name).exists()]
    assert gone == []


def changes_nothing(sources: Path, *names: str) -> None:
    run = succeed(stages(*UP_TO_SERVICES, **said(sources, names)))
    assert run.changed == 0, run.tasks("changed")


def unchanged_by(run: Run, before: dict[Path, int]) -> None:
    assert bounds() == before, run.output[-3000:]
    assert trees.digests(mounted("first"))


def test_it_follows_its_datasets(deployment: Path) -> None:
    """Each stop has caches that are full, so that the next one has to have something freed."""
    deploy(deployment, "first")
    before = bounds()
    assert in_use(TIER) > 40 * MIB

    with (mounted("first") / "first-0.bin").open("rb"):
        refused = playbook("site.yml", **said(deployment, ["small"]))
        assert refused.status != 0
        assert f"localhost: {mounted('first')}: read by" in refused.output.replace("\n", " "), refused.output[-3000:]
        assert f"({os.getpid()})" in refused.output
        assert refused.tasks("changed") == []
        unchanged_by(refused, before)

    one, *others = (f"playbooks/{stage}.yml" for stage in UP_TO_SERVICES)
    foretold = succeed(playbook(one, *others, "--check", "--diff", **said(deployment, ["small"])))
    assert {SHRINK, "undo : Stop and remove the containers, FUSE first"} <= {*foretold.tasks("changed")}
    unchanged_by(foretold, before)

    deploy(deployment, "small")
    small = bounds()
    assert all(small[path] < before[path] // 4 for path in small)
    changes_nothing(deployment, "small")

    deploy(deployment, "large")
    deploy(deployment, "small", "other")
    assert bounds()[TIER] < before[TIER] // 4
    changes_nothing(deployment, "small", "other")
    deploy(deployment, "first")
    assert bounds() == before
    changes_nothing(deployment, "first")


def test_a_container_of_others_stays(deployment: Path) -> None:
    """It has the name of one of ours, of which the ownership record knows no more than the name."""
    name, variables = f"{NAME}-master", said(deployment, ["first"])
    succeed(stages(*UP_TO_SERVICES, **variables))
    podman("rm", "--force", "--time", "5", name)
    podman("create", "--name", name, "--network", "none", *engine_options(), IMAGE, "job-master")
    identity = podman("inspect", "--format", "{{.Id}} {{.State.Status}}", name)
    try:
        refused = playbook("playbooks/preflight.yml", **variables)
        assert refused.status != 0
        assert f"localhost: container {name}: created, of {IMAGE}" in refused.output
        assert "podman rename it" in refused.output
        refused = playbook("playbooks/services.yml", **variables)
        assert refused.status != 0
        assert f"{name} (created, of {IMAGE}) is a container that this deployment did not make" in refused.output
        leftovers.remove_deployment(variables)
        assert podman("inspect", "--format", "{{.Id}} {{.State.Status}}", name) == identity
        assert f"{NAME}-worker" not in podman("ps", "--all", "--format", "{{.Names}}")
    finally:
        podman("rm", "--force", "--time", "0", name)

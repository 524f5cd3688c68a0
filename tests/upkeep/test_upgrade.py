"""From the last released version to this one, under readers, and back to a node without either."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import snapshot
import trees
from bundle import C1_ALONE, CHECKOUT, playbook, podman, stages, succeed
from object_store import ObjectStore
from readers import READING, reading

#: The last commit of version 0.3.0.
RELEASED = "3eb3bad52060d3b9a7ce99b19d07d769a1777df4"
NAME = "upgraded"
MOUNT_POINT = Path(f"/mnt/{NAME}/bucket/data")
SERVICES = ("master", "job-master", "worker", "job-worker", "fuse-bucket")


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the released version."""
    folder = tmp_path_factory.mktemp("released")
    archive = subprocess.run(["git", "archive", RELEASED], cwd=CHECKOUT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "--extract", "--directory", folder], input=archive, check=True)
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    trees.fill(folder)
    return folder


@pytest.fixture(scope="module")
def variables(store: ObjectStore, source: Path) -> Iterator[dict[str, Any]]:
    said = {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 1000,
        "alluxio_check_passes": 3,
        **trees.upload(source, store),
        **C1_ALONE,
    }
    with leftovers.deployment(said):
        yield said


def started() -> dict[str, str]:
    """When each service was started."""
    return {name: podman("inspect", "--format", "{{.State.StartedAt}}", f"{NAME}-{name}") for name in SERVICES}


def test_an_upgrade_under_readers_keeps_every_byte_and_leaves_nothing_in_the_end(
    released: Path, variables: dict[str, Any], source: Path, tmp_path: Path
) -> None:
    before, digests = snapshot.take(), tmp_path / "digests.json"
    digests.write_text(json.dumps(trees.digests(source)))
    succeed(playbook("site.yml", checkout=released, **variables))
    command = [sys.executable, str(READING), str(MOUNT_POINT), str(digests)]

    with reading([[*command, str(seed)] for seed in range(2)], tmp_path) as readers:
        readers.settle(time.time(), 300)
        done = readers.drill("upgrade", lambda: print(succeed(playbook("site.yml", **variables)).output), started, 300)
        print(readers.table())
        assert done.wrong == 0
        assert done.saw in ("waited", "nothing")
        assert "fuse-bucket" not in done.restarted

    succeed(stages("services", "warm", **variables))
    assert trees.digests(MOUNT_POINT) == trees.digests(source)
    assert succeed(stages("plan", "nodes", "services", **variables)).changed == 0

    succeed(playbook("playbooks/teardown.yml", **variables))
    assert snapshot.changes(before) == []
    assert not os.path.lexists(f"/mnt/{NAME}")

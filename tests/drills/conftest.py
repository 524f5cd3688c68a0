"""A deployment whose caches hold a part of the set, so that every read may need every layer, and what reads it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from bundle import CHECKOUT, playbook, podman, stages, succeed
from drilled import IMAGE, MOUNT_POINT, NAME, SAID, started
from object_store import RestartableStore, restartable_store
from readers import READING, Drill, Readers, reading


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableStore]:
    """A store that can be taken away."""
    with restartable_store(tmp_path_factory.mktemp("store")) as running:
        yield running


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    trees.fill(folder)
    return folder


@pytest.fixture(scope="session")
def another_image() -> Iterator[str]:
    """The same image, made once more."""
    succeed(playbook("playbooks/image.yml"))
    name = f"localhost/{NAME}:next"
    file = f"FROM {IMAGE}\nLABEL made=again\n"
    subprocess.run(["podman", "build", "--quiet", "--tag", name, "-"], input=file, text=True, check=True)
    yield name
    podman("rmi", "--force", name)


@pytest.fixture(scope="module")
def variables(store: RestartableStore, source: Path) -> Iterator[dict[str, Any]]:
    said = {
        **SAID,
        **trees.upload(source, store.about),
        "alluxio_overrides": {"fuse.client_cache_size": "16Mi", "worker.tier_quota": "64Mi"},
    }
    with leftovers.deployment(said):
        yield said


@pytest.fixture(scope="module")
def deployed(variables: dict[str, Any]) -> None:
    succeed(stages("preflight", "plan", "nodes", "services", **variables))


@pytest.fixture(scope="module")
def readers(
    deployed: None, source: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Readers]:
    """Four readers. The table of drills is printed at the end, and kept in runs/."""
    folder = tmp_path_factory.mktemp("reading")
    (folder / "digests.json").write_text(json.dumps(trees.digests(source)))
    command = [sys.executable, str(READING), str(MOUNT_POINT), str(folder / "digests.json")]
    with reading([[*command, str(seed)] for seed in range(4)], folder) as running:
        running.settle(time.time(), 300)
        yield running
    table = running.table()
    (CHECKOUT / "runs" / f"{request.path.stem.removeprefix('test_')}.md").write_text(f"{table}\n")
    print(f"\n{table}")


@pytest.fixture
def drill(readers: Readers) -> Callable[..., Drill]:
    """Runs a drill that must leave no wrong byte."""

    def run(fault: str, happen: Callable[[], None], limit: float = 300) -> Drill:
        done = readers.drill(fault, happen, started, limit)
        assert done.wrong == 0
        assert done.reads > 0
        return done

    return run

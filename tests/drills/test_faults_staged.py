"""Faults while others read staged datasets, on this machine: a whole copy, and a part, of which FUSE serves the rest.

The order matters little: each drill begins when all is as before. A read of what is staged never fails.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import faults
import leftovers
import pytest
import trees
from bundle import CHECKOUT, kill, playbook, stages, succeed, until
from drilled import NAME, SAID, started
from object_store import RestartableStore
from readers import READING, Drill
from staged import PART, REST, WHOLE, groups
from store_faults import store_away, store_refuses

SERVICES = ("master", "job-master", "worker", "job-worker", "fuse-whole", "fuse-part", "stage")
STAGE = Path(f"/var/lib/{NAME}/stage")
Drilled = Callable[[str, Callable[[], object]], dict[str, Drill]]


@pytest.fixture(scope="module")
def variables(store: RestartableStore, source: Path) -> Iterator[dict[str, Any]]:
    """Memory holds one dataset, and of the other small files and a large one; workers hold a part of the rest."""
    said = {
        **SAID,
        **trees.upload(source, store.about, WHOLE, PART),
        "alluxio_cache_tiers": [{"medium": "memory", "budget": "390Mi"}],
        "alluxio_overrides": {"worker.tier_quota": "64Mi"},
    }
    for dataset, stage in zip(said["alluxio_datasets"], ("require", "auto"), strict=True):
        dataset["stage"] = stage
    with leftovers.deployment(said):
        yield said


@pytest.fixture(scope="module")
def deployed(variables: dict[str, Any]) -> None:
    succeed(stages("preflight", "plan", "nodes", "services", "warm", **variables))


@pytest.fixture(scope="module")
def drill(deployed: None, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drilled]:
    """Runs a drill. The tables are printed at the end, and kept in runs/."""

    def command(dataset: str, digests: Path) -> list[str]:
        return [sys.executable, str(READING), f"/mnt/{NAME}/{dataset}/data", str(digests)]

    digests = trees.digests(source)
    (files,) = (STAGE / PART).glob("*/files")
    staged = {name for name in digests if (files / name).exists()}
    with groups(tmp_path_factory.mktemp("reading"), digests, staged, command, lambda: started(SERVICES)) as readers:
        yield readers.drill
        tables = readers.tables()
    (CHECKOUT / "runs/faults_staged.md").write_text(f"{tables}\n")
    print(f"\n{tables}")


def test_fuse_is_killed(drill: Drilled) -> None:
    done = drill("FUSE killed -9", lambda: [kill(f"{NAME}-fuse-{dataset}") for dataset in (WHOLE, PART)])
    assert "ENOTCONN" in done[REST].saw
    assert done[REST].restarted == ["fuse-part", "fuse-whole"]


def test_a_hung_fuse_is_told_and_let_go(drill: Drilled, variables: dict[str, Any], tmp_path: Path) -> None:
    done = drill("FUSE hung, unstuck", lambda: faults.hang(PART, variables, tmp_path))
    assert done[REST].restarted == ["fuse-part"]


def test_fuse_is_killed_for_memory(drill: Drilled) -> None:
    done = drill("FUSE killed for memory", lambda: faults.exhaust_memory("fuse-part"))
    assert done[REST].restarted == ["fuse-part"]


def test_the_keeper_is_killed(drill: Drilled) -> None:
    done = drill("keeper killed -9", lambda: kill(f"{NAME}-stage"))
    assert done[REST].restarted == ["stage"]
    assert done[REST].saw in ("nothing", "waited")


def test_the_worker_is_killed(drill: Drilled) -> None:
    assert drill("worker killed -9", lambda: kill(f"{NAME}-worker"))[REST].restarted == ["worker"]


def test_the_master_is_killed(drill: Drilled) -> None:
    assert drill("master killed -9", lambda: kill(f"{NAME}-master"))[REST].restarted == ["master"]


def test_the_master_is_away_for_a_minute(drill: Drilled, variables: dict[str, Any]) -> None:
    done = drill("master away for a minute", lambda: faults.master_away(variables))
    assert done[REST].restarted == ["master"]


@pytest.mark.parametrize(("what", "code"), [("answers 503", 503), ("refuses the key (403)", 403)])
def test_the_under_store_answers_errors(drill: Drilled, store: RestartableStore, what: str, code: int) -> None:
    done = drill(f"under store {what} for 20 s", lambda: store_refuses(store, code))
    assert done[REST].restarted == []


def test_the_under_store_is_away(drill: Drilled, store: RestartableStore) -> None:
    done = drill("under store away for 20 s", lambda: store_away(store))
    assert done[REST].restarted == []


def test_training_needs_the_memory_of_a_copy(drill: Drilled, variables: dict[str, Any]) -> None:
    """A task gives the copy up under its readers, and the memory is back as soon as their open files are closed."""
    task = {"datasets": [WHOLE], "into": "stage", "evict": True}
    size, before = sum(trees.FILES.values()), memory_used()
    drill("the copy given up", lambda: succeed(playbook("playbooks/warm.yml", **variables, alluxio_warm=task)))
    until("the memory is back", lambda: memory_used() <= before - size)
    drill("and staged again", lambda: succeed(playbook("playbooks/warm.yml", **variables)))
    assert memory_used() >= before


def memory_used() -> int:
    """Bytes of the memory that copies lie in."""
    about = os.statvfs(STAGE)
    return (about.f_blocks - about.f_bfree) * about.f_frsize

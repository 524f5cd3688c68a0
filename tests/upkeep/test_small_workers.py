"""A dataset of which the only node stages a part, and its worker holds another: the rest stays in the source."""

from __future__ import annotations

from collections.abc import Iterator

import leftovers
import pytest
import trees
from bundle import stages, succeed
from staged import DEPLOYED, Staged, mount_types

NAME = "small-workers"
FILES = trees.FILES | {f"big/shard-{i}.bin": (17 << 20) + i for i in range(20)}


@pytest.fixture(scope="module")
def small() -> Iterator[Staged]:
    """A deployment whose memory is for the copy and for the worker, each of which holds three quarters of the set."""
    with trees.source(NAME, FILES) as folder:
        deployed = Staged(NAME, folder, alluxio_cache_tiers=[{"medium": "memory", "budget": "560Mi"}])
        with leftovers.deployment(deployed.said("auto")):
            yield deployed


def test_it_is_warmed_and_read(small: Staged) -> None:
    run = succeed(stages(*DEPLOYED, **small.said("auto")))
    assert "would be read from the under store" in run.output
    assert "TASK [warm : Load into workers]" in run.output
    assert mount_types(small.path) == ["overlay"]
    assert trees.digests(small.path) == trees.digests(small.source)


def test_a_second_run_changes_nothing(small: Staged) -> None:
    run = succeed(stages(*DEPLOYED, **small.said("auto")))
    assert run.changed == 0, run.tasks("changed")

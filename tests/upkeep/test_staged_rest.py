"""A dataset that memory holds in part, with a disk for the rest: FUSE serves that from the node's client cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import leftovers
import pytest
import trees
from bundle import latest, playbook, stages, succeed
from staged import DEPLOYED, Staged, mount_types

NAME = "rest"
LARGE = 34
FILES = trees.FILES | {f"big/shard-{i}.bin": (17 << 20) + i for i in range(LARGE)}


@pytest.fixture(scope="module")
def rest() -> Iterator[Staged]:
    """No medium holds the set whole. The disk has room for a small worker and for what memory lacks."""
    with trees.source(NAME, FILES) as folder, leftovers.folder(Path(f"/var/lib/{NAME}-disk")) as disk:
        tiers = [{"medium": "memory", "budget": "460Mi"}, {"medium": "ssd", "path": str(disk), "budget": "560Mi"}]
        deployed = Staged(NAME, folder, alluxio_cache_tiers=tiers)
        with leftovers.deployment(deployed.said("auto")):
            succeed(stages(*DEPLOYED, **deployed.said("auto")))
            yield deployed


def test_what_is_not_staged_is_in_the_client_cache(rest: Staged) -> None:
    assert mount_types(rest.path) == ["overlay"]
    succeed(playbook("playbooks/check.yml", **rest.said("auto")))
    (dataset,) = latest("check")["datasets"]
    assert dataset["wrong"] == 0
    rows = {(row["state"], row["kind"]): row for row in dataset["rows"] if row["path"] == "mount"}
    for state, kind in (("staged", "small"), ("staged", "large"), ("client-cache", "large")):
        assert rows[state, kind]["established"], rows[state, kind]["why"]
    assert ("client-cache", "small") not in rows, "every small file is staged"
    assert not {"worker", "page-cache"} & {state for state, _ in rows}
    assert trees.digests(rest.path) == trees.digests(rest.source)


def test_a_second_run_changes_nothing(rest: Staged) -> None:
    run = succeed(stages(*DEPLOYED, **rest.said("auto")))
    assert run.changed == 0, run.tasks("changed")
    assert "Read through" not in run.output, "readers fill the client cache of a rest"


def test_a_mount_is_tuned_by_what_its_client_cache_holds(rest: Staged) -> None:
    tried = {"read_ahead_kb": [128], "max_background": [], "congestion_threshold": []}
    settings = {"alluxio_tune": tried, "alluxio_tune_passes": 3, "alluxio_tune_processes": []}
    succeed(playbook("playbooks/tune.yml", **rest.said("auto"), **settings))
    record = json.loads(Path(f"/var/lib/{NAME}/tuned.json").read_text())
    decided = next(one for one in record["set"]["kept"]["tried"] if one["knob"] == "read_ahead_kb")
    (figures,) = decided["tried"]
    assert figures["by_kind"].keys() == {"large"}, "every small file is staged"
    assert figures["by_kind"]["large"]["passes"] == 3

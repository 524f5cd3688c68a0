"""Datasets come and go while another one is read."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from bundle import C1_ALONE, podman, stages, succeed
from object_store import ObjectStore
from readers import READING, Readers, reading

NAME = "datasets"
OWN, BUCKET = (Path(f"/mnt/{NAME}/{name}/data") for name in ("own", "bucket"))


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with trees.source(NAME) as folder:
        yield folder


@pytest.fixture(scope="module")
def variables(store: ObjectStore, directory: Path) -> Iterator[dict[str, Any]]:
    bucket = trees.upload(directory, store)
    said = {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 1500,
        **bucket,
        "alluxio_datasets": [{"name": "own", "source": f"file://{directory}"}, *bucket["alluxio_datasets"]],
        **C1_ALONE,
    }
    with leftovers.deployment(said):
        succeed(stages("preflight", "plan", "nodes", "services", **said))
        yield said


@pytest.fixture
def reader(variables: dict[str, Any], directory: Path, tmp_path: Path) -> Iterator[Readers]:
    """A process that reads the bucket all the time."""
    (tmp_path / "digests.json").write_text(json.dumps(trees.digests(directory)))
    command = [sys.executable, str(READING), str(BUCKET), str(tmp_path / "digests.json"), "0"]
    with reading([command], tmp_path) as running:
        yield running


def test_a_dataset_goes_and_comes_while_another_is_read(
    variables: dict[str, Any], directory: Path, reader: Readers
) -> None:
    """The reader of the other dataset may wait, and sees no error."""
    bucket_alone = variables | {"alluxio_datasets": variables["alluxio_datasets"][1:]}
    own_file = OWN / "class-0/0000.bin"
    with own_file.open("rb"):
        run = stages("plan", "services", **bucket_alone)
        assert run.status != 0
        assert f"{OWN} is not planned any more, and is read by" in " ".join(run.output.split())
        assert own_file.exists()
    succeed(stages("services", **bucket_alone))
    assert not own_file.exists()
    assert f"{NAME}-fuse-own" not in podman("ps", "--all", "--format", "{{.Names}}").split()
    succeed(stages("preflight", "plan", "nodes", "services", **variables))
    assert trees.digests(OWN) == trees.digests(directory)
    assert {one.outcome for one in reader.reads(0)} == {"ok"}

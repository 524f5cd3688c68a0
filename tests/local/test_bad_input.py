"""Bad input is refused before anything changes, with variable, value, reason and remedy."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import leftovers
import pytest
from bundle import CHECKOUT, Run, playbook

NAME = "refused"


def refused(**variables: Any) -> str:
    """What preflight says to these variables; that it refuses and changes nothing is asserted here, for every case."""
    run: Run = playbook("playbooks/preflight.yml", alluxio_name=NAME, **variables)
    assert run.status != 0, run.output
    assert run.changed == 0, run.tasks("changed")
    assert not Path(f"/var/lib/{NAME}").exists()
    assert not Path(f"/mnt/{NAME}/data").is_mount()
    return run.output


def dataset(source: str, **more: Any) -> dict[str, Any]:
    return {"alluxio_datasets": [{"name": "data", "source": source, **more}]}


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        pytest.param(dataset("file:///no/such/folder"), ["file:///no/such/folder", "missing"], id="source missing"),
        pytest.param(dataset("abfs://container/data"), ["abfs:// is not read", "file:///<mount"], id="unread scheme"),
        pytest.param(dataset("gs://bucket/set"), ["s3://bucket/set", "storage.googleapis.com"], id="store with S3"),
        pytest.param(
            dataset("s3://bucket/set", s3={"endpoint": "http://127.0.0.1:9", "anonymous": True}),
            ["s3://bucket/set", "unreachable"],
            id="s3 unreachable",
        ),
        pytest.param(
            dataset("s3://bucket/set", s3={"endpoint": "http://127.0.0.1:9"}),
            ["alluxio_credentials.data", "anonymous: true"],
            id="s3 without keys",
        ),
        pytest.param(
            dataset("s3://bucket/set", s3={"anonymous": True})
            | {"alluxio_credentials": {"data": {"access_key": "AK", "secret_key": "SK"}}},
            ["alluxio_credentials.data", "remove one of them"],
            id="s3 with keys and anonymous",
        ),
        pytest.param(
            dataset("file:///usr/share/common-licenses", chache={}),
            ["chache", "did you mean cache?"],
            id="unknown dataset key",
        ),
        pytest.param(
            {"alluxio_dataset": []}, ["alluxio_dataset", "did you mean alluxio_datasets?"], id="unknown variable"
        ),
        pytest.param(
            {"alluxio_workload_memory": "10 parsecs"}, ["alluxio_workload_memory", "10 parsecs"], id="wrong unit"
        ),
        pytest.param({"alluxio_workload_memory": "100Ti"}, ["alluxio_workload_memory"], id="too little memory"),
        pytest.param(
            dataset("file:///usr/share/common-licenses", bytes="3Ti", files=1000, cache={"pin": True}),
            ["3Ti", "pin"],
            id="too little space",
        ),
    ],
)
def test_refused(variables: dict[str, Any], words: list[str]) -> None:
    said = refused(**variables)
    for word in words:
        assert word in said, said


def test_source_empty(tmp_path: Path) -> None:
    assert "empty" in refused(**dataset(f"file://{tmp_path}"))


def test_files_at_the_mount_point() -> None:
    with leftovers.folder(Path(f"/mnt/{NAME}")) as parent:
        point = parent / "data/data"
        point.mkdir(parents=True)
        (point / "mine").touch()
        said = refused(**dataset("file:///usr/share/common-licenses"))
        assert str(point) in said
        assert "files" in said
        assert (point / "mine").exists()


def test_foreign_mount() -> None:
    with leftovers.folder(Path(f"/mnt/{NAME}")) as parent:
        point = parent / "data/data"
        point.mkdir(parents=True)
        with leftovers.mounted(point, "-t", "tmpfs", "foreign"):
            assert "did not mount" in refused(**dataset("file:///usr/share/common-licenses"))
            assert point.is_mount()


@contextmanager
def listening(port: int) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", port)):
        yield


def test_foreign_listener() -> None:
    with listening(19998 + 1000):
        said = refused(alluxio_port_offset=1000, **dataset("file:///usr/share/common-licenses"))
    assert "20998" in said
    assert "alluxio_port_offset" in said


def test_all_findings_at_once() -> None:
    said = refused(
        alluxio_dataset=[],
        alluxio_workload_memory="10 parsecs",
        alluxio_datasets=[{"name": "data", "source": "abfs://x/y"}],
    )
    for word in ("alluxio_dataset", "10 parsecs", "abfs"):
        assert word in said


def test_teardown_of_a_part_is_refused(tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("all: {hosts: {one: {}, two: {}}}\n")
    said = {"ansible_connection": "local", "alluxio_name": NAME}
    run = playbook("playbooks/teardown.yml", "-i", str(inventory), "--limit", "one", **said)
    assert run.status != 0
    assert run.changed == 0
    assert "--limit leaves out two" in run.output


@pytest.mark.parametrize("mode", [(), ("--check",)], ids=["neither", "check alone"])
def test_drift_that_would_not_only_look_is_refused(mode: tuple[str, ...]) -> None:
    run = playbook("playbooks/drift.yml", *mode, alluxio_name=NAME, alluxio_environment=NAME)
    assert run.status == 2
    assert run.tasks("ok") == []
    assert "run it with --check --diff" in run.output
    assert "drift    none" not in run.output


@pytest.mark.parametrize("stage", ["preflight", "plan"])
def test_a_host_that_is_not_reached_makes_no_smaller_fleet(stage: str, tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yml"
    gone = "{ansible_connection: ssh, ansible_host: 127.0.0.1, ansible_port: 1}"
    inventory.write_text(f"all: {{children: {{gpu_nodes: {{hosts: {{gone: {gone}}}}}}}}}\n")
    both = ["-i", "inventories/local", "-i", str(inventory)]
    run = playbook(f"playbooks/{stage}.yml", *both, alluxio_name=NAME, alluxio_environment=NAME)
    assert run.status != 0
    assert run.changed == 0
    assert "gone" in run.output.partition("nothing was changed")[2].partition("PLAY RECAP")[0]
    assert "take it out of the inventory" in run.output
    assert not (CHECKOUT / "runs" / f"plan-{NAME}.json").exists()

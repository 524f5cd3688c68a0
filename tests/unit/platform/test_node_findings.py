"""What preflight refuses for a node's surroundings: its clock, its names, and Alluxio that others left there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.action.clock import least_skew
from ansible_collections.alluxio.fuse.plugins.module_utils import leftovers, names
from fleets import facts, local

from alluxio_fuse import preflight
from alluxio_fuse.plan.rules.ports import web_ports

SOURCE = {"state": "ok", "detail": None, "files": 1000, "bytes": 10**8}
PEER = {"name": "gpu-2", "address": "10.0.0.2", "forward": ["10.0.0.2"], "reverse": ["gpu-2.example"]}


def found(**given: Any) -> list[dict[str, Any]]:
    hosts = local()
    hosts["localhost"]["facts"] |= given
    return preflight.findings(hosts)


@pytest.mark.parametrize(
    ("given", "path", "value"),
    [
        ({"clock_skew": -45.0}, "clock", "at least 45 s behind the controller"),
        ({"clock_skew": 3600.5}, "clock", "at least 3600 s ahead of the controller"),
        ({"names": [PEER | {"forward": ["127.0.1.1"]}]}, "name gpu-2", "127.0.1.1"),
        ({"names": [PEER | {"reverse": ["gpu-3.example"]}]}, "name of 10.0.0.2", "gpu-3.example"),
        ({"names": [PEER | {"reverse": None}]}, "name of 10.0.0.2", "no answer"),
        ({"names": [PEER | {"forward": None}]}, "name of 10.0.0.2", "no answer"),
        (
            {"leftovers": [{"kind": "process", "name": "alluxio.worker.AlluxioWorker", "state": "process 77"}]},
            "another Alluxio",
            "alluxio.worker.AlluxioWorker (process 77)",
        ),
        (
            {"leftovers": [{"kind": "mount", "name": "/mnt/old", "state": "stale"}]},
            "another Alluxio",
            "/mnt/old is stale",
        ),
        (
            {"leftovers": [{"kind": "unit", "name": "alluxio-worker.service", "state": "installed"}]},
            "another Alluxio",
            "alluxio-worker.service",
        ),
    ],
)
def test_refused(given: dict[str, Any], path: str, value: str) -> None:
    (finding,) = found(**given)
    assert (finding["path"], finding["value"]) == (f"localhost: {path}", value)


@pytest.mark.parametrize(
    "given",
    [
        {"clock_skew": 29.0},
        {"names": [PEER]},
        {"names": [PEER | {"forward": [], "reverse": []}]},
        {"names": [PEER | {"name": "gpu-2.example", "reverse": ["gpu-2"]}]},
    ],
    ids=["clock within its bound", "right names", "unknown names", "with and without the domain"],
)
def test_accepted(given: dict[str, Any]) -> None:
    assert found(**given) == []


def test_a_stale_mount_is_told_from_a_hung_one() -> None:
    states = {"stale": "its daemon is dead", "hung": "whoever touches it waits"}
    for state, said in states.items():
        (finding,) = found(leftovers=[{"kind": "mount", "name": "/mnt/old", "state": state}])
        assert said in finding["reason"]
        assert "umount --lazy /mnt/old" in finding["remedy"]


def test_the_skew_is_what_is_certain() -> None:
    assert least_skew(100.0, 101.0, 102.0) == 0
    assert least_skew(100.0, 99.0, 130.0) == -1
    assert least_skew(100.0, 200.0, 130.0) == 70


def test_peers_are_the_other_nodes_where_they_are_reached() -> None:
    bridge = {"name": "docker0", "addresses": ["172.17.0.1"], "speed_mbps": None}
    nic = {"name": "eth0", "addresses": ["fe80::1", "10.0.0.2"], "speed_mbps": None}
    fleet = {"a": facts(), "b": facts(hostname="gpu-2", network=[bridge, nic])}
    assert preflight.peers(fleet, "a") == [{"name": "gpu-2", "address": "10.0.0.2"}]


def test_names_of_this_machine() -> None:
    (answer,) = names.look_up([{"name": "localhost", "address": "127.0.0.1"}])
    assert answer["forward"] is not None
    assert "127.0.0.1" in answer["forward"]
    assert names.look_up([]) == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("java\0-Xmx4g\0alluxio.worker.AlluxioWorker\0", "alluxio.worker.AlluxioWorker"),
        ("/bin/java\0-cp\0/x/*\0alluxio.fuse.AlluxioFuse\0-m\0/mnt/x\0", "alluxio.fuse.AlluxioFuse"),
        ("java\0--add-opens\0a/b=c\0-Dx=y\0alluxio.master.AlluxioMaster\0", "alluxio.master.AlluxioMaster"),
        ("java\0-Dalluxio.home=/x\0org.example.Main\0", None),
        ("java\0-jar\0search.jar\0alluxio.worker.AlluxioWorker\0", None),
        ("java\0-cp\0alluxio.worker.AlluxioWorker\0", None),
        ("java\0org.example.Search\0alluxio.worker.AlluxioWorker\0", None),
        ("java\0alluxio.cli.fs.FileSystemShell\0ls\0", None),
        ("grep\0alluxio.worker\0", None),
    ],
)
def test_alluxio_is_known_by_its_main_class(command: str, expected: str | None) -> None:
    assert leftovers.main_class(command) == expected


@pytest.mark.parametrize("program", ["grep", "vim", "java"])
def test_only_what_executes_java_is_an_alluxio(program: str, tmp_path: Path) -> None:
    """A program of that name waits with a service's class as its first argument, as a search for it has."""
    path = tmp_path / program
    shutil.copy(os.path.realpath(sys.executable), path)
    command = [str(path), "-cimport sys; print(flush=True); sys.stdin.read()", "alluxio.worker.AlluxioWorker"]
    home = {**os.environ, "PYTHONHOME": sys.base_prefix}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=home) as process:
        assert process.stdout
        process.stdout.readline()
        seen = [one for one in leftovers.read_leftovers([], []) if one["state"] == f"process {process.pid}"]
        path.unlink()  # as a JDK that was replaced
        still = [one for one in leftovers.read_leftovers([], []) if one["state"] == f"process {process.pid}"]
        process.communicate()
    assert [one["name"] for one in seen] == (["alluxio.worker.AlluxioWorker"] if program == "java" else [])
    assert still == seen


def test_what_any_record_names_is_claimed(tmp_path: Any) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/owned.json").write_text('{"items": [{"kind": "container", "id": "other-master"}]}')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/owned.json").write_text("{")
    assert leftovers.read_claims(str(tmp_path)) == {("container", "other-master")}


def test_pods_need_a_shared_root_and_containers_do_not() -> None:
    hosts = local()
    hosts["localhost"]["facts"] |= {"shared_root": False}
    assert preflight.findings(hosts) == []
    pictures = {"name": "pictures", "source": "s3://bucket/pictures", "files": 1000, "bytes": 10**8}
    hosts["localhost"]["variables"] |= {"alluxio_platform": "kubernetes", "alluxio_datasets": [pictures]}
    hosts["localhost"]["facts"]["sources"] = {pictures["source"]: SOURCE}
    said = [finding for finding in preflight.findings(hosts) if "propagation" in finding["path"]]
    assert [(finding["path"], finding["value"]) for finding in said] == [
        ("localhost: mount propagation", "/ is private")
    ]


def test_the_host_platform_needs_systemd() -> None:
    hosts = local(alluxio_platform="host")
    assert preflight.findings(hosts) == []
    hosts["localhost"]["facts"]["service_manager"] = "none"
    (finding,) = preflight.findings(hosts)
    assert (finding["path"], finding["value"]) == ("localhost: service manager", "none")


def test_a_port_of_our_own_unit_is_no_finding() -> None:
    hosts = local(alluxio_platform="host")
    port = web_ports(["imagenet-sample"], 0)["imagenet-sample"]
    hosts["localhost"]["facts"]["listeners"] = [{"address": "127.0.0.1", "port": port, "process": "java"}]
    assert [finding["path"] for finding in preflight.findings(hosts)] == [f"localhost: port {port}"]
    unit = {"kind": "unit", "id": "alluxio-fuse-fuse-imagenet-sample.service", "data": {"role": "platform_host"}}
    hosts["localhost"]["facts"]["owned"] = {"items": [unit]}
    assert preflight.findings(hosts) == []

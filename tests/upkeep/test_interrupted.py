"""A run that was killed, in whatever stage, can be run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from bundle import ANSIBLE_PLAYBOOK, C1_ALONE, CHECKOUT, judged, playbook

NAME = "interrupted"
FILES = {f"{number}.bin": 50_000 + number for number in range(60)}
TASKS = (
    "cache_media : Mount the media",
    "dataset : Make the manifests of folders",
    "platform_containers : Run the containers",
    "platform_containers : Mount the datasets in the namespace",
    "warm : Load into workers",
)


@pytest.fixture
def source() -> Iterator[Path]:
    with trees.source(NAME, FILES) as folder:
        yield folder


@pytest.fixture
def variables(source: Path) -> Iterator[dict[str, Any]]:
    said = {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 2000,
        "alluxio_datasets": [{"name": "own", "source": f"file://{source}"}],
        "alluxio_gate_min_disk_ratio": 0.01,
        "alluxio_check_passes": 3,
        **C1_ALONE,
    }
    with leftovers.deployment(said):
        yield said


def descendants(pid: int) -> list[int]:
    """Children of a process, their children and so on."""
    listed = subprocess.run(["ps", "-eo", "ppid=,pid="], capture_output=True, text=True, check=True).stdout
    pairs = [(int(parent), int(child)) for parent, child in (line.split() for line in listed.splitlines())]
    found = [pid]
    for one in found:
        found += [child for parent, child in pairs if parent == one]
    return found[1:]


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a playbook, children and all: Ansible's workers have sessions of their own."""
    for pid in [process.pid, *descendants(process.pid)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate()


def kill_at(task: str, variables: dict[str, Any]) -> None:
    """Start the job and kill it while that task runs; also where this test is interrupted before."""
    command = [str(ANSIBLE_PLAYBOOK), "site.yml", "-e", json.dumps(variables)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "ANSIBLE_NOCOLOR": "1"}
    process = subprocess.Popen(
        command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    lines: list[str] = []
    try:
        for line in process.stdout:
            lines.append(line)
            if line.startswith(f"TASK [{task}"):
                break
    finally:
        kill(process)
    assert lines[-1].startswith(f"TASK [{task}"), f"the job ended before it came to {task}\n{''.join(lines[-80:])}"


def test_a_killed_run_goes_on(variables: dict[str, Any], source: Path) -> None:
    for task in TASKS:
        kill_at(task, variables)
    judged(playbook("site.yml", **variables))
    assert trees.digests(Path(f"/mnt/{NAME}/own/data")) == trees.digests(source)

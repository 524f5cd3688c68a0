"""Role open_files restarts containerd on one node after the other, and stops where it does not come back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
NODES = {number: f"alluxio-fuse-test-containerd{number}" for number in (1, 2, 3)}
# It listens a second after its process is there, and writes down when. A node with /srv/broken has it start in vain.
STAND_IN = """
import pathlib, socket, time
time.sleep(1)
path = pathlib.Path('/run/containerd/containerd.sock')
path.parent.mkdir(exist_ok=True)
path.unlink(missing_ok=True)
listener = socket.socket(socket.AF_UNIX)
listener.bind(str(path))
listener.listen()
pathlib.Path('/run/answers').write_text(str(time.monotonic_ns() // 1000))
while True:
    listener.accept()[0].close()
"""
UNIT = """[Service]
LimitNOFILE=1024
ExecStartPre=/bin/sh -c "! test -e /srv/broken"
ExecStart=/usr/bin/python3 /srv/containerd.py
"""
FILES = 19000
RECORD = "/var/lib/alluxio-fuse/owned.json"
PLAY = [
    {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.include_role": {"name": "open_files", "tasks_from": "{{ entry }}"}}],
    }
]
#: An address made of the host's name, as many inventories have it, which a task that is delegated would misread.
NODE = {
    "ansible_connection": "node",
    "ansible_host": "alluxio-fuse-test-containerd{{ inventory_hostname[1:] }}",
    "ansible_user": "root",
    "ansible_python_interpreter": "/usr/bin/python3",
    "open_files_engine": "containerd",
    "open_files_limit": FILES,
}


def inside(number: int, command: str, given: str | None = None) -> str:
    """What a command says on a node; it must succeed."""
    done = subprocess.run(
        ["podman", "exec", "--interactive", NODES[number], "sh", "-c", command],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def _nodes() -> Iterator[None]:
    """Three nodes whose containerd allows 1024 files."""
    subprocess.run(["tests/lab/node/build", "bookworm"], cwd=CHECKOUT, check=True)
    try:
        for number, name in NODES.items():
            up = ["tests/lab/node/up", name, "localhost/alluxio-fuse-node:bookworm"]
            subprocess.run(up, cwd=CHECKOUT, check=True)
            inside(number, "cat > /srv/containerd.py", STAND_IN)
            inside(number, "cat > /etc/systemd/system/containerd.service", UNIT)
            inside(number, "systemctl start containerd; until test -s /run/answers; do sleep 0.1; done")
        yield
    finally:
        subprocess.run(["podman", "rm", "--force", "--time=1", *NODES.values()], check=True, capture_output=True)


Job = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Runs an entry of the role on all nodes."""
    hosts: dict[str, dict[str, str]] = {f"n{number}": {} for number in NODES}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts, "vars": NODE}}))
    (tmp_path / "play.yml").write_text(json.dumps(PLAY))
    env = {**os.environ, "ANSIBLE_CONNECTION_PLUGINS": str(CHECKOUT / "tests/lab/node/connection"), "NO_COLOR": "1"}

    def job(entry: str = "main", *more: str) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("ansible-playbook")
        command = [
            program,
            f"--inventory={tmp_path / 'hosts.yml'}",
            tmp_path / "play.yml",
            f"--extra-vars=entry={entry}",
        ]
        return subprocess.run([*command, *more], cwd=CHECKOUT, env=env, capture_output=True, text=True, check=False)

    return job


def process(number: int) -> str:
    """The containerd of a node."""
    return inside(number, "systemctl show containerd --property MainPID --value")


def files(number: int) -> int:
    """What the containerd of a node may open."""
    return int(inside(number, f"awk '/^Max open files/ {{print $5}}' /proc/{process(number)}/limits"))


def in_turn() -> bool:
    """Whether each node's containerd answered before that of the next was stopped."""
    stopped = "systemctl show containerd --property ActiveExitTimestampMonotonic --value"
    away = sorted((int(inside(number, stopped)), int(inside(number, "cat /run/answers"))) for number in NODES)
    return all(back <= following for (_, back), (following, _) in pairwise(away))


def test_one_node_follows_the_other(job: Job) -> None:
    for entry, expected in (("main", FILES), ("remove", 1024)):
        done = job(entry)
        assert done.returncode == 0, done.stdout
        assert [files(number) for number in NODES] == [expected] * 3
        assert in_turn()
        before = {number: process(number) for number in NODES}
        again = job(entry)
        assert again.stdout.count("changed=0") == 3, again.stdout
        assert {number: process(number) for number in NODES} == before
        inside(1, f"sed -i s/open_files/limits/ {RECORD}")  # the role's name up to version 0.3.0
    foretold = job("main", "--check")
    assert "changed: [n3]" in foretold.stdout, foretold.stdout
    assert {number: process(number) for number in NODES} == before


def test_what_does_not_come_back_is_the_last_one(job: Job) -> None:
    third = process(3)
    inside(2, "touch /srv/broken")
    for _ in ("the first time", "and as long as it is broken"):
        done = job()
        assert done.returncode != 0
        assert (files(1), process(3)) == (FILES, third)
        assert "fatal: [n2]: FAILED!" in done.stdout
        assert "containerd.service was restarted and is not back" in done.stdout
    first = process(1)
    inside(2, "rm /srv/broken")
    done = job()
    assert done.returncode == 0, done.stdout
    assert process(1) == first
    assert (files(2), files(3)) == (FILES, FILES)

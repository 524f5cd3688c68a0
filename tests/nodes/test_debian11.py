"""The set-up on Debian 11, whose Python 3.9 is too old for the bundle, as Ubuntu 22.04's is: it brings one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
NODE = "alluxio-fuse-test-debian11"
TRUST = "/etc/ssl/certs/ca-certificates.crt"  # what this machine trusts, a private registry's CA included
TRUSTING = "PIP_CERT=/srv/trust.crt SSL_CERT_FILE=/srv/trust.crt"


def podman(*arguments: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["podman", *arguments], input=given, capture_output=True, check=False)


def inside(command: str) -> str:
    """What a command says in the checkout on the node; it must succeed."""
    done = podman("exec", "--workdir", "/srv/checkout", NODE, "bash", "-c", command)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said


@pytest.fixture(scope="module", autouse=True)
def set_up() -> Iterator[str]:
    """A node with a copy of the checkout, set up as a user does it: what that said."""
    subprocess.run(["tests/lab/node/build", "bullseye"], cwd=CHECKOUT, check=True)
    subprocess.run(["tests/lab/node/up", NODE, "localhost/alluxio-fuse-node:bullseye"], cwd=CHECKOUT, check=True)
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, check=True).stdout
    archive = subprocess.run(
        ["tar", "--create", "--null", "--files-from=-"], cwd=CHECKOUT, input=listing, capture_output=True, check=True
    )
    podman("exec", NODE, "mkdir", "/srv/checkout")
    podman("exec", "--interactive", NODE, "tar", "--extract", "--directory=/srv/checkout", given=archive.stdout)
    podman("cp", TRUST, f"{NODE}:/srv/trust.crt")
    yield inside(f"{TRUSTING} scripts/setup runtime")
    podman("rm", "--force", "--time", "1", NODE)


def test_it_says_what_it_does(set_up: str) -> None:
    assert "no Python 3.11 or newer was found: Python 3.9" in set_up
    assert "/root/.cache/alluxio-fuse" in set_up
    assert "installing python3-venv" in set_up


def test_the_python_that_it_brought_runs_the_current_ansible_core() -> None:
    said = inside(".venv/bin/ansible-playbook --version")
    assert "core 2.21" in said
    assert "python version = 3.14" in said
    assert "pip 2" in inside(".venv/bin/python -m pip --version")


def test_again_there_is_nothing_to_do() -> None:
    assert inside("scripts/setup runtime") == ""
    assert inside("scripts/python 3.12") == "/root/.cache/alluxio-fuse/bin/python3.14\n"


def test_the_plan_is_derived() -> None:
    inside("mkdir /srv/pictures && head -c 114660 /dev/urandom > /srv/pictures/one.jpg")
    datasets = json.dumps({"alluxio_datasets": [{"name": "pictures", "source": "file:///srv/pictures"}]})
    inside(f".venv/bin/ansible-playbook playbooks/plan.yml -e '{datasets}'")
    plan = json.loads(inside("cat runs/plan-local.json"))
    assert plan["nodes"]["localhost"]["worker"]["heap"]["amount"] > 0

"""The bundle on Debian 13: Python 3.13, current ansible-core, the same playbooks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
NODE = "alluxio-fuse-test-debian13"
TRUST = "/etc/ssl/certs/ca-certificates.crt"  # what this machine trusts, a private registry's CA included
ROLE = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: "{{ role }}"}
      vars:
        undo_name: alluxio-fuse
        undo_state_dir: /var/lib/alluxio-fuse
        cache_media_media:
          - {name: memory, medium: memory, kind: tmpfs, path: /srv/tier, size: 1048576, owner: 1000, mode: "0750"}
"""


def podman(*arguments: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["podman", *arguments], input=given, capture_output=True, check=False)


def inside(command: str) -> str:
    """What a command says in the checkout on the node; it must succeed."""
    done = podman("exec", "--workdir", "/srv/checkout", NODE, "bash", "-c", command)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said


@pytest.fixture(scope="module", autouse=True)
def checkout() -> Iterator[None]:
    """A node with a copy of the checkout, set up as a user does it."""
    subprocess.run(["tests/lab/node/build", "trixie"], cwd=CHECKOUT, check=True)
    subprocess.run(["tests/lab/node/up", NODE, "localhost/alluxio-fuse-node:trixie"], cwd=CHECKOUT, check=True)
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, check=True).stdout
    archive = subprocess.run(
        ["tar", "--create", "--null", "--files-from=-"], cwd=CHECKOUT, input=listing, capture_output=True, check=True
    )
    podman("exec", NODE, "mkdir", "/srv/checkout")
    podman("exec", "--interactive", NODE, "tar", "--extract", "--directory=/srv/checkout", given=archive.stdout)
    podman("cp", TRUST, f"{NODE}:/srv/trust.crt")
    inside("PIP_CERT=/srv/trust.crt scripts/setup runtime")
    yield
    podman("rm", "--force", "--time", "1", NODE)


def test_current_ansible_core() -> None:
    said = inside(".venv/bin/ansible-playbook --version")
    assert "core 2.21" in said
    assert "python version = 3.13" in said


def test_every_playbook_parses() -> None:
    inside(".venv/bin/ansible-playbook --syntax-check site.yml playbooks/*.yml")


def test_the_plan_is_derived() -> None:
    inside("mkdir /srv/pictures && head -c 114660 /dev/urandom > /srv/pictures/one.jpg")
    datasets = json.dumps({"alluxio_datasets": [{"name": "pictures", "source": "file:///srv/pictures"}]})
    inside(f".venv/bin/ansible-playbook playbooks/plan.yml -e '{datasets}'")
    plan = json.loads(inside("cat runs/plan-local.json"))
    assert plan["nodes"]["localhost"]["worker"]["heap"]["amount"] > 0


def test_a_role_applies_again_without_change_and_is_removed() -> None:
    inside(f"cat > role.yml <<'END'{ROLE}\nEND")
    apply = ".venv/bin/ansible-playbook role.yml -e role="
    assert "changed=0" not in inside(f"{apply}cache_media")
    assert "changed=0" in inside(f"{apply}cache_media")
    assert "tmpfs" in inside("findmnt /srv/tier")
    inside(f"{apply}undo && ! test -e /srv/tier && ! test -e /var/lib/alluxio-fuse")

"""A node with a copy of the checkout, which is set up there as a user does it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]
TRUST = "/etc/ssl/certs/ca-certificates.crt"  # what this machine trusts, a private registry's CA included


class CheckoutNode:
    """A running node by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def inside(self, command: str) -> str:
        """What a command says in the checkout on the node; it must succeed."""
        done = self._podman("exec", "--workdir", "/srv/checkout", self.name, "bash", "-c", command)
        said = (done.stdout + done.stderr).decode()
        assert done.returncode == 0, said
        return said

    def copy_checkout(self) -> None:
        """Brings the files that git tracks, and what this machine trusts."""
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, check=True).stdout
        pack = ["tar", "--create", "--null", "--files-from=-"]
        archive = subprocess.run(pack, cwd=CHECKOUT, input=listing, capture_output=True, check=True).stdout
        self._podman("exec", self.name, "mkdir", "/srv/checkout")
        unpack = ["tar", "--extract", "--directory=/srv/checkout"]
        self._podman("exec", "--interactive", self.name, *unpack, given=archive)
        self._podman("cp", TRUST, f"{self.name}:/srv/trust.crt")

    def set_up(self) -> str:
        """What the set-up of a user says."""
        return self.inside("PIP_CERT=/srv/trust.crt SSL_CERT_FILE=/srv/trust.crt scripts/setup runtime")

    def plan_of_one_file(self) -> dict[str, Any]:
        """The plan of a dataset with one file on the node."""
        self.inside("mkdir /srv/pictures && head -c 114660 /dev/urandom > /srv/pictures/one.jpg")
        said = json.dumps({"alluxio_datasets": [{"name": "pictures", "source": "file:///srv/pictures"}]})
        self.inside(f".venv/bin/ansible-playbook playbooks/plan.yml -e '{said}'")
        plan: dict[str, Any] = json.loads(self.inside("cat runs/plan-local.json"))
        return plan

    @staticmethod
    def _podman(*arguments: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["podman", *arguments], input=given, capture_output=True, check=False)


@contextmanager
def checkout_node(name: str, release: str) -> Iterator[CheckoutNode]:
    """A node of a Debian release (`trixie`), with the checkout and not set up yet; it is removed in the end."""
    subprocess.run(["tests/lab/node/build", release], cwd=CHECKOUT, check=True)
    subprocess.run(["tests/lab/node/up", name, f"localhost/alluxio-fuse-node:{release}"], cwd=CHECKOUT, check=True)
    node = CheckoutNode(name)
    try:
        node.copy_checkout()
        yield node
    finally:
        subprocess.run(["podman", "rm", "--force", "--time", "1", name], capture_output=True, check=False)

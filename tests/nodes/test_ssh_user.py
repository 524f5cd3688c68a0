"""What docs/requirements.md says of ssh and sudo: a user other than root, keys, a password, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from on_host import CHECKOUT, debian12, digests, inside, podman, snapshot, unlike

USER, PASSWORD = "deploy", "not a secret"
SOURCE = "/srv/sets"
RULE = "/etc/sudoers.d/alluxio-fuse"
INSTALL = "apt-get -qq update && apt-get -qq install -y --no-install-recommends openssh-server sudo >/dev/null"
STAGES = ("preflight", "plan", "nodes", "services")
Job = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    with debian12() as name:
        inside(f"{INSTALL} && useradd --create-home --shell /bin/sh {USER} && echo '{USER}:{PASSWORD}' | chpasswd")
        inside(f"mkdir -p {SOURCE}/folder && seq 100000 >{SOURCE}/folder/numbers && systemctl start ssh")
        yield name


@pytest.fixture(scope="module")
def inventory(node: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The node by ssh: its address, a key, and its host key, which is checked."""
    folder = tmp_path_factory.mktemp("ssh")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
    home = f"/home/{USER}/.ssh"
    podman("cp", str(folder / "key.pub"), f"{node}:/srv/key.pub")
    inside(f"install -d --owner={USER} --mode=0700 {home}")
    inside(f"install --owner={USER} --mode=0600 /srv/key.pub {home}/authorized_keys")
    address = podman("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", node).stdout
    host_key = inside("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub")
    (folder / "known").write_text(f"{address.strip()} {host_key}\n")
    said = {
        "ansible_user": USER,
        "ansible_ssh_private_key_file": str(folder / "key"),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={folder / 'known'}",
        "ansible_python_interpreter": "/usr/bin/python3",
        "alluxio_platform": "host",
        "alluxio_environment": "ssh",
        "alluxio_confirm": "ssh",
        "alluxio_datasets": [{"name": "folder", "source": f"file://{SOURCE}/folder", "through": "under_store"}],
    }
    hosts = {"node1": {"ansible_host": address.strip()}}
    (folder / "hosts.yml").write_text(json.dumps({"gpu_nodes": {"hosts": hosts}, "all": {"vars": said}}))
    return folder / "hosts.yml"


@pytest.fixture(scope="module")
def job(inventory: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Runs playbooks on the node."""
    extra = tmp_path_factory.mktemp("said") / "extra.json"

    def run(*playbooks: str, **said: Any) -> subprocess.CompletedProcess[str]:
        extra.write_text(json.dumps(said))
        program = Path(sys.executable).with_name("ansible-playbook")
        names = [f"playbooks/{name}.yml" for name in playbooks]
        return subprocess.run(
            [program, f"--inventory={inventory}", f"--extra-vars=@{extra}", *names],
            cwd=CHECKOUT,
            env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def well(done: subprocess.CompletedProcess[str]) -> str:
    """The output of a run that succeeded."""
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    return done.stdout


def allow(rule: str) -> None:
    """What sudo allows the user."""
    inside(f"echo '{USER} ALL=(root) {rule}' >{RULE} && chmod 0440 {RULE} && visudo --check --quiet")


@pytest.mark.parametrize(
    ("rule", "said", "why"),
    [
        ("ALL", {}, "Missing sudo password"),
        ("ALL", {"ansible_become_password": "another"}, "Incorrect sudo password"),
        (f"NOPASSWD: ALL\nDefaults:{USER} requiretty", {}, "you must have a tty to run sudo"),
    ],
)
def test_who_cannot_become_root_is_refused(job: Job, rule: str, said: dict[str, str], why: str) -> None:
    allow(rule)
    refused = job("preflight", **said)
    assert refused.returncode != 0
    assert f"node1: {USER} cannot become root by sudo: " in refused.stdout
    assert why in refused.stdout
    assert "docs/requirements.md#ssh-and-sudo" in refused.stdout


def test_a_key_and_a_rule_are_enough(job: Job, tmp_path: Path) -> None:
    """From the first run to teardown, with a password as without one."""
    before = snapshot(tmp_path / "before.json")
    well(job(*STAGES, ansible_become_password=PASSWORD))
    allow("NOPASSWD: ALL")
    assert "changed=0" in well(job(*STAGES))
    assert digests("/mnt/alluxio-fuse/folder/data") == digests(f"{SOURCE}/folder")
    well(job("status"))
    well(job("teardown"))
    allow("ALL")
    assert unlike(before, snapshot(tmp_path / "after.json")) == ""

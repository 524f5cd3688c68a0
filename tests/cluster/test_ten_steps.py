"""The commands and files of docs/ten-steps.md, as they stand there, with the lab's names in place of the page's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from cluster import ROOT, Cluster
from main_job import ENVIRONMENT

PAGE = ROOT / "docs/ten-steps.md"
FIRST = ROOT / "inventories/first"
#: Pushed to a registry by test_image.py; the nodes of the lab have it.
IMAGE = "ansible-playbook playbooks/image.yml"
#: What the lab's environment says because its nodes share one small machine.
SMALL = ("alluxio_workload_memory", "alluxio_workload_cpus", "alluxio_cache_tiers", "alluxio_gate_min_disk_ratio")


class Block(NamedTuple):
    """What a reader types: the text of a file, or commands (file: "")."""

    file: str
    text: str


def blocks() -> list[Block]:
    """In the order of the page; the text before a file's block ends with its name."""
    found = re.findall(r"(?:`(\S+)`:\n\n)?```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [Block("" if language == "sh" else file, text) for file, language, text in found]


def small() -> dict[str, object]:
    """Settings of small nodes, on which a busy machine may leave speed undecided."""
    said = yaml.safe_load((ENVIRONMENT / "group_vars/all/main.yml").read_text())
    return {key: said[key] for key in SMALL} | {"alluxio_check_fail_on": ["FAIL"]}


@pytest.fixture
def ours(cluster: Cluster, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The names of the page, and what takes their place."""
    settings, nodes = cluster.settings, cluster.gpu_nodes()
    context = cluster.kubectl("config", "current-context").strip()
    yield {
        "make setup-kubernetes && . .venv-kubernetes/bin/activate": "true",
        "gpu-1": nodes[0],
        "gpu-2": nodes[-1],
        "context: gpu,": f"context: {context},",
        "registry.example.com/data/alluxio-fuse:2.9.6": settings.get("lab_image", "localhost/alluxio-fuse:2.9.6"),
        "s3://training/imagenet": settings["lab_dataset"],
        '"https://s3.example.com"': f'"{settings["lab_s3_endpoint"]}", ca_file: "{settings["lab_s3_ca_file"]}"',
        "access_key: EXAMPLE": f"access_key: {settings['lab_access_key']}",
        "secret_key: example-only": f"secret_key: {settings['lab_secret_key']}",
        "~/.alluxio-fuse-vault": str(tmp_path / "vault"),
    }
    shutil.rmtree(FIRST, ignore_errors=True)


def shell(cluster: Cluster, script: str, vault: str) -> str:
    """What commands print; they have to succeed."""
    programs = ROOT / ".venv-kubernetes/bin"
    environment = {
        **os.environ,
        "KUBECONFIG": str(cluster.kubeconfig),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "ANSIBLE_NOCOLOR": "1",
        **({"ANSIBLE_VAULT_PASSWORD_FILE": vault} if Path(vault).exists() else {}),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, f"{script}\n{done.stdout[-4000:]}"
    return done.stdout


def test_the_page_s_own_commands(cluster: Cluster, ours: dict[str, str]) -> None:
    shutil.rmtree(FIRST, ignore_errors=True)
    said = ""
    for file, text in blocks():
        for theirs, own in ours.items():
            text = text.replace(theirs, own)  # noqa: PLW2901
        if file:
            place = ROOT / file
            assert place.is_relative_to(FIRST), file
            place.write_text(text)
        elif not text.startswith(IMAGE):
            said += shell(cluster, text, ours["~/.alluxio-fuse-vault"])
        if file.endswith("main.yml"):
            (FIRST / "group_vars/gpu_pool.yml").write_text(yaml.safe_dump(small()))
        if "kubectl -n data logs" in text:
            assert int(said.split()[-1]) > 0
    assert "files compared, all right" in said
    assert not re.search(r"^verdict +FAIL", said, re.MULTILINE)
    assert "$ANSIBLE_VAULT" in (FIRST / "group_vars/all/vault.yml").read_text()
    assert "data" not in {one["metadata"]["name"] for one in cluster.get("namespaces")}

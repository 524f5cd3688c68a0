"""The main job on the lab, run as a user does, and what it leaves on nodes and in the cluster."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from bundle import Run, succeed
from cluster import ROOT, Cluster
from snapshot import Snapshot, compare, read_exceptions

HERE = Path(__file__).parent
ENVIRONMENT, MANAGED = HERE / "environment", HERE / "managed"
PROGRAMS = Path(sys.executable).parent
NAME = "alluxio-fuse"
LAB_INVENTORY = ROOT / ".lab" / "inventory"
#: Of the lab's nodes.
CONNECTION_PLUGINS = ROOT / "tests" / "lab" / "node" / "connection"


def connection() -> dict[str, str]:
    """How the lab's own inventory reaches its nodes."""
    return dict(yaml.safe_load((LAB_INVENTORY / "hosts.yml").read_text())["all"]["vars"])


def inventory_of(cluster: Cluster, folder: Path, leave_out: Sequence[str] = (), **how: str) -> Path:
    """An inventory of the cluster's nodes, without some; `how` Ansible reaches them, or it does not."""
    gpu_nodes = [node for node in cluster.gpu_nodes() if node not in leave_out]
    others = sorted({one["metadata"]["name"] for one in cluster.get("nodes")} - {*cluster.gpu_nodes()})
    groups = {"control": others[:1] or gpu_nodes[:1], "gpu_nodes": gpu_nodes}
    hosts = {name: {"hosts": dict.fromkeys(nodes)} for name, nodes in groups.items()}
    said = {**cluster.settings, "lab_kubeconfig": str(cluster.kubeconfig), **how}
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": hosts, "vars": said}}))
    return folder / "hosts.yml"


@dataclass(frozen=True)
class Job:
    """Playbooks against a cluster; what looks at nodes themselves needs the lab's."""

    cluster: Cluster
    inventory: Path
    layers: tuple[Path, ...] = (ENVIRONMENT,)

    def play(self, name: str, *arguments: str, **variables: Any) -> Run:
        """Runs a playbook, and further ones if arguments name some; variables go by a file."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as extra:
            json.dump(variables, extra)
            extra.flush()
            inventories = [part for one in (self.inventory, *self.layers) for part in ("-i", str(one))]
            done = subprocess.run(
                [str(PROGRAMS / "ansible-playbook"), name, *arguments, *inventories, "-e", f"@{extra.name}"],
                cwd=ROOT,
                env={
                    **os.environ,
                    "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
                    "ANSIBLE_CONNECTION_PLUGINS": str(CONNECTION_PLUGINS),
                    "ANSIBLE_NOCOLOR": "1",
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=1500,
                check=False,
            )
        return Run(done.returncode, done.stdout)

    def nodes(self) -> dict[str, Snapshot]:
        """What each node is like."""
        script = (ROOT / "tests" / "support" / "snapshot.py").read_text()
        taken = {}
        for name in [one["metadata"]["name"] for one in self.cluster.get("nodes")]:
            command = ["podman", "exec", "--interactive", name, "python3", "-", "take"]
            done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
            taken[name] = json.loads(done.stdout)
        return taken

    def objects(self) -> dict[str, list[str]]:
        """What there is in the cluster: namespaces, objects of the whole cluster, labels of nodes."""
        listed = {kind: self.names(kind) for kind in ("namespaces", "priorityclasses", "clusterroles", "pv")}
        labels = [f"{one['metadata']['name']} {one['metadata']['labels']}" for one in self.cluster.get("nodes")]
        return {**listed, "labels": labels}

    def names(self, kind: str) -> list[str]:
        """Names of all objects of a kind."""
        return sorted(one["metadata"]["name"] for one in self.cluster.get(kind))

    def node_labels(self, node: str) -> dict[str, str]:
        """Labels of a Node object."""
        labels = {one["metadata"]["name"]: one["metadata"]["labels"] for one in self.cluster.get("nodes")}
        return dict(labels[node])

    @staticmethod
    def podman(*arguments: str) -> str:
        """Output of a podman command, for what is done to a node itself."""
        return subprocess.run(["podman", *arguments], capture_output=True, text=True, check=True).stdout

    def release(self) -> dict[str, tuple[str, int]]:
        """Pods of the release, by name: uid, and restarts of their containers."""
        return {
            name: (pod["metadata"]["uid"], sum(one["restartCount"] for one in pod["status"]["containerStatuses"]))
            for name, pod in self.cluster.pods(NAME).items()
            if pod["metadata"]["labels"]["app.kubernetes.io/component"] not in ("access", "sources", "consumer")
        }

    def store_sent(self) -> int:
        """Bytes that the store has sent over the network so far, answers about names and TLS included."""
        counter = ["cat", "/sys/class/net/eth0/statistics/tx_bytes"]
        return int(self.podman("exec", self.cluster.settings["lab_store"], *counter))

    def read_at_once(self, *nodes: str) -> dict[str, dict[str, str]]:
        """{node: {file: sha256}} of the dataset, read through the mounts of `nodes` (all) at the same time.

        Each node has an order of its own, as in training: the same block asked for twice at once is fetched twice.
        """
        script = f"cd /mnt/{NAME}/imagenet/data && find . -type f -print0 | shuf -z | xargs -0 -n 50 -P 4 sha256sum"
        with ThreadPoolExecutor() as pool:
            asked = nodes or self.cluster.gpu_nodes()
            read = pool.map(lambda node: digests("podman", "exec", node, "sh", "-c", script), asked)
            return dict(zip(asked, read, strict=True))


def digests(*command: str) -> dict[str, str]:
    """{file: sha256} as sha256sum prints them."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    pairs = (line.split(maxsplit=1) for line in done.stdout.splitlines())
    return {name: digest for digest, name in pairs}


def deploy(job: Job, **variables: Any) -> None:
    """All but warming and checking."""
    first, *others = (f"playbooks/{stage}.yml" for stage in ("preflight", "plan", "nodes", "services"))
    succeed(job.play(first, *others, **variables))


def sample_digests(sample: Path) -> dict[str, str]:
    """{file: sha256} of what a dataset should hold, as `Job.read_at_once` names files."""
    paths = sorted(path for path in sample.rglob("*") if path.is_file())
    return {f"./{path.relative_to(sample)}": hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def unlike(before: Any, after: Any) -> list[str]:
    """What a node differs in, but for what may differ in a cluster."""
    general, here = read_exceptions(), read_exceptions(HERE / "unchanged.yml")
    exceptions = {section: [*general.get(section, []), *here.get(section, [])] for section in general | here}
    return compare(before, after, exceptions)

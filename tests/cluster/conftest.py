"""The cluster under test: that of $KUBECONFIG, or the lab.

With a KUBECONFIG of your own, $CLUSTER_SETTINGS names a YAML file with what the lab writes to
.lab/inventory/group_vars/all/lab.yml: an S3 store that pods reach, its keys, and the sample that its bucket holds.
Nodes with the label nvidia.com/gpu.present=true get workers and mounts; `lab_image` says where they find the image.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import yaml
from cluster import ROOT, Cluster
from main_job import LAB_INVENTORY, Job
from torchrun import IMAGE

LAB = ROOT / ".lab"
LAB_COMMAND = [sys.executable, str(ROOT / "tests" / "lab" / "cluster")]


@pytest.fixture(scope="session")
def kubeconfig() -> Iterator[Path]:
    """The user's cluster; or the lab, brought up, and taken down unless it was up before."""
    if given := os.environ.get("KUBECONFIG"):
        yield Path(given)
        return
    if (LAB / "kubeconfig").exists():
        subprocess.run([*LAB_COMMAND, "up"], check=True)
        yield LAB / "kubeconfig"
        return
    with leftovers.recorded("command", [*LAB_COMMAND, "down"]):
        subprocess.run([*LAB_COMMAND, "up"], check=True)
        yield LAB / "kubeconfig"


@pytest.fixture(scope="session")
def cluster(kubeconfig: Path) -> Cluster:
    """The cluster, ready for releases."""
    settings = Path(os.environ.get("CLUSTER_SETTINGS") or LAB / "inventory/group_vars/all/lab.yml")
    if not settings.exists():
        pytest.fail(
            f"{settings} is missing: set CLUSTER_SETTINGS to a file like that of `make lab`, or unset KUBECONFIG"
        )
    fetched = subprocess.run(
        [sys.executable, ROOT / "scripts" / "tools.py"], check=True, stdout=subprocess.PIPE, text=True
    )
    return Cluster(Path(fetched.stdout.strip()), kubeconfig, yaml.safe_load(settings.read_text()))


@pytest.fixture(scope="session")
def lab(kubeconfig: Path) -> list[str]:
    """The command line that changes the lab's nodes, which only the lab has; somebody's own cluster is not changed."""
    if kubeconfig.resolve() != (LAB / "kubeconfig").resolve():
        pytest.skip("KUBECONFIG is not the lab's, and this test prepares, adds or takes down nodes")
    return LAB_COMMAND


@pytest.fixture(scope="session")
def torch_image(lab: list[str]) -> None:
    """An image with PyTorch, on the nodes."""
    build = ["podman", "build", "--quiet", "--pull=never", "--isolation=chroot", "--tag", IMAGE]
    subprocess.run([*build, str(ROOT / "tests/train")], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*lab, "load", IMAGE], check=True)


@pytest.fixture(scope="module")
def job(cluster: Cluster, lab: list[str]) -> Iterator[Job]:
    """A deployment in the lab, taken down in the end whatever reads it: its readers are the tests'."""
    made = Job(cluster, LAB_INVENTORY)
    yield made
    made.play("playbooks/teardown.yml", alluxio_under_readers=True)


@pytest.fixture(scope="module")
def before(job: Job) -> tuple[dict[str, Any], dict[str, Any]]:
    """Nodes and cluster before anything is done."""
    return job.nodes(), job.objects()

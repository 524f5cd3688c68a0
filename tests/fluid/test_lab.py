"""The main job on a Fluid that is there: Bound and Ready, every digest right through the claim, nothing left behind.

FLUID_KUBECONFIG: of a cluster with Fluid, its CSI plugin and its Alluxio controller, none of which these tests install.
FLUID_INVENTORY: an inventory with `alluxio_platform: fluid` for it, like inventories/fluid; its `alluxio_environment`
is to be `fluid`. Its namespace is the deployment's own, and goes with it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bundle import until

ROOT = Path(__file__).parents[2]
KUBECONFIG, INVENTORY = (os.environ.get(name, "") for name in ("FLUID_KUBECONFIG", "FLUID_INVENTORY"))

pytestmark = pytest.mark.skipif(
    not (KUBECONFIG and INVENTORY),
    reason="no Fluid: FLUID_KUBECONFIG and FLUID_INVENTORY name a cluster that has it, and an inventory for it",
)


def play(playbook: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a playbook on that cluster."""
    command = ["ansible-playbook", "-i", INVENTORY, playbook, "-e", "alluxio_confirm=fluid", *arguments]
    environment = {**os.environ, "KUBECONFIG": KUBECONFIG}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    print(done.stdout)
    return done


def kubectl(*arguments: str) -> str:
    done = subprocess.run(
        ["kubectl", f"--kubeconfig={KUBECONFIG}", *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """Variables of the inventory's first host."""
    listed = subprocess.run(
        ["ansible-inventory", "-i", INVENTORY, "--list"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    variables: dict[str, Any] = next(iter(json.loads(listed.stdout)["_meta"]["hostvars"].values()))
    return variables


@pytest.fixture(scope="module")
def site(said: dict[str, Any]) -> Iterator[subprocess.CompletedProcess[str]]:
    yield play("site.yml")
    play("playbooks/teardown.yml", "-e", "alluxio_under_readers=true")


def place(said: dict[str, Any]) -> tuple[str, str]:
    """The namespace, and the name of Dataset and claim."""
    name = said.get("alluxio_name", "alluxio-fuse")
    return said.get("alluxio_kubernetes", {}).get("namespace", name), said["alluxio_datasets"][0]["name"]


def test_the_dataset_is_bound_and_every_digest_is_right(
    site: subprocess.CompletedProcess[str], said: dict[str, Any]
) -> None:
    into, name = place(said)
    dataset = json.loads(kubectl("-n", into, "get", "datasets.data.fluid.io", name, "-o", "json"))
    assert dataset["status"]["phase"] == "Bound"
    runtime = json.loads(kubectl("-n", into, "get", "alluxioruntimes.data.fluid.io", name, "-o", "json"))
    assert {runtime["status"][f"{part}Phase"] for part in ("master", "worker", "fuse")} == {"Ready"}
    assert site.returncode == 0
    assert "files compared, all right" in site.stdout
    check = json.loads(max((ROOT / "runs").glob("*/check.json")).read_text())
    assert all(one["wrong"] == 0 for one in check["datasets"])


def test_nothing_can_be_written_through_the_claim(site: subprocess.CompletedProcess[str], said: dict[str, Any]) -> None:
    into, name = place(said)
    pods = json.loads(kubectl("-n", into, "get", "pods", "-l", "app.kubernetes.io/component=access", "-o", "json"))
    pod, point = pods["items"][0]["metadata"]["name"], f"/mnt/{said.get('alluxio_name', 'alluxio-fuse')}/{name}/data"
    tried = ["exec", pod, "--", "sh", "-c", f"ls {point} | head -1; touch {point}/written 2>&1; true"]
    out = kubectl("-n", into, *tried)
    assert "Read-only file system" in out, out
    inside = ["fs", "touch", f"/{name}/written"]
    master = [f"{name}-master-0", "-c", "alluxio-master", "--", "/opt/alluxio/bin/alluxio"]
    done = subprocess.run(
        ["kubectl", f"--kubeconfig={KUBECONFIG}", "-n", into, "exec", *master, *inside],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0, done.stdout


def test_a_second_run_changes_nothing(site: subprocess.CompletedProcess[str]) -> None:
    again = play("site.yml")
    assert again.returncode == 0
    assert "changed=0" in again.stdout


def test_status_tells_fluids_columns(site: subprocess.CompletedProcess[str], said: dict[str, Any]) -> None:
    into, name = place(said)
    told = play("playbooks/status.yml")
    assert told.returncode == 0
    assert f"{into}/{name}: Dataset Bound" in told.stdout


def test_a_killed_fuse_is_told_and_our_pods_read_again(
    site: subprocess.CompletedProcess[str], said: dict[str, Any]
) -> None:
    """Where Fluid does not mount again by itself (FuseRecovery), a mount stays dead until a run makes our pods anew."""
    into, name = place(said)
    of_fuse = f"--selector=app.kubernetes.io/component=fuse-{name}"
    ours = "--selector=app.kubernetes.io/component=access"
    point = f"/mnt/{said.get('alluxio_name', 'alluxio-fuse')}/{name}/data"
    kill = "for one in /proc/[0-9]*; do read -r is <$one/comm && [ $is = java ] && kill -9 ${one#/proc/}; done; true"
    before = restarts(into, of_fuse)
    for pod in before:
        kubectl("-n", into, "exec", pod, "--", "bash", "-c", kill)
    until("FUSE again", lambda: all(count > before.get(pod, -1) for pod, count in restarts(into, of_fuse).items()))
    answers = [mount_answers(into, pod, point) for pod in restarts(into, ours)]
    assert (play("playbooks/status.yml").returncode == 0) == all(answers)
    assert play("playbooks/preflight.yml").returncode == 0
    assert play("playbooks/status.yml").returncode == 0


def restarts(into: str, selector: str) -> dict[str, int]:
    """Of pods, how often their containers were started again."""
    pods = json.loads(kubectl("-n", into, "get", "pods", selector, "-o", "json"))["items"]
    return {
        pod["metadata"]["name"]: sum(one["restartCount"] for one in pod["status"]["containerStatuses"]) for pod in pods
    }


def mount_answers(into: str, pod: str, point: str) -> bool:
    """Whether a mount answers in a pod."""
    tried = kubectl("-n", into, "exec", pod, "--", "sh", "-c", f"stat --file-system {point} >/dev/null 2>&1; echo $?")
    return tried.strip() == "0"


def test_nothing_is_left(site: subprocess.CompletedProcess[str], said: dict[str, Any]) -> None:
    into, name = place(said)
    assert play("playbooks/teardown.yml").returncode == 0
    left = kubectl("-n", into, "get", "datasets,alluxioruntimes,dataloads", "--ignore-not-found", "-o", "name")
    assert left == ""
    assert f"{into}-{name}" not in kubectl("get", "persistentvolumes", "-o", "name")

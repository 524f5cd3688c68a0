"""Role platform_fluid against a real API server: what it makes, waits for, refuses and takes away.

Fluid's controllers and kubelets are a stand-in there (`standin.py`). With Fluid itself: `test_lab.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import yaml
from apiserver import DEPLOYER, api_server
from fleets import host
from standin import StandIn, definitions

from alluxio_fuse.names import state_dir
from alluxio_fuse.plan import plan

ROOT = Path(__file__).parents[2]
IMAGE = "registry.example.com/data/alluxio-fuse:2.9.6"
NAME = "fluid-test"
STATE = Path(state_dir(NAME))
RIGHTS = ROOT / "roles/platform_fluid/files/rbac.yaml"
KEYS = {"set": {"access_key": "AK-of-the-test", "secret_key": "SK-of-the-test"}}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A kubeconfig of an API server that has Fluid's resources and a node."""
    built = subprocess.run(
        [ROOT / "tests/lab/kubernetes/build", "apiserver"], check=True, stdout=subprocess.PIPE, text=True
    )
    programs = Path(built.stdout.strip())
    with api_server(programs, tmp_path_factory.mktemp("api")) as path:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-0"}}
        # not ours: nothing here would end one that the role takes away
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}
        text = yaml.safe_dump_all([node, namespace, *definitions()])
        kubectl = [programs / "kubectl", f"--kubeconfig={path}"]
        subprocess.run(
            [*kubectl, "apply", "--server-side", "-f", "-"], input=text, text=True, check=True, capture_output=True
        )
        subprocess.run(
            [*kubectl, "wait", "--for=condition=Established", "crd", "--all"], check=True, capture_output=True
        )
        yield path


class Deployment:
    """A plan for one node, and the calls that playbooks make with it."""

    def __init__(self, config: Path, folder: Path) -> None:
        self.config, self.folder = config, folder
        folder.mkdir(exist_ok=True)
        self.manifests = folder / "controller"
        self.manifests.mkdir()
        (self.manifests / "set.jsonl").write_text("what the pod that sees the claim listed\n")
        self.inventory = folder / "hosts.yml"
        hosts = {"node-0": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}
        groups = {group: {"hosts": {"node-0": {}}} for group in ("masters", "gpu_nodes")}
        self.inventory.write_text(yaml.safe_dump({"all": {"hosts": hosts, "children": groups}}))

    def plan(self, **variables: Any) -> Path:
        """The plan of this deployment, as a file."""
        said = {
            "alluxio_name": NAME,
            "alluxio_environment": "local",
            "alluxio_platform": "fluid",
            "alluxio_image": IMAGE,
            "alluxio_kubernetes": {"kubeconfig": str(self.config)},
            "alluxio_datasets": [{"name": "set", "source": "pvc://source", "files": 7, "bytes": 7000}],
            "alluxio_workload_memory": 0,
            **variables,
        }
        made = plan({"node-0": host(said, memory=24, cpus=4)})
        file = self.folder / "plan.json"
        file.write_text(json.dumps(made.dump()))
        return file

    def call(
        self, verb: str, *arguments: str, wait: int = 60, keys: dict[str, Any] = KEYS, **variables: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run one entry point."""
        said = {
            "verb": verb,
            "plan_file": str(self.plan(**variables)),
            "wait": wait,
            "dataset_controller_dir": str(self.manifests),
            "alluxio_environment": "local",
            "alluxio_credentials": keys,
            "plan_run_dir": str(self.folder),
        }
        command = ["ansible-playbook", "-i", self.inventory, "tests/fluid/role.yml", "-e", json.dumps(said), *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)

    def kubectl(self, *arguments: str) -> str:
        done = subprocess.run(
            ["kubectl", f"--kubeconfig={self.config}", "-n", NAME, *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout + done.stderr

    def get(self, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, "set", "-o", "json"))
        return found


@pytest.fixture
def deployment(config: Path, tmp_path: Path) -> Iterator[Deployment]:
    """One that has nothing on its node, which is this machine."""
    with leftovers.folder(STATE):
        yield Deployment(config, tmp_path)


@pytest.fixture
def fluid(config: Path) -> Iterator[StandIn]:
    with StandIn(config, NAME) as running:
        yield running


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


def test_a_dataset_comes_is_told_and_goes(deployment: Deployment, fluid: StandIn) -> None:
    succeeded(deployment.call("main"))
    dataset = deployment.get("dataset.data.fluid.io")
    assert dataset["status"]["phase"] == "Bound"
    assert dataset["spec"]["mounts"][0] == {
        "mountPoint": "pvc://source",
        "name": "set",
        "path": "/set",
        "readOnly": True,
    }
    assert deployment.get("alluxioruntime.data.fluid.io")["spec"]["replicas"] == 1
    pod = json.loads(deployment.kubectl("get", "pod", f"{NAME}-access-node-0", "-o", "json"))
    mounts = {one["mountPath"]: one for one in pod["spec"]["containers"][0]["volumeMounts"]}
    assert mounts[f"/mnt/{NAME}/set/data"]["subPath"] == "set"
    assert mounts["/sources/set"]["readOnly"] is True
    assert (STATE / "manifests/set.jsonl").read_text() == "what the pod that sees the claim listed\n"
    lists = json.loads(deployment.kubectl("get", "pod", f"{NAME}-sources", "-o", "json"))["spec"]
    assert lists["securityContext"]["runAsUser"] == 1000
    assert [one["mountPath"] for one in lists["containers"][0]["volumeMounts"]][1:] == ["/sources/set"]

    again = succeeded(deployment.call("main"))
    assert "changed=0" in again, again[-3000:]
    told = succeeded(deployment.call("status"))
    assert "Dataset Bound, total [Calculating], cached 0.00B, capacity 1.00GiB, percentage 0.0%, files 7" in told
    assert "master Ready, worker Ready, fuse Ready" in told

    foretold = succeeded(deployment.call("remove", "--check"))
    assert "changed=" in foretold
    assert deployment.get("dataset.data.fluid.io")["status"]["phase"] == "Bound"
    succeeded(deployment.call("remove"))
    assert "NotFound" in deployment.kubectl("get", "dataset.data.fluid.io", "set")
    assert "NotFound" in deployment.kubectl("get", "alluxioruntime.data.fluid.io", "set")
    assert "No resources found" in deployment.kubectl("get", "pods,secrets,pvc")
    succeeded(deployment.call("remove"))


def test_keys_are_in_a_secret_and_nowhere_else(deployment: Deployment, fluid: StandIn) -> None:
    store = {"name": "set", "source": "s3://bucket/set", "files": 7, "bytes": 7000}
    bucket = {"alluxio_datasets": [store], "alluxio_fluid": {"load": "once"}}
    done = deployment.call("main", "-vvv", **bucket)
    assert "Wait until the Dataset is bound" in done.stdout  # what follows reads the bucket, which is not there
    assert "SK-of-the-test" not in done.stdout.replace(json.dumps(KEYS), "")
    everything = deployment.kubectl("get", "datasets,alluxioruntimes,dataloads,configmaps,pods", "-o", "yaml")
    assert "mountPoint: s3://bucket/set" in everything
    assert "SK-of-the-test" not in everything
    assert "policy: Once" in everything
    succeeded(deployment.call("remove", **bucket))


def test_what_fluid_says_of_a_failure_is_told(deployment: Deployment, fluid: StandIn) -> None:
    fluid.says["datasets"] = {"phase": "NotBound", "conditions": []}
    fluid.says["alluxioruntimes"] = {
        **fluid.says["alluxioruntimes"],
        "masterPhase": "NotReady",
        "masterReason": "The master is not ready.",
        "conditions": [
            {"type": "MasterInitialized", "status": "False", "reason": "MasterFailed", "message": "no such image"}
        ],
    }
    done = deployment.call("main", wait=6)
    assert done.returncode != 0
    assert "does not come up" in done.stdout
    assert "AlluxioRuntime MasterInitialized=False: MasterFailed: no such image" in done.stdout
    assert "AlluxioRuntime master: The master is not ready." in done.stdout
    succeeded(deployment.call("remove"))


def test_a_change_that_fluid_does_not_act_on_is_refused(deployment: Deployment, fluid: StandIn) -> None:
    succeeded(deployment.call("main"))
    done = deployment.call("main", alluxio_overrides={"worker.heap": "2Gi"})
    assert done.returncode != 0
    assert "AlluxioRuntime.spec.worker.jvmOptions[0]" in done.stdout.replace("\n", " ")
    assert "-Xmx2048m" not in json.dumps(deployment.get("alluxioruntime.data.fluid.io")["spec"])
    succeeded(deployment.call("remove"))


def test_a_field_that_is_not_said_any_more_is_refused(deployment: Deployment, fluid: StandIn) -> None:
    quiet = {"alluxio_fluid": {"further": {"runtime": {"disablePrometheus": True}}}}
    succeeded(deployment.call("main", **quiet))
    assert "changed=0" in succeeded(deployment.call("main", **quiet))
    done = deployment.call("main")
    assert done.returncode != 0
    assert "AlluxioRuntime.spec.disablePrometheus: planned otherwise" in " ".join(done.stdout.split())
    succeeded(deployment.call("remove"))


def test_a_data_load_follows_the_plan(deployment: Deployment, fluid: StandIn) -> None:
    def policy() -> str:
        return deployment.kubectl("get", "dataload", "set", "-o", "jsonpath={.spec.policy}{.spec.schedule}")

    succeeded(deployment.call("main", alluxio_fluid={"load": "once"}))
    assert policy() == "Once"
    assert "changed=0" in succeeded(deployment.call("main", alluxio_fluid={"load": "once"}))
    foretold = succeeded(deployment.call("main", "--check", alluxio_fluid={"load": "0 3 * * *"}))
    assert "changed=0" not in foretold
    assert policy() == "Once"
    succeeded(deployment.call("main", alluxio_fluid={"load": "0 3 * * *"}))
    assert policy() == "Cron0 3 * * *"
    succeeded(deployment.call("main"))
    assert "NotFound" in policy()
    assert "changed=0" in succeeded(deployment.call("main"))
    succeeded(deployment.call("remove"))


def test_other_keys_are_refused_while_the_source_is_mounted_by_the_former(
    deployment: Deployment, fluid: StandIn
) -> None:
    bucket = {"alluxio_datasets": [{"name": "set", "source": "s3://bucket/set", "files": 7, "bytes": 7000}]}
    deployment.call("main", **bucket)  # what comes after the Dataset reads the bucket, which is not there
    held = deployment.kubectl("get", "secrets", "-o", "jsonpath={.items[*].data}")
    others = {"set": {**KEYS["set"], "secret_key": "SK-that-is-next"}}
    done = deployment.call("main", keys=others, **bucket)
    assert "alluxio_credentials.set: other keys than those" in " ".join(done.stdout.split())
    assert "SK-that-is-next" not in done.stdout
    assert deployment.kubectl("get", "secrets", "-o", "jsonpath={.items[*].data}") == held
    succeeded(deployment.call("remove", **bucket))


def test_keys_that_mount_nothing_are_corrected_and_those_of_others_left(deployment: Deployment, fluid: StandIn) -> None:
    bucket = {"alluxio_datasets": [{"name": "set", "source": "s3://bucket/set", "files": 7, "bytes": 7000}]}
    fluid.says["datasets"] = {"phase": "NotBound", "conditions": []}
    assert "does not come up" in deployment.call("main", wait=6, **bucket).stdout
    corrected = {"set": {**KEYS["set"], "secret_key": "SK-corrected"}, "other": KEYS["set"]}
    assert "does not come up" in deployment.call("main", wait=6, keys=corrected, **bucket).stdout
    assert "other" not in deployment.kubectl("get", "secrets", "-o", "name")
    succeeded(deployment.call("remove", **bucket))


def test_pods_of_fluids_that_do_not_end_are_named(deployment: Deployment, fluid: StandIn) -> None:
    succeeded(deployment.call("main"))
    labels = ["run", "set-fuse-0", "--image=i", f"--labels=alluxio-fuse/deployment={NAME}"]
    assert "created" in deployment.kubectl(*labels)
    done = deployment.call("remove", wait=6)
    assert done.returncode != 0
    assert "pods of Fluid's do not end: set-fuse-0" in " ".join(done.stdout.split())
    deployment.kubectl("delete", "pod", "set-fuse-0")
    succeeded(deployment.call("remove"))


def test_what_keeps_a_dataset_is_named_and_no_finalizer_taken(deployment: Deployment, fluid: StandIn) -> None:
    succeeded(deployment.call("main"))
    fluid.holds = True
    done = deployment.call("remove", wait=6)
    assert done.returncode != 0
    assert "is not gone" in done.stdout
    assert "waits for fluid.io/datasets" in done.stdout
    assert deployment.get("dataset.data.fluid.io")["metadata"]["finalizers"]
    fluid.holds = False
    succeeded(deployment.call("remove"))


def test_a_dataset_of_somebody_else_stays(deployment: Deployment, fluid: StandIn) -> None:
    foreign = {
        "apiVersion": "data.fluid.io/v1alpha1",
        "kind": "Dataset",
        "metadata": {"name": "set", "namespace": NAME},
        "spec": {"mounts": [{"mountPoint": "pvc://other", "name": "other"}]},
    }
    file = deployment.folder / "foreign.yaml"
    file.write_text(yaml.safe_dump(foreign))
    assert "created" in deployment.kubectl("apply", "-f", str(file))
    refused = deployment.call("main")
    assert refused.returncode != 0
    assert "which this deployment did not make" in " ".join(refused.stdout.split())
    succeeded(deployment.call("remove"))
    assert deployment.get("dataset.data.fluid.io")["spec"] == foreign["spec"]
    deployment.kubectl("delete", "-f", str(file))


@pytest.fixture
def deployer(config: Path, tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a user that may do what the role's manifest grants, in the namespace of these tests."""
    said = yaml.safe_load(config.read_text())
    said["users"][0]["user"]["token"] = DEPLOYER
    path, rights = tmp_path / "deployer", tmp_path / "rights.yaml"
    path.write_text(yaml.safe_dump(said))
    rights.write_text(RIGHTS.read_text().replace("namespace: alluxio-fuse}", f"namespace: {NAME}}}"))
    whole = Deployment(config, tmp_path / "administrator")
    assert "created" in whole.kubectl("apply", "-f", str(rights))
    yield path
    whole.kubectl("delete", "-f", str(rights))


def test_the_rights_of_the_manifest_are_enough(deployer: Path, deployment: Deployment, fluid: StandIn) -> None:
    deployment.config = deployer
    for verb in ("main", "endpoints", "status", "remove"):
        succeeded(deployment.call(verb))


def test_without_the_manifest_the_run_says_what_is_forbidden(
    deployer: Path, deployment: Deployment, fluid: StandIn
) -> None:
    deployment.kubectl("delete", "clusterrolebinding", "alluxio-fuse-fluid-deployer")
    deployment.config = deployer
    refused = deployment.call("status")
    assert refused.returncode != 0
    assert "the API server refuses: customresourcedefinitions" in refused.stdout
    assert f'User "{DEPLOYER}" cannot list resource' in " ".join(refused.stdout.split())
    assert "Traceback" not in refused.stdout + refused.stderr

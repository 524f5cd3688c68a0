"""A cluster as its users see it: kubectl, helm, and what went wrong when something did."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "alluxio-fuse"
GPU = "nvidia.com/gpu.present=true"
Object = dict[str, Any]


class CommandError(AssertionError):
    """What a command said before it failed."""


def run(command: Sequence[str | Path], text: str | None = None, seconds: float = 300) -> str:
    """The output of a command."""
    done = subprocess.run(
        [str(one) for one in command], input=text, capture_output=True, text=True, check=False, timeout=seconds
    )
    if done.returncode != 0:
        raise CommandError(f"{' '.join(str(one) for one in command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


@dataclass(frozen=True)
class Cluster:
    """A cluster, the folder of kubectl and helm, and the S3 store that its pods reach."""

    programs: Path
    kubeconfig: Path
    settings: Object

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        """The output of kubectl."""
        return run([self.programs / "kubectl", f"--kubeconfig={self.kubeconfig}", *arguments], text)

    def helm(self, *arguments: str | Path, values: Object | None = None) -> str:
        """The output of helm."""
        extra = ["--values", "-"] if values is not None else []
        command = [self.programs / "helm", f"--kubeconfig={self.kubeconfig}", *arguments, *extra]
        return run(command, None if values is None else yaml.safe_dump(values))

    def apply(self, *objects: Object) -> None:
        """Makes objects so."""
        self.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(objects))

    def get(self, *what: str) -> list[Object]:
        """Objects of `kubectl get`."""
        found = json.loads(self.kubectl("get", *what, "-o=json"))
        items: list[Object] = found.get("items", [found])
        return items

    def pods(self, namespace: str, component: str = "") -> dict[str, Object]:
        """Pods of a release that are not going away, by name."""
        selector = "app.kubernetes.io/name=alluxio-fuse"
        if component:
            selector += f",app.kubernetes.io/component={component}"
        found = self.get("pods", f"--namespace={namespace}", f"--selector={selector}")
        return {one["metadata"]["name"]: one for one in found if "deletionTimestamp" not in one["metadata"]}

    def gpu_nodes(self) -> list[str]:
        """Names of the nodes that have, or stand for, GPUs."""
        return sorted(one["metadata"]["name"] for one in self.get("nodes", f"--selector={GPU}"))

    def wait(self, what: str, good: Callable[[], Any], seconds: float = 240) -> None:
        """Until it is good. A command that fails meanwhile is no answer yet."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if good():
                    return
                reason = "not yet"
            except CommandError as error:
                reason = str(error)
            assert time.monotonic() < deadline, f"{what}: not within {seconds:.0f} s: {reason}"
            time.sleep(1)

    def wait_ready(self, namespace: str, components: dict[str, int], seconds: float = 300) -> None:
        """Until so many pods of each component are Ready; afterwards, what they say."""

        def good() -> bool:
            return all(
                sum(is_ready(one) for one in self.pods(namespace, component).values()) == count
                for component, count in components.items()
            )

        try:
            self.wait(f"{namespace}: {components}", good, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.reasons(namespace)}") from None

    def reasons(self, namespace: str) -> str:
        """Pods, warnings, and the last lines of what is not ready."""
        said = [self.kubectl("--namespace", namespace, "get", "pods", "--output=wide")]
        said.append(self.kubectl("--namespace", namespace, "get", "events", "--field-selector=type=Warning"))
        for name, pod in self.pods(namespace).items():
            if not is_ready(pod):
                logs = ("logs", name, "--all-containers", "--tail=15", "--prefix")
                said.append(self.kubectl("--namespace", namespace, *logs))
        return "\n".join(said)[-8000:]

    def execute(self, namespace: str, pod: str, script: str, container: str = "", text: str | None = None) -> str:
        """The output of a bash script in a pod."""
        where = [f"--container={container}"] if container else []
        return self.kubectl(
            "--namespace", namespace, "exec", "--stdin", pod, *where, "--", "bash", "-ec", script, text=text or ""
        )

    def on_node(self, node: str, script: str) -> None:
        """Runs a script on a node itself, through a privileged pod, as where there is no other way to it."""
        pod = node_shell(node, self.image)
        self.apply(pod)
        name = pod["metadata"]["name"]
        self.kubectl("wait", "--namespace=default", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")
        self.execute("default", name, f"nsenter --target 1 --mount -- sh -ec {script!r}")

    @property
    def image(self) -> str:
        """The Alluxio image, which consumers run, too."""
        return str(self.settings.get("lab_image", "localhost/alluxio-fuse:2.9.6"))


def is_ready(pod: Object) -> bool:
    """Whether a pod's condition Ready is true."""
    conditions = pod["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def restarts(pod: Object) -> int:
    """How often containers of a pod were started again."""
    return sum(one["restartCount"] for one in pod["status"].get("containerStatuses", []))


def node_shell(node: str, image: str) -> Object:
    """A pod in the node's own namespaces."""
    container = {
        "name": "shell",
        "image": image,
        "command": ["sleep", "infinity"],
        "securityContext": {"privileged": True, "runAsUser": 0},
    }
    spec = {"hostPID": True, "nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [container]}
    return pod_object("default", f"shell-{node}", spec)


def consumer(namespace: str, name: str, *, node: str, image: str, parent: str, user: tuple[int, int]) -> Object:
    """A pod that sleeps with a dataset's parent folder mounted as README.md tells."""
    uid, gid = user
    context: Object = {"runAsUser": uid, "runAsGroup": gid}
    if uid:
        context |= {"runAsNonRoot": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {
        "name": "reader",
        "image": image,
        "command": ["sleep", "infinity"],
        "securityContext": context,
        "volumeMounts": [
            {"name": "data", "mountPath": "/data", "mountPropagation": "HostToContainer", "readOnly": True}
        ],
    }
    spec = {
        "nodeName": node,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "data", "hostPath": {"path": parent, "type": "Directory"}}],
    }
    return pod_object(namespace, name, spec)


def pod_object(namespace: str, name: str, spec: Object) -> Object:
    """A Pod that every node takes."""
    tolerate = {"tolerations": [{"operator": "Exists"}]}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**tolerate, **spec}}

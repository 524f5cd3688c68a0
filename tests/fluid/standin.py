"""A stand-in for Fluid's controllers and for a kubelet, on a real API server: it writes what those would write.

It keeps to what was read in Fluid's source: finalizers, phases, and the claim that a bound Dataset has. The resources
are Fluid's own definitions where FLUID_CRDS names a folder with them, else ones of ours that take any field.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import urllib3
import yaml
from kubernetes import client as api
from kubernetes import config

from alluxio_fuse.fluid.objects import KINDS, PLURALS

GROUP = ("data.fluid.io", "v1alpha1")
urllib3.disable_warnings()  # the server of these tests signs its own certificate
KIND_OF = {plural: kind for kind, plural in PLURALS.items()}


def definitions() -> list[dict[str, Any]]:
    """CustomResourceDefinitions of the kinds that we use."""
    if folder := os.environ.get("FLUID_CRDS"):
        found = [one for file in Path(folder).glob("*.yaml") for one in yaml.safe_load_all(file.read_text()) if one]
        return [one for one in found if one["kind"] == "CustomResourceDefinition"]
    return [_definition(kind, plural) for kind, plural in PLURALS.items()]


def _definition(kind: str, plural: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": GROUP[1], "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP[0]}"},
        "spec": {
            "group": GROUP[0],
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }


_COUNTS = (
    "workerNumberReady",
    "desiredWorkerNumberScheduled",
    "currentWorkerNumberScheduled",
    "desiredMasterNumberScheduled",
    "currentMasterNumberScheduled",
    "masterNumberReady",
    "currentFuseNumberScheduled",
    "desiredFuseNumberScheduled",
    "fuseNumberReady",
)


class StandIn:
    """Watches one namespace until it is told to stop.

    says: the status of each kind that it writes. holds: whether it keeps what should go, as a controller does that
    waits for pods.
    """

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        loaded = config.new_client_from_config(config_file=str(kubeconfig))
        self._objects, self._core = api.CustomObjectsApi(loaded), api.CoreV1Api(loaded)
        self._namespace = namespace
        ready: dict[str, Any] = {f"{part}Phase": "Ready" for part in ("master", "worker", "fuse")}
        ready |= {"valueFile": "values", **dict.fromkeys(_COUNTS, 1)}
        cached = {"cached": "0.00B", "cacheCapacity": "1.00GiB", "cachedPercentage": "0.0%"}
        bound = {"phase": "Bound", "ufsTotal": "[Calculating]", "fileNum": "7", "conditions": [], "cacheStates": cached}
        self.says: dict[str, dict[str, Any]] = {
            "datasets": bound,
            **{PLURALS[kind]: ready for kind in KINDS.values()},
            "dataloads": {"phase": "Complete", "conditions": [], "duration": "1s"},
        }
        self.holds = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> StandIn:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.3):
            try:
                for plural in KIND_OF:
                    self._reconcile(plural)
                for pod in self._core.list_namespaced_pod(self._namespace).items:
                    self._run_pod(pod)
            except api.ApiException as error:
                if error.status not in (404, 409):
                    raise

    def _reconcile(self, plural: str) -> None:
        found = self._objects.list_namespaced_custom_object(*GROUP, self._namespace, plural)["items"]
        for one in found:
            about = one["metadata"]
            place = (*GROUP, self._namespace, plural, about["name"])
            if "deletionTimestamp" in about:
                if not self.holds and (plural == "dataloads" or not self._has_pods(about["name"])):
                    self._claim(about["name"], plural, there=False)
                    self._objects.patch_namespaced_custom_object(*place, {"metadata": {"finalizers": []}})
                continue
            if not about.get("finalizers"):
                self._objects.patch_namespaced_custom_object(
                    *place, {"metadata": {"finalizers": [f"fluid.io/{plural}"]}}
                )
            if one.get("status") != self.says.get(plural) and plural in self.says:
                self._objects.patch_namespaced_custom_object_status(*place, {"status": self.says[plural]})
                self._claim(about["name"], plural, there=True)

    def _has_pods(self, claim: str) -> bool:
        pods = self._core.list_namespaced_pod(self._namespace).items
        volumes = [volume for pod in pods for volume in pod.spec.volumes or []]
        return any(one.persistent_volume_claim and one.persistent_volume_claim.claim_name == claim for one in volumes)

    def _claim(self, name: str, plural: str, *, there: bool) -> None:
        """The claim of a bound Dataset."""
        if plural != "datasets" or self.says[plural].get("phase") != "Bound":
            return
        names = [one.metadata.name for one in self._core.list_namespaced_persistent_volume_claim(self._namespace).items]
        if there and name not in names:
            spec = {
                "storageClassName": "fluid",
                "accessModes": ["ReadOnlyMany"],
                "resources": {"requests": {"storage": "100Gi"}},
            }
            self._core.create_namespaced_persistent_volume_claim(
                self._namespace, {"metadata": {"name": name}, "spec": spec}
            )
        elif not there and name in names:
            self._core.delete_namespaced_persistent_volume_claim(name, self._namespace)
            self._core.patch_namespaced_persistent_volume_claim(
                name, self._namespace, {"metadata": {"finalizers": None}}
            )

    def _run_pod(self, pod: Any) -> None:
        """As a kubelet says it of a pod whose node is there."""
        if pod.metadata.deletion_timestamp:
            self._core.delete_namespaced_pod(pod.metadata.name, self._namespace, grace_period_seconds=0)
        elif pod.status.phase == "Pending":
            status = {"status": {"phase": "Running", "podIP": "10.1.1.1"}}
            self._core.patch_namespaced_pod_status(pod.metadata.name, self._namespace, status)

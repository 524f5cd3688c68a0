"""The calls to a Kubernetes API that Fluid's objects need, with plain dictionaries in and out."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from kubernetes import client as api
from kubernetes import config

from alluxio_fuse.fluid.objects import DEPLOYMENT, KINDS, PLURALS
from alluxio_fuse.fluid.state import blocking, reached, reasons, summary
from alluxio_fuse.kubernetes.objects import Object, is_ours
from alluxio_fuse.status.services import Service, of_pods

Said = Callable[[str], None]
GROUP: Final = "data.fluid.io"
VERSION: Final = "v1alpha1"
DRIVER: Final = "fuse.csi.fluid.io"
#: By this annotation the dataset controller wakes a runtime's controller that has no replicas, when one is needed.
WAKES: Final = "controller.runtime.fluid.io/replicas"
POLL_S: Final = 2.0


class WaitError(RuntimeError):
    """What was waited for did not come in time; the message is the reason."""


class FluidClient:
    """One Dataset, with all that belongs to it, in one namespace."""

    def __init__(self, kubeconfig: str | None, context: str | None, namespace: str, dataset: str) -> None:
        self._client = config.new_client_from_config(config_file=kubeconfig, context=context)
        self._core = api.CoreV1Api(self._client)
        self._apps = api.AppsV1Api(self._client)
        self._objects = api.CustomObjectsApi(self._client)
        self._namespace, self._dataset = namespace, dataset

    def facts(self, runtime: str, secrets: Collection[str]) -> dict[str, Any]:
        """What there is of Fluid, and of what a Dataset needs.

        Returns {crds: names, controllers: {name: {replicas, ready, wakes}}, driver: bool, objects: {kind: object},
        foreign_claim: whether the claim of the Dataset's name is not Fluid's, secrets: {name: keys}, quotas: [{name,
        hard, used}]}.
        """
        definitions = api.ApiextensionsV1Api(self._client).list_custom_resource_definition().items
        crds = sorted(one.metadata.name for one in definitions if one.metadata.name.endswith(f".{GROUP}"))
        controllers = ("dataset-controller", f"{runtime}runtime-controller")
        selector = f"control-plane in ({', '.join(controllers)})"
        found = self._plain(self._apps.list_deployment_for_all_namespaces(label_selector=selector))
        drivers = api.StorageV1Api(self._client).list_csi_driver().items
        volumes = self._plain(self._core.list_namespaced_persistent_volume_claim(self._namespace))
        return {
            "crds": crds,
            "controllers": {one["metadata"]["labels"]["control-plane"]: _controller(one) for one in found},
            "driver": any(one.metadata.name == DRIVER for one in drivers),
            "objects": self.objects() if crds else {},
            "foreign_claim": any(
                one["metadata"]["name"] == self._dataset and one["spec"].get("storageClassName") != "fluid"
                for one in volumes
            ),
            "secrets": {
                one["metadata"]["name"]: sorted(one.get("data") or {})
                for one in self._plain(self._core.list_namespaced_secret(self._namespace))
                if one["metadata"]["name"] in secrets
            },
            "quotas": [
                {"name": one["metadata"]["name"], **(one.get("status") or {})}
                for one in self._plain(self._core.list_namespaced_resource_quota(self._namespace))
            ],
        }

    def objects(self) -> dict[str, Object]:
        """The Dataset, its runtime and its DataLoad, by kind, as far as they are there."""
        found = {kind: self._object(kind) for kind in PLURALS}
        return {kind: one for kind, one in found.items() if one is not None}

    def ours(self, deployment: str) -> dict[str, Object]:
        """Those of the objects that a deployment made."""
        return {kind: one for kind, one in self.objects().items() if is_ours(one["metadata"].get("labels"), deployment)}

    def services(self, deployment: str) -> list[Service]:
        """What runs of the Dataset, against what Fluid's StatefulSets and DaemonSet want."""
        listings = (self._apps.list_namespaced_stateful_set, self._apps.list_namespaced_daemon_set)
        every = [one for listing in listings for one in self._plain(listing(self._namespace))]
        ours = [one for one in every if _of(one["spec"]["template"], deployment)]
        return of_pods(ours, self._pods(deployment))

    def wait_ready(self, timeout: float, say: Said) -> dict[str, Object]:
        """Wait until the Dataset is Bound, its runtime Ready and a DataLoad Complete.

        timeout: seconds without progress.
        """
        return self._wait(timeout, say, reached, reasons)

    def wait_gone(self, deployment: str, timeout: float, say: Said) -> None:
        """Wait until nothing of a deployment is left, Fluid's pods included; timeout: seconds without progress."""

        def gone(_: dict[str, Object]) -> bool:
            return not self.ours(deployment) and not self._pods(deployment)

        def why(_: dict[str, Object]) -> str:
            return blocking(self.ours(deployment), self._users(), names(self._pods(deployment)))

        def told(_: dict[str, Object]) -> str:
            return summary(self.ours(deployment)) or f"pods of Fluid's end: {', '.join(names(self._pods(deployment)))}"

        self._wait(timeout, say, gone, why, told)

    def remove(self, deployment: str) -> bool:
        """Ask for what a deployment made to go, the DataLoad first, the runtime last; whether there was any."""
        there = self.ours(deployment)
        for kind in ("DataLoad", "Dataset", *KINDS.values()):
            if kind in there and "deletionTimestamp" not in there[kind]["metadata"]:
                self._objects.delete_namespaced_custom_object(
                    GROUP, VERSION, self._namespace, PLURALS[kind], self._dataset
                )
        return bool(there)

    def _wait(
        self,
        timeout: float,
        say: Said,
        done: Callable[[dict[str, Object]], bool],
        why: Callable[[dict[str, Object]], str],
        told: Callable[[dict[str, Object]], str] = summary,
    ) -> dict[str, Object]:
        last, deadline = "", time.monotonic() + timeout
        while not done(found := self.objects()):
            line = told(found)
            if line != last:
                say(line)
                last, deadline = line, time.monotonic() + timeout
            if time.monotonic() > deadline:
                raise WaitError(why(found))
            time.sleep(POLL_S)
        return found

    def _object(self, kind: str) -> Object | None:
        try:
            found: Object = self._objects.get_namespaced_custom_object(
                GROUP, VERSION, self._namespace, PLURALS[kind], self._dataset
            )
        except api.ApiException as error:
            if error.status != 404:
                raise
            return None
        return found

    def _pods(self, deployment: str) -> list[Object]:
        """Pods that Fluid made for a deployment."""
        selector = f"{DEPLOYMENT}={deployment}"
        return self._plain(self._core.list_namespaced_pod(self._namespace, label_selector=selector))

    def _users(self) -> list[str]:
        """Pods that have the Dataset's claim, and keep it from going."""
        pods = self._plain(self._core.list_namespaced_pod(self._namespace))
        return names([one for one in pods if self._dataset in _claims(one)])

    def _plain(self, listing: Any) -> list[Object]:
        found: list[Object] = self._client.sanitize_for_serialization(listing)["items"]
        return found


def names(pods: Iterable[Object]) -> list[str]:
    """Names of pods, in their order."""
    return sorted(one["metadata"]["name"] for one in pods)


def _of(template: Object, deployment: str) -> bool:
    return (template["metadata"].get("labels") or {}).get(DEPLOYMENT) == deployment


def _claims(pod: Object) -> set[str]:
    volumes = pod["spec"].get("volumes") or []
    return {one["persistentVolumeClaim"]["claimName"] for one in volumes if "persistentVolumeClaim" in one}


def _controller(one: Object) -> dict[str, Any]:
    return {
        "replicas": one["spec"].get("replicas", 1),
        "ready": one.get("status", {}).get("readyReplicas", 0),
        "wakes": int((one["metadata"].get("annotations") or {}).get(WAKES) or 0) > 0,
    }

"""What somebody changed in the cluster since it was installed, told and undone by server-side apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml
from kubernetes import config
from kubernetes.client import ApiException
from kubernetes.dynamic import DynamicClient

from alluxio_fuse import drift
from alluxio_fuse.kubernetes.objects import selector

Object = Mapping[str, Any]
MANAGER = "helm"  # who the fields of a release belong to
_API_S_OWN = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


class Difference(NamedTuple):
    """A field of an object that is no longer as installed; as text, a line."""

    what: str
    now: str
    planned: str

    def __str__(self) -> str:
        return f"{self.what}: {self.now}, not {self.planned}"


class Release:
    """The objects of a release, as it was installed and as they are."""

    def __init__(self, kubeconfig: str | None, context: str | None, namespace: str) -> None:
        client = config.new_client_from_config(config_file=kubeconfig, context=context)
        self._client, self._namespace = DynamicClient(client), namespace

    def drift(self, manifest: Sequence[Object], repair: bool) -> list[Difference]:
        """Every field that is no longer as installed; `repair` makes it so again."""
        return [one for wanted in manifest for one in self._of(wanted, repair)]

    def unplanned(self, instance: str, wanted: Sequence[Object]) -> list[Difference]:
        """Controllers of a release that are not among the objects that are wanted."""
        names = {(one["kind"], one["metadata"]["name"]) for one in wanted}
        found = []
        for kind in ("DaemonSet", "Deployment", "StatefulSet"):
            resource = self._client.resources.get(api_version="apps/v1", kind=kind)
            there = resource.get(namespace=self._namespace, label_selector=selector(instance)).to_dict()["items"]
            found += [(kind, one["metadata"]["name"]) for one in there]
        return [Difference(f"{kind} {name}", "there", "gone") for kind, name in found if (kind, name) not in names]

    def _of(self, wanted: Object, repair: bool) -> list[Difference]:
        name = f"{wanted['kind']} {wanted['metadata']['name']}"
        resource = self._client.resources.get(api_version=wanted["apiVersion"], kind=wanted["kind"])
        namespace = wanted["metadata"].get("namespace", self._namespace) if resource.namespaced else None
        try:
            live = resource.get(name=wanted["metadata"]["name"], namespace=namespace).to_dict()
        except ApiException as error:
            if error.status != 404:
                raise
            live = None
        if live is None:
            found = [Difference(name, "gone", "there")]
        else:
            wanted = marked(wanted, live)
            made = self._apply(resource, wanted, namespace, dry_run="All")
            found = [one._replace(what=f"{name}: {one.what}") for one in differences(made, live)]
        if found and repair:
            self._apply(resource, wanted, namespace)
        return found

    def _apply(self, resource: Any, wanted: Object, namespace: str | None, **more: Any) -> Any:
        return self._client.server_side_apply(
            resource, body=dict(wanted), namespace=namespace, field_manager=MANAGER, force_conflicts=True, **more
        ).to_dict()


def of_template(text: str) -> list[Object]:
    """The objects that `helm template` prints, without hooks: they are none of a release's."""
    found = [one for one in yaml.safe_load_all(text) if one]
    return [one for one in found if "helm.sh/hook" not in (one["metadata"].get("annotations") or {})]


def marked(wanted: Object, live: Object) -> Object:
    """With the annotations by which Helm knows its own: to apply its manifest, which lacks them, takes them off."""
    about, there = wanted["metadata"], live["metadata"].get("annotations") or {}
    helm = {key: text for key, text in there.items() if key.startswith("meta.helm.sh/")}
    if not helm:
        return wanted
    return {**wanted, "metadata": {**about, "annotations": {**(about.get("annotations") or {}), **helm}}}


def differences(wanted: Object, live: Object) -> list[Difference]:
    """What differs in every field; what the API server keeps for itself is left out."""
    return [
        Difference(path, drift.short(there), drift.short(should))
        for path, should, there in drift.differences(_without_own(wanted), _without_own(live))
    ]


def _without_own(one: Object) -> dict[str, Any]:
    about = {key: value for key, value in one["metadata"].items() if key not in _API_S_OWN}
    return {**{key: value for key, value in one.items() if key != "status"}, "metadata": about}

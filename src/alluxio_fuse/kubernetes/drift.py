"""What somebody changed in the cluster since it was installed, told and undone by server-side apply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubernetes import config
from kubernetes.client import ApiException
from kubernetes.dynamic import DynamicClient

Object = Mapping[str, Any]
MANAGER = "helm"  # who the fields of a release belong to
SHOWN = 60  # characters of a value, which may be a whole file
_API_S_OWN = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


class Release:
    """The objects of a release, as it was installed and as they are."""

    def __init__(self, kubeconfig: str | None, context: str | None, namespace: str) -> None:
        client = config.new_client_from_config(config_file=kubeconfig, context=context)
        self._client, self._namespace = DynamicClient(client), namespace

    def drift(self, manifest: Sequence[Object], repair: bool) -> list[str]:
        """A line for each field that is no longer as installed; `repair` makes it so again."""
        return [line for wanted in manifest for line in self._of(wanted, repair)]

    def _of(self, wanted: Object, repair: bool) -> list[str]:
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
            found = [f"{name}: is gone"]
        else:
            made = self._apply(resource, wanted, namespace, dry_run="All")
            found = [f"{name}: {line}" for line in differences(made, live)]
        if found and repair:
            self._apply(resource, wanted, namespace)
        return found

    def _apply(self, resource: Any, wanted: Object, namespace: str | None, **more: Any) -> Any:
        return self._client.server_side_apply(
            resource, body=dict(wanted), namespace=namespace, field_manager=MANAGER, force_conflicts=True, **more
        ).to_dict()


def differences(wanted: Object, live: Object) -> list[str]:
    """`path: what it is, not what it should be` for every field; what the API server keeps for itself is left out."""
    return [
        f"{path}: {_short(there)}, not {_short(should)}"
        for path, should, there in _walk(_without_own(wanted), _without_own(live), "")
    ]


def _without_own(one: Object) -> dict[str, Any]:
    about = {key: value for key, value in one["metadata"].items() if key not in _API_S_OWN}
    return {**{key: value for key, value in one.items() if key != "status"}, "metadata": about}


def _walk(wanted: Any, live: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        for key in sorted({*wanted, *live}):
            yield from _walk(wanted.get(key), live.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(wanted, list) and isinstance(live, list) and len(wanted) == len(live):
        for index, (one, other) in enumerate(zip(wanted, live, strict=True)):
            name = one.get("name", index) if isinstance(one, Mapping) else index
            yield from _walk(one, other, f"{path}[{name}]")
    elif wanted != live:
        yield path, wanted, live


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = " ".join(str(value).split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"

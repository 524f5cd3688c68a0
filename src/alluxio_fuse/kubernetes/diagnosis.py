"""What a cluster tells of a release, each thing by itself: what cannot be told keeps nothing else back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kubernetes import client as api
from kubernetes import config
from urllib3.exceptions import HTTPError

from alluxio_fuse.diagnosis.parts import LINES, Part

ANSWER_S = 10.0

Object = dict[str, Any]


def gather(kubeconfig: str | None, context: str | None, namespace: str, release: str) -> list[Part]:
    """Parts of a bundle: objects of the release but for Secrets, events, nodes, and the end of every container log."""
    try:
        client = config.new_client_from_config(config_file=kubeconfig, context=context)
    except config.ConfigException as error:
        return [Part(path="cluster", why=str(error))]
    client.configuration.retries = 1
    core, apps = api.CoreV1Api(client), api.AppsV1Api(client)
    mine = {"label_selector": f"app.kubernetes.io/instance={release}", "_request_timeout": ANSWER_S}
    here, whole = (namespace,), {"_request_timeout": ANSWER_S}
    listings: dict[str, Callable[[], Any]] = {
        "version": lambda: api.VersionApi(client).get_code(**whole),
        "pods": lambda: core.list_namespaced_pod(*here, **mine),
        "statefulsets": lambda: apps.list_namespaced_stateful_set(*here, **mine),
        "daemonsets": lambda: apps.list_namespaced_daemon_set(*here, **mine),
        "deployments": lambda: apps.list_namespaced_deployment(*here, **mine),
        "configmaps": lambda: core.list_namespaced_config_map(*here, **mine),
        "services": lambda: core.list_namespaced_service(*here, **mine),
        "claims": lambda: core.list_namespaced_persistent_volume_claim(*here, **mine),
        "events": lambda: core.list_namespaced_event(*here, **whole),
        "nodes": lambda: core.list_node(**whole),
    }
    parts, pods = [], list[Object]()
    for name, ask in listings.items():
        try:
            found = client.sanitize_for_serialization(ask())
        except (api.ApiException, HTTPError) as error:
            parts.append(Part(path=f"cluster/{name}.json", why=why(error)))
            if isinstance(error, HTTPError):  # nobody answers there: the next question would wait as long
                break
            continue
        parts.append(Part(path=f"cluster/{name}.json", text=json.dumps(without_managers(found))))
        pods = found["items"] if name == "pods" else pods
    return parts + [_log(core, namespace, *one) for one in logs(pods)]


def logs(pods: list[Object]) -> list[tuple[str, str, bool]]:
    """(pod, container, whether its run before is meant) of every log that there is."""
    found = []
    for pod in pods:
        status = pod.get("status", {})
        for one in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
            found.append((pod["metadata"]["name"], one["name"], False))
            if one.get("restartCount"):
                found.append((pod["metadata"]["name"], one["name"], True))
    return found


def without_managers(found: Any) -> Any:
    """An object or a list of objects without the record of who wrote which field."""
    for one in found.get("items", [found]):
        one.get("metadata", {}).pop("managedFields", None)
    return found


def why(error: Exception) -> str:
    """What the API server said, or what kept it from answering."""
    if isinstance(error, api.ApiException):
        return f"{error.status} {error.reason}: {error.body}"
    return str(error)


def _log(core: Any, namespace: str, pod: str, container: str, previous: bool) -> Part:
    path = f"cluster/{pod}/{container}{'-before' if previous else ''}.txt"
    limits = {"tail_lines": LINES, "timestamps": True, "_request_timeout": ANSWER_S}
    try:
        # without this the client hands back bytes as their Python notation
        answer = core.read_namespaced_pod_log(
            pod, namespace, container=container, previous=previous, _preload_content=False, **limits
        )
    except (api.ApiException, HTTPError) as error:
        return Part(path=path, why=why(error))
    return Part(path=path, text=answer.data.decode(errors="replace"))

#!/usr/bin/python
"""Facts of a Kubernetes cluster, and of what the controller talks to it with."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: cluster_facts
short_description: facts of a Kubernetes cluster and of the controller's tools
description:
  - Reads version, nodes and one namespace, and asks the API server in a dry run whether it would take a privileged pod.
  - What cannot be reached is told in C(error) and is no failure of the module.
  - Needs the Python package C(kubernetes), thus the Python that the set-up made. Nothing is written.
options:
  release: {description: Name of a release whose presence is wanted., type: str, required: true}
  external: {description: Whether another tool is to own that release., type: bool, default: false}
  image: {description: Image of the pod in the dry run., type: str, required: true}
  needed: {description: "Programs that the controller must have.", type: list, elements: str, default: [helm, kubectl]}
  claims: {description: Names of PersistentVolumeClaims that hold sources., type: list, elements: str, default: []}
  staged:
    description:
      - Folders of nodes whose C(data) may show a copy of a dataset. The module warns of pods that mount one of them and
        wait in an init container for a FUSE mount, as the examples of version 0.3.0 do. They would not start again.
    type: list
    elements: str
    default: []
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Look at the cluster
  alluxio.fuse.cluster_facts:
    namespace: alluxio-fuse
    release: alluxio-fuse
    image: registry.example.com/alluxio-fuse:2.9.6
  delegate_to: localhost
"""

RETURN = r"""
cluster:
  description: >-
    C(python), C(programs) (version of C(helm) and C(kubectl), or null), C(where), C(error), C(version), C(nodes)
    (by name: C(ready), C(why), C(address), C(labels), C(allocatable), C(images)), C(namespace)
    (C(name), C(exists), C(labels)), C(release), C(external) (both as given), C(installed) (whether Helm has
    the release), C(claims) (by name: C(phase), C(modes), or null), C(applied) (C(name), C(labels), C(annotations) of
    its master's StatefulSet, or null), C(refused), what the API server says against a privileged pod, in namespace
    C(default) where C(namespace) is not there yet, and C(waiting), pods by namespace and name that wait for a FUSE
    mount where a copy may be.
  type: dict
  returned: always
"""

OLD_WAIT = (
    "an init container waits for a FUSE mount. Where a node shows a copy of the dataset, there is none, and the pod"
    " does not start: give it the wait of charts/alluxio-fuse/examples/pod.yaml"
)
PAGE = 500  # pods in an answer
SHOWN = 5
#: Of the type of a mount, and not a part of a name such as alluxio-fuse.
FUSE = re.compile(r"(?<![\w-])fuse")
MOUNTS = re.compile("mount|findmnt")
PROGRAMS = {"helm": ["version", "--short"], "kubectl": ["version", "--client"]}


def programs(module: AnsibleModule) -> dict[str, str | None]:
    """Version of each program that is needed, None where it is absent."""
    found: dict[str, str | None] = {}
    for name, arguments in PROGRAMS.items():
        if name not in module.params["needed"]:
            continue
        path = module.get_bin_path(name)
        said = module.run_command([path, *arguments])[1] if path else ""
        match = re.search(r"v(\d+\.\d+\.\d+)", said)
        found[name] = match[1] if match else None
    return found


def node(found: Any) -> dict[str, Any]:
    """What is kept of a Node object."""
    ready = next((one for one in found.status.conditions or [] if one.type == "Ready"), None)
    address = next((one.address for one in found.status.addresses or [] if one.type == "InternalIP"), "")
    return {
        "ready": bool(ready and ready.status == "True"),
        "why": (ready.message if ready else "") or "",
        "address": address,
        "labels": dict(found.metadata.labels or {}),
        "allocatable": dict(found.status.allocatable or {}),
        "images": sorted(name for image in found.status.images or [] for name in image.names or []),
    }


def ask(params: dict[str, Any]) -> dict[str, Any]:
    """What the API server says."""
    import kubernetes  # noqa: PLC0415 - its absence is told like any other reason

    client = kubernetes.config.new_client_from_config(config_file=params["kubeconfig"], context=params["context"])
    client.configuration.retries = 1
    core = kubernetes.client.CoreV1Api(client)
    version = kubernetes.client.VersionApi(client).get_code(_request_timeout=10)
    nodes = {one.metadata.name: node(one) for one in core.list_node(_request_timeout=30).items}
    labels, exists, installed, applied = {}, True, [], None
    claims: dict[str, Any] = dict.fromkeys(params["claims"])
    try:
        selector = f"owner=helm,name={params['release']},status=deployed"
        installed = core.list_namespaced_secret(params["namespace"], label_selector=selector).items
        labels = dict(core.read_namespace(params["namespace"]).metadata.labels or {})
        applied = _applied(kubernetes.client.AppsV1Api(client), params)
        claims |= _claims(core, params)
    except kubernetes.client.ApiException as error:
        if error.status != 404:
            raise
        exists = False
    return {
        "version": [int(re.sub(r"\D", "", part)) for part in (version.major, version.minor)],
        "nodes": nodes,
        "namespace": {"name": params["namespace"], "exists": exists, "labels": labels},
        "installed": bool(installed),
        "applied": applied,
        "claims": claims,
        "refused": _refused(core, params, exists),
        "waiting": waiting(core, params),
    }


def _claims(core: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Those of the claims that are there."""
    if not params["claims"]:
        return {}
    found = core.list_namespaced_persistent_volume_claim(params["namespace"]).items
    return {
        one.metadata.name: {"phase": one.status.phase or "Pending", "modes": one.spec.access_modes or []}
        for one in found
        if one.metadata.name in params["claims"]
    }


def _applied(apps: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    """What the master's StatefulSet says of itself, whoever applied it."""
    name = f"{params['release']}-master"
    found = apps.list_namespaced_stateful_set(params["namespace"], field_selector=f"metadata.name={name}").items
    if not found:
        return None
    about = found[0].metadata
    return {"name": name, "labels": about.labels or {}, "annotations": about.annotations or {}}


def _refused(core: Any, params: dict[str, Any], exists: bool) -> list[str]:
    """What admission says against a privileged pod that shares a mount with its node, in a dry run."""
    import kubernetes  # noqa: PLC0415

    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "alluxio-fuse-dry-run"},
        "spec": {
            "containers": [
                {
                    "name": "fuse",
                    "image": params["image"],
                    "securityContext": {"privileged": True},
                    "volumeMounts": [{"name": "mnt", "mountPath": "/mnt", "mountPropagation": "Bidirectional"}],
                }
            ],
            "volumes": [{"name": "mnt", "hostPath": {"path": "/mnt"}}],
        },
    }
    try:
        core.create_namespaced_pod(params["namespace"] if exists else "default", pod, dry_run="All")
    except kubernetes.client.ApiException as error:
        return [words(error)]
    return []


def waiting(core: Any, params: dict[str, Any]) -> list[str]:
    """Pods that mount a dataset with copies and wait for a FUSE mount; none where this user may not list pods."""
    import kubernetes  # noqa: PLC0415

    found, more = [], None
    try:
        while params["staged"] and more != "":
            page = core.list_pod_for_all_namespaces(limit=PAGE, _continue=more, _request_timeout=30)
            found += [one for one in page.items if _waits(one, params)]
            more = page.metadata._continue or ""
    except kubernetes.client.ApiException:
        return []
    return [f"{one.metadata.namespace}/{one.metadata.name}" for one in found]


def _waits(pod: Any, params: dict[str, Any]) -> bool:
    """Whether a pod mounts such a dataset and waits for FUSE; pods of the release itself do not count."""
    if (pod.metadata.labels or {}).get("app.kubernetes.io/instance") == params["release"]:
        return False
    paths = {one.host_path.path.rstrip("/") for one in pod.spec.volumes or [] if one.host_path}
    texts = [" ".join([*(one.command or []), *(one.args or [])]) for one in pod.spec.init_containers or []]
    return not paths.isdisjoint(params["staged"]) and any(MOUNTS.search(text) and FUSE.search(text) for text in texts)


def words(error: Exception) -> str:
    """What the API server said, where it did; else the first line of the error."""
    try:
        return str(json.loads(error.body)["message"])  # type: ignore[attr-defined]
    except (AttributeError, TypeError, ValueError, KeyError):
        return (str(error).splitlines() or [type(error).__name__])[0]


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "kubeconfig": {"type": "path"},
            "context": {"type": "str"},
            "namespace": {"type": "str", "required": True},
            "release": {"type": "str", "required": True},
            "external": {"type": "bool", "default": False},
            "image": {"type": "str", "required": True},
            "needed": {"type": "list", "elements": "str", "default": [*PROGRAMS]},
            "claims": {"type": "list", "elements": "str", "default": []},
            "staged": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    params = module.params
    where = f"{params['kubeconfig'] or 'KUBECONFIG'}, {params['context'] or 'current context'}"
    cluster: dict[str, Any] = {
        "python": list(sys.version_info[:2]),
        "programs": programs(module),
        "where": where,
        "error": None,
        "version": [],
        "nodes": {},
        "namespace": {"name": params["namespace"], "exists": False, "labels": {}},
        "release": params["release"],
        "external": params["external"],
        "installed": False,
        "applied": None,
        "claims": {},
        "refused": [],
        "waiting": [],
    }
    try:
        cluster |= ask(params)
    except Exception as error:  # the client raises what its parts raise: files, TLS, HTTP
        cluster["error"] = words(error)
    if waits := cluster["waiting"]:
        more = f" and {len(waits) - SHOWN} more" if len(waits) > SHOWN else ""
        module.warn(f"{', '.join(waits[:SHOWN])}{more}: {OLD_WAIT}")
    module.exit_json(changed=False, cluster=cluster)


if __name__ == "__main__":
    main()

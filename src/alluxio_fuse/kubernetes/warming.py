"""Pods that carry warm-up tasks out: each runs on a node that mounts the datasets, and ends with its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ansible_collections.alluxio.fuse.plugins.module_utils import warmer

from alluxio_fuse import names, warm
from alluxio_fuse.kubernetes import pods
from alluxio_fuse.kubernetes.objects import Object, metadata, on_hosts
from alluxio_fuse.plan import Plan
from alluxio_fuse.programs import SPARE_MILLICPU, Folder

COMPONENT: Final = "warm"
KEPT_S: Final = 600  # of a Job that has ended, so that its log can be read; windows make two a minute for each node
_NAME: Final = 63  # characters of a Job's name, which is a label of its pods
_KILLS: Final = 20  # of the pod of one node
_CONFIGURE: Final = "configure-fuse"  # the chart's name of the container that writes the configuration
_PROPAGATION: Final = {"shared": "Bidirectional", "followed": "HostToContainer"}
#: The program's own, and for tasks that ask workers a JVM of 256 MiB. What is staged in memory is charged to the pod
#: that wrote it, so those have no limit: the keeper's request stands for it.
_RESOURCES: Final[Object] = {"requests": {"cpu": f"{SPARE_MILLICPU}m", "memory": "64Mi"}}
_LIMIT: Final[Object] = {"limits": {"memory": "1Gi"}}
Resources = Sequence[Mapping[str, Any]]


def runner_job(plan: Plan, host: str, daemonsets: Resources, task: str) -> Object:
    """A Job with one pod on `host`, which carries out what waits there."""
    folder = warm.tasks_folder(plan, host)
    made = template(plan, [host], daemonsets, warm.runner(folder, warmer.ENDS))
    name = names.fitting(f"{plan.name}-{COMPONENT}-{task}-{list(plan.nodes).index(host)}", _NAME)
    spec = {"ttlSecondsAfterFinished": KEPT_S, "backoffLimit": _KILLS, "template": made}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": about(plan, name), "spec": spec}


def about(plan: Plan, name: str) -> Object:
    """metadata of an object in the deployment's namespace."""
    return metadata(name, plan.fleet["kubernetes"].amount.namespace, plan.name, COMPONENT)


def template(
    plan: Plan, hosts: Sequence[str], daemonsets: Resources, arguments: list[str], restart: str = "OnFailure"
) -> Object:
    """A pod on one of a pool's nodes: python3 with the configuration of their FUSE, and what tasks take of the node."""
    host = hosts[0]
    fuse = _fuse(plan, host, daemonsets)["spec"]["template"]["spec"]
    (server,) = fuse["containers"]
    configure = next(one for one in fuse["initContainers"] if one["name"] == _CONFIGURE)
    own = {one["mountPath"]: one for one in server["volumeMounts"]}
    mounted = [own[names.CONF], own[names.LOGS], own["/tmp"]]  # noqa: S108 - the pod's own
    used = {one["name"] for one in [*mounted, *configure["volumeMounts"]]}
    copies = warm.copied(plan, host)
    seen = list(enumerate(warm.runner_folders(plan, host)))
    folder = warm.tasks_folder(plan, host)
    variables = {
        **warm.environment(folder),
        "ALLUXIO_USER_JAVA_OPTS": "-Dalluxio.user.hostname=$(POD_IP) -Dalluxio.locality.node=$(NODE_NAME)",
    }
    container = {
        "name": COMPONENT,
        "image": server["image"],
        "imagePullPolicy": server["imagePullPolicy"],
        "command": ["/usr/bin/python3", *arguments],
        "env": [
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            *({"name": name, "value": value} for name, value in variables.items()),
        ],
        "resources": _RESOURCES if copies else {**_RESOURCES, **_LIMIT},
        "securityContext": _rights(bool(copies)),
        "volumeMounts": [*mounted, *(_mount(number, one) for number, one in seen)],
    }
    spec = {
        key: fuse[key]
        for key in ("serviceAccountName", "imagePullSecrets", "nodeSelector", "tolerations")
        if key in fuse
    }
    return {
        "metadata": {"labels": metadata("", "", plan.name, COMPONENT)["labels"]},
        "spec": {
            **spec,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "affinity": {"nodeAffinity": on_hosts(hosts)},
            "restartPolicy": restart,
            "terminationGracePeriodSeconds": 5,
            **({"hostPID": True} if copies else {}),  # who reads a copy is seen in /proc
            "initContainers": [configure],
            "containers": [container],
            "volumes": [
                *(one for one in fuse["volumes"] if one["name"] in used),
                *(
                    {"name": f"folder-{number}", "hostPath": {"path": one.path, "type": "Directory"}}
                    for number, one in seen
                ),
            ],
        },
    }


def _fuse(plan: Plan, host: str, daemonsets: Resources) -> Mapping[str, Any]:
    first = next(iter(plan.mounts(host)))
    component = names.component(f"{pods.FUSE}{first}", plan.pool(host))
    found = [one for one in daemonsets if one["metadata"]["labels"].get(pods.COMPONENT) == component]
    if not found:
        raise ValueError(f"there is no DaemonSet {component} of {plan.name}: run playbooks/services.yml first")
    return found[0]


def _mount(number: int, folder: Folder) -> Object:
    """The same path inside as outside."""
    propagation = _PROPAGATION.get(folder.mounts)
    return {
        "name": f"folder-{number}",
        "mountPath": folder.path,
        **({"readOnly": True} if folder.read_only else {}),
        **({"mountPropagation": propagation} if propagation else {}),
    }


def _rights(copies: bool) -> Object:
    """Of root, who reads the services' configuration; who mounts copies is privileged, as Bidirectional wants it."""
    root: Object = {"runAsUser": 0, "runAsGroup": 0, "readOnlyRootFilesystem": True}
    if copies:
        return {**root, "privileged": True}
    return {
        **root,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["DAC_READ_SEARCH"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }

"""Objects of a training on several nodes: an Indexed Job for each run, and what all Jobs of a training share."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import train_pod

from alluxio_fuse import names
from alluxio_fuse.kubernetes.examples import volume
from alluxio_fuse.kubernetes.objects import Object, labels, metadata, on_hosts
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.intent.work import Train
from alluxio_fuse.train import steps

COMPONENT: Final = "train"
MOST_BYTES: Final = 1_000_000  # of a ConfigMap, which holds 1 MiB
MOST_READS: Final = 100_000  # files in a pod's log, of which the kubelet keeps 10 MiB: a file takes about 70 bytes
#: What runs in pods, of plugins/module_utils: standard library only.
MODULES: Final = (
    *("around", "copies", "counters", "disk_counters", "labels", "mount_table", "programs", "reader", "residency"),
    *("system", "train_pod", "trainings"),
)
LOOK: Final = "look"  # the order that starts everything and reads nothing
_PACKAGE: Final = "ansible_collections.alluxio.fuse.plugins.module_utils"
_PROGRAM: Final = "/program"
_RUN: Final = "alluxio-fuse/training"  # label of the pods of one Job
_KEPT_S: Final = 3600  # of a Job that has ended when whoever started it was killed
_NAME: Final = 57  # characters of a Job's name: with its index it is the hostname of a pod, 63 at most
_REQUESTS: Final[Object] = {"cpu": "100m", "memory": "256Mi"}  # little: nodes that train may be booked to the brim


class Asked(NamedTuple):
    """What is trained, and on which nodes together; dataset: as `targets` gives it."""

    plan: Plan
    hosts: Sequence[str]
    dataset: Mapping[str, Any]
    train: Train


class Training(NamedTuple):
    """shared: what all Jobs need. jobs: by run, in order; the one of LOOK comes first."""

    shared: list[Object]
    jobs: dict[str, Object]


def training(asked: Asked, told: Mapping[str, Any], sources: Mapping[str, str]) -> Training:
    """The objects of a training.

    told: `files`, as `train_pod.listed` has them, `orders` of the program, `metrics` by host.
    sources: texts of harness and program by name, and of MODULES.
    """
    plan, hosts, dataset, train = asked
    space, program = plan.fleet["kubernetes"].amount.namespace, next(iter(sources.keys() - {*MODULES, "harness.py"}))
    service = f"{plan.name}-{COMPONENT}"
    runs = {LOOK: steps.look(), **{one["name"]: one for one in steps.pod_runs(dataset, train)}}
    named = {name: names.fitting(f"{service}-{number}", _NAME) for number, name in enumerate(runs)}
    orders = {
        "orders": told["orders"],
        "metrics": told["metrics"],
        "nodes": len(hosts),
        "program": f"{_PROGRAM}/{program}",
        "runs": {name: {**one, "first": f"{named[name]}-0.{service}.{space}.svc"} for name, one in runs.items()},
    }
    texts = {"orders.json": json.dumps(orders), **{_key(name): text for name, text in sources.items()}}
    packed = train_pod.packed(told["files"])
    size = len(packed) + sum(len(text.encode()) for text in texts.values())
    if (reads := told["files"].count("\n") * train.epochs / len(hosts)) > MOST_READS:
        raise ValueError(
            f"alluxio_train.images: {train.images or 'unset'}: each of {len(hosts)} pods would tell of {reads:.0f}"
            f" files, and its log holds {MOST_READS}; write fewer images or epochs, or more nodes"
        )
    if size > MOST_BYTES:
        raise ValueError(
            f"alluxio_train.images: {train.images or 'unset'}: the list of the images takes {size} bytes, and a"
            f" ConfigMap holds {MOST_BYTES}; write fewer images"
        )
    about = metadata(service, space, plan.name, COMPONENT)
    files = {"files": base64.b64encode(packed).decode("ascii")}
    return Training(
        shared=[
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": texts, "binaryData": files},
            {"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": _headless(plan.name)},
        ],
        jobs={
            name: {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": metadata(job, space, plan.name, COMPONENT),
                "spec": {
                    "completionMode": "Indexed",
                    "completions": len(hosts),
                    "parallelism": len(hosts),
                    "backoffLimit": 0,
                    "ttlSecondsAfterFinished": _KEPT_S,
                    "template": {
                        "metadata": {"labels": {**labels(plan.name, COMPONENT), _RUN: job}},
                        "spec": _pod(asked, service, job, name, list(texts)),
                    },
                },
            }
            for name, job in named.items()
        },
    )


def _key(name: str) -> str:
    return f"{name}.py" if name in MODULES else name


def _headless(deployment: str) -> Object:
    """Gives pods names at once: they are ready only when all of them have met."""
    return {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": labels(deployment, COMPONENT),
        "ports": [{"name": "torchrun", "port": train_pod.PORT}],
    }


def _pod(asked: Asked, service: str, job: str, run: str, texts: Sequence[str]) -> Object:
    """A pod on each host, of the dataset's own uid and gid, which may read it in any case."""
    plan, hosts, dataset, train = asked
    cluster = plan.fleet["kubernetes"].amount
    planned = next(one for one in plan.datasets if one.name == dataset["name"])
    uid, gid = planned.readers["uid"], planned.readers["gid"]
    apart = {"labelSelector": {"matchLabels": {_RUN: job}}, "topologyKey": "kubernetes.io/hostname"}
    folder = f"{_PACKAGE.replace('.', '/')}/"
    paths = {key: folder + key if key.removesuffix(".py") in MODULES else key for key in [*texts, "files"]}
    written = {train_pod.SCRATCH: "scratch", "/tmp": "tmp", "/dev/shm": "shm"}  # noqa: S108 - the pod's own
    variables = {"PYTHONPATH": _PROGRAM, "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp", "USER": COMPONENT}  # noqa: S108
    pull = [{"name": one} for one in cluster.pull_secrets]
    return {
        "subdomain": service,
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "tolerations": [{"operator": "Exists"}],
        "affinity": {
            "nodeAffinity": on_hosts(hosts),
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
        },
        **({"imagePullSecrets": pull} if pull else {}),
        "containers": [
            {
                "name": COMPONENT,
                "image": train.image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["python3", "-u", "-m", f"{_PACKAGE}.train_pod", _PROGRAM, run],
                "env": [
                    {"name": train_pod.NODE, "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                    *({"name": name, "value": value} for name, value in variables.items()),
                ],
                "resources": {
                    "requests": _REQUESTS,
                    **({"limits": {"nvidia.com/gpu": str(train.gpus)}} if train.gpus else {}),
                },
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True,
                    "runAsNonRoot": uid != 0,
                    "runAsUser": uid,
                    "runAsGroup": gid,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "volumeMounts": [
                    {
                        "name": "dataset",
                        "mountPath": str(PurePosixPath(dataset["path"]).parent),
                        "mountPropagation": "HostToContainer",
                        "readOnly": True,
                    },
                    {"name": "program", "mountPath": _PROGRAM, "readOnly": True},
                    *({"name": name, "mountPath": path} for path, name in written.items()),
                ],
            }
        ],
        "volumes": [
            {"name": "dataset", **volume(plan, planned)},
            {
                "name": "program",
                "configMap": {"name": service, "items": [{"key": key, "path": path} for key, path in paths.items()]},
            },
            *({"name": name, "emptyDir": {"medium": "Memory"} if name == "shm" else {}} for name in written.values()),
        ],
    }

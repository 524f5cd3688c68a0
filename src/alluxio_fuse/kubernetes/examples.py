"""A Pod and a Job that read a dataset of a deployment, as they are: for users to begin their own with."""

from __future__ import annotations

from typing import Any, Final

from alluxio_fuse import names
from alluxio_fuse.kubernetes.objects import Object, pulled_with
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.intent.clusters import Kubernetes
from alluxio_fuse.plan.parts import PlannedDataset

_VOLUME, _MOUNTED = "dataset", "/data"
_ANYBODY: Final = 1000  # no dataset's owner by default
#: Reads a hundred files through, and tells how many that were; it fails if one cannot be read.
_READ: Final = f"""\
find {_MOUNTED}/data -type f | head -n 100 | xargs -d '\\n' sha256sum >/tmp/read
wc -l </tmp/read
"""
_WAIT: Final = """\
until grep -q '^[^/]* /[^ ]* {mounted}/data ' /proc/self/mountinfo; do echo "no mount yet"; sleep 2; done
test "$(cat {mounted}/.owner)" = {owner} || {{ echo "this is $(cat {mounted}/.owner)"; exit 1; }}
"""


def examples(plan: Plan) -> Object:
    """A list, for each dataset, of a Pod and a Job in the deployment's namespace.

    They run on nodes that mount it, and rather on those that hold a copy. With the CSI driver they have a volume of it,
    the Job by claim where the driver has claims; else they mount the node's folder, and wait for the mount.
    """
    made = [one for dataset in plan.datasets for one in (_pod(plan, dataset), job(plan, dataset))]
    return {"apiVersion": "v1", "kind": "List", "items": made}


def _pod(plan: Plan, dataset: PlannedDataset) -> Object:
    about = {"name": f"read-{dataset.name}", "namespace": str(_cluster(plan).namespace)}
    spec = _spec(plan, dataset, volume(plan, dataset))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}


def job(plan: Plan, dataset: PlannedDataset) -> Object:
    """A Job that reads a dataset."""
    into, seen = str(_cluster(plan).namespace), volume(plan, dataset)
    if spaces := _csi(plan).get("enabled") and _csi(plan).get("claims"):
        claim = f"{dataset.name}.{plan.name}.{_cluster(plan).namespace}"
        into, seen = spaces[0], {"persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
    about = {"name": f"train-on-{dataset.name}", "namespace": into}
    template = {"spec": _spec(plan, dataset, seen)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": about,
        "spec": {"backoffLimit": 2, "template": template},
    }


def _spec(plan: Plan, dataset: PlannedDataset, seen: Object) -> Object:
    readers, cluster = dataset.readers, _cluster(plan)
    user = {"runAsUser": readers["uid"] or _ANYBODY, "runAsGroup": readers["gid"]}
    image = {
        "image": plan.fleet["image"].amount,
        "imagePullPolicy": "Never" if cluster.image.by == "import" else "IfNotPresent",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            {"name": _VOLUME, "mountPath": _MOUNTED, "mountPropagation": "HostToContainer", "readOnly": True}
        ],
    }
    wait = _WAIT.format(mounted=_MOUNTED, owner=f"{cluster.namespace}-{plan.name}/{dataset.name}")
    waits = {"name": "wait-for-the-mount", "command": ["sh", "-ec", wait], **image}
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        **pulled_with(cluster.pull_secrets),
        "affinity": {"nodeAffinity": _affinity(plan, dataset.name)},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, *cluster.tolerations],
        "securityContext": {"runAsNonRoot": True, **user, "seccompProfile": {"type": "RuntimeDefault"}},
        **({"initContainers": [waits]} if "hostPath" in seen else {}),
        "containers": [{"name": "reader", "command": ["sh", "-ec", _READ], **image}],
        "volumes": [{"name": _VOLUME, **seen}],
    }


def _affinity(plan: Plan, dataset: str) -> Object:
    """On nodes that mount it, rather on those that hold a copy."""
    selected = _cluster(plan).node_selector
    mounts: list[Object] = [{"key": key, "operator": "In", "values": [value]} for key, value in selected.items()]
    mounts = mounts or [{"key": names.node_label(plan.name, "fuse"), "operator": "Exists"}]
    label = names.dataset_label(plan.name, dataset)
    preferred = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": label, "operator": "In", "values": [how]}]}}
        for how, weight in (("staged", 100), ("part", 50))
    ]
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": mounts}]},
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    }


def volume(plan: Plan, dataset: PlannedDataset) -> Object:
    """What consumers mount of a dataset: a volume of the CSI driver, or the folder above the mount point."""
    if _csi(plan).get("enabled"):
        driver = f"{plan.name}.{_cluster(plan).namespace}"
        return {"csi": {"driver": driver, "readOnly": True, "volumeAttributes": {"dataset": dataset.name}}}
    return {"hostPath": {"path": names.mount_parent(plan.name, dataset.name), "type": "Directory"}}


def _cluster(plan: Plan) -> Kubernetes:
    said: Kubernetes = plan.fleet["kubernetes"].amount
    return said


def _csi(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = _cluster(plan).values.get("csi") or {}
    return found

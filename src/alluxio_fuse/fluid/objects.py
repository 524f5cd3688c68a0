"""A Dataset, its DataLoad, and the names that Fluid gives to what it makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from alluxio_fuse.fluid.sources import Source
from alluxio_fuse.kubernetes.objects import Object, metadata
from alluxio_fuse.plan.intent.clusters import Fluid, Kubernetes

API: Final = "data.fluid.io/v1alpha1"
KINDS: Final = {"alluxio": "AlluxioRuntime", "jindo": "JindoRuntime"}
#: Names of its custom resources, as the API spells them.
PLURALS: Final = {
    "Dataset": "datasets",
    "AlluxioRuntime": "alluxioruntimes",
    "JindoRuntime": "jindoruntimes",
    "DataLoad": "dataloads",
}
#: Label of the pods that Fluid makes for a deployment; those of app.kubernetes.io, but `component`, are Fluid's own.
DEPLOYMENT: Final = "alluxio-fuse/deployment"
PRODUCT: Final = "nvidia.com/gpu.product"


def made(kind: str, name: str, into: str, deployment: str, spec: Object) -> Object:
    """An object of Fluid's with our labels."""
    about = metadata(name, into, deployment, "fluid")
    return {"apiVersion": API, "kind": kind, "metadata": about, "spec": spec}


def dataset(name: str, source: Source, secret: str, terms: Sequence[Object], tolerations: Sequence[Object]) -> Object:
    """The spec of a Dataset that nobody can write to.

    secret: name of the Secret with its keys. terms: label terms that a node must match to cache or to mount.
    The files are in the claim's folder of the dataset's name, where they are in Alluxio's namespace on every platform.
    They are not at its root: of a mount with `path: /`, Alluxio's workers get the name of a key's file for the key.
    """
    keys = [
        {"name": option, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
        for option, key in source.keys.items()
    ]
    mount = {
        "mountPoint": source.mount_point,
        "name": name,
        "path": f"/{name}",
        "readOnly": True,
        **({"options": dict(source.options)} if source.options else {}),
        **({"encryptOptions": keys} if keys else {}),
    }
    return {
        "mounts": [mount],
        "accessModes": ["ReadOnlyMany"],
        "placement": "Shared",
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": list(terms)}]}},
        **({"tolerations": list(tolerations)} if tolerations else {}),
    }


def node_terms(
    fluid: Fluid, cluster: Kubernetes, nodes: Mapping[str, Mapping[str, Any]], hosts: Sequence[str]
) -> list[Object]:
    """Which nodes cache and mount: labels as said, else the GPU models of the hosts, else the hosts.

    nodes: as the module `cluster_facts` returns them.
    """
    if said := fluid.affinity or cluster.node_selector:
        return [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(said.items())]
    models = {host: nodes.get(host, {}).get("labels", {}).get(PRODUCT) for host in hosts}
    if all(models.values()):
        return [{"key": PRODUCT, "operator": "In", "values": sorted({str(model) for model in models.values()})}]
    return [{"key": "kubernetes.io/hostname", "operator": "In", "values": sorted(hosts)}]


def tolerations(cluster: Kubernetes) -> list[Object]:
    """Of GPU nodes, and those that the user says."""
    return [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, *cluster.tolerations]


def data_load(name: str, into: str, load: str) -> Object:
    """The spec of a DataLoad of all files, once or by a schedule."""
    when = {"policy": "Once"} if load == "once" else {"policy": "Cron", "schedule": load}
    target = {
        "dataset": {"name": name, "namespace": into},
        "loadMetadata": True,
        "target": [{"path": f"/{name}", "replicas": 1}],
    }
    return {**target, **when}


def quantity(size: int) -> str:
    """Bytes as Fluid's controllers write them back: the largest binary unit that divides them, mebibytes at least."""
    mebibytes = size // 2**20
    return f"{mebibytes // 1024}Gi" if mebibytes and mebibytes % 1024 == 0 else f"{mebibytes}Mi"


def image(whole: str) -> Object:
    """An image as Fluid has it, name and tag apart."""
    name, _, tag = whole.rpartition(":")
    return {"image": name, "imageTag": tag}

"""Folders and labels that follow from a deployment's name, before there is a plan and after."""

import hashlib
from typing import Final

#: In our image, as in the official one.
CONF: Final = "/opt/alluxio/conf"
LOGS: Final = "/opt/alluxio/logs"
_LABELS: Final = "alluxio-fuse"  # prefix of labels of Node objects


def state_dir(name: str) -> str:
    """Folder on each node with what is known of the deployment, and caches that have no medium of their own."""
    return f"/var/lib/{name}"


def manifests(name: str) -> str:
    """Folder on each node with what datasets hold."""
    return f"{state_dir(name)}/manifests"


def manifest(name: str, dataset: str) -> str:
    """File with what a dataset holds."""
    return f"{manifests(name)}/{dataset}.jsonl"


def home(name: str) -> str:
    """Folder on each node of platform `host` with Alluxio itself."""
    return f"/opt/{name}"


def media_folder(name: str, base: str, use: str) -> str:
    """Our folder for `tier`, `client-cache` or `stage` in a folder for caches; in the state folder without our name."""
    return f"{base}/{use}" if base.startswith(f"{state_dir(name)}/") else f"{base}/{name}/{use}"


def mount_root(name: str) -> str:
    """Folder above the parents of all mount points."""
    return f"/mnt/{name}"


def mount_parent(name: str, dataset: str) -> str:
    """Folder above a dataset's mount point, which pods and containers get, so that mounts come and go in it."""
    return f"{mount_root(name)}/{dataset}"


def mount_point(name: str, dataset: str) -> str:
    """Folder that a dataset is mounted on."""
    return f"{mount_parent(name, dataset)}/data"


def hidden_parent(name: str, dataset: str) -> str:
    """Folder above the FUSE mount of a staged dataset: readers are not meant to enter it."""
    return f"{state_dir(name)}/fuse/{dataset}"


def export_folder(name: str, server: str, path: str) -> str:
    """Folder on each node where an export of NFS is mounted: each export has its own, and none lies in another's."""
    return f"{state_dir(name)}/nfs/{server}{path.replace('/', '+')}"


def claim_folder(dataset: str) -> str:
    """Folder in which our pods see the claim or the export that is the source of a dataset."""
    return f"/sources/{dataset}"


def sources_pod(name: str) -> str:
    """Pod that sees all claims and exports which are sources."""
    return f"{name}-sources"


def fitting(name: str, length: int) -> str:
    """The name of an object that may have so many characters: of a longer one, the end is a digest."""
    if len(name) <= length:
        return name
    return f"{name[: length - 9].rstrip('-.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def component(kind: str, pool: str) -> str:
    """Label of the pods of a kind (`worker`, `fuse-<dataset>`) in a pool: the chart's `alluxio.component`."""
    return f"{kind}.{pool}" if pool else kind


def node_label(name: str, service: str) -> str:
    """Label of Node objects on which a service (`master`, `worker`, `fuse`) runs."""
    return f"{_LABELS}/{name}.{service}"


def dataset_label(name: str, dataset: str) -> str:
    """Label of Node objects that tells how a dataset is read there."""
    return f"{name}.{_LABELS}/{dataset}"


def is_label_of(name: str, label: str) -> bool:
    """Whether a label of a Node object is the deployment's."""
    return label.startswith((f"{_LABELS}/{name}.", f"{name}.{_LABELS}/"))

"""Pods that read a dataset as a training does: who may read it does, byte for byte, and who may not does not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from alluxio_fuse import names
from alluxio_fuse.kubernetes.objects import Object, metadata

STRANGER = 65533  # a uid and gid that belong to nobody
MOST_FILES = 200


def reader_files(deployment: str, into: str, reader: str, manifests: Mapping[str, str]) -> Object:
    """The ConfigMap that consumer pods read with: the reader's source, and a part of each dataset's manifest."""
    data = {"reader.py": reader} | {f"{dataset}.jsonl": manifest_part(text) for dataset, text in manifests.items()}
    about = metadata(f"{deployment}-reader", into, deployment, "consumer")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": data}


def manifest_part(text: str, files: int = MOST_FILES) -> str:
    """A manifest's header and some of its files with digests, the smallest first: a ConfigMap holds 1 MiB."""
    header, *rows = text.splitlines()
    known = sorted((row for row in map(json.loads, rows) if row.get("digest")), key=lambda row: int(row["size"]))
    return "\n".join([header, *(json.dumps(row) for row in known[:files])]) + "\n"


def consumer_pods(plan: Mapping[str, Any], into: str, hosts: Sequence[str]) -> list[Object]:
    """On every host and for every dataset: a pod of its readers' uid, and one of a stranger's."""
    datasets = plan["fleet"]["datasets"]["amount"]
    return [
        _pod(host, plan, into, dataset, uid)
        for host, dataset in product(hosts, datasets)
        for uid in sorted({dataset["readers"]["uid"], STRANGER})
    ]


def consumer_lines(plan: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each pod's outcome: {right, text}."""
    datasets = {dataset["name"]: dataset for dataset in plan["fleet"]["datasets"]["amount"]}
    return [_line(one, datasets) for one in sorted(results, key=lambda one: str(one["name"]))]


def _line(result: Mapping[str, Any], datasets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    dataset, uid = str(result["annotations"]["alluxio-fuse/dataset"]), int(result["annotations"]["alluxio-fuse/uid"])
    who = f"{result['node']}: {dataset} in a pod of uid {uid}"
    read = _read(str(result["log"]))
    if not _may_read(datasets[dataset]["readers"], uid):
        denied = read is None and "Permission denied" in result["log"]
        return {
            "right": denied,
            "text": f"{who}: {'denied, as declared' if denied else 'NOT DENIED, though declared so'}",
        }
    if read is None or result["phase"] != "Succeeded":
        return {"right": False, "text": f"{who}: FAILED: {str(result['log']).strip()[-300:]}"}
    return {"right": True, "text": f"{who}: {read} files compared, all right"}


def _read(log: str) -> int | None:
    try:
        return int(json.loads(log)["verified"]["compared"])
    except (ValueError, KeyError):
        return None


def _may_read(readers: Mapping[str, Any], uid: int) -> bool:
    """By the mode of the folder above the mount point: reading needs x there, listing r."""
    mode = int(str(readers["mode"]), 8)
    bits = mode >> 6 if uid == readers["uid"] else mode >> 3 if uid == readers["gid"] else mode
    return bits & 0o1 == 0o1


def _pod(host: str, plan: Mapping[str, Any], into: str, dataset: Mapping[str, Any], uid: int) -> Object:
    deployment, name = plan["name"], dataset["name"]
    gid = dataset["readers"]["gid"] if uid == dataset["readers"]["uid"] else uid
    kind = "small" if dataset["bytes"] < dataset["files"] * (8 << 20) else "large"
    about = metadata(f"{deployment}-consumer-{name}-{uid}-{host}", into, deployment, "consumer")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**about, "annotations": {"alluxio-fuse/dataset": name, "alluxio-fuse/uid": str(uid)}},
        "spec": {
            "nodeName": host,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            **_pull(plan),
            "containers": [
                {
                    "name": "reader",
                    "image": plan["fleet"]["image"]["amount"],
                    "command": ["python3", "/reader/reader.py", f"/reader/{name}.jsonl", "/data/data", "--kind", kind],
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                        "readOnlyRootFilesystem": True,
                        "runAsNonRoot": uid != 0,
                        "runAsUser": uid,
                        "runAsGroup": gid,
                    },
                    "volumeMounts": [
                        {"name": "data", "mountPath": "/data", "mountPropagation": "HostToContainer", "readOnly": True},
                        {"name": "reader", "mountPath": "/reader", "readOnly": True},
                    ],
                }
            ],
            "volumes": [
                {"name": "data", "hostPath": {"path": names.mount_parent(deployment, name), "type": "Directory"}},
                {"name": "reader", "configMap": {"name": f"{deployment}-reader"}},
            ],
        },
    }


def _pull(plan: Mapping[str, Any]) -> Object:
    names = plan["fleet"]["kubernetes"]["amount"]["pull_secrets"]
    return {"imagePullSecrets": [{"name": name} for name in names]} if names else {}

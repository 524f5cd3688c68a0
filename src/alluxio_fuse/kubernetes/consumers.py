"""Pods that read a dataset as a training does: who may read it does, byte for byte, and who may not does not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate, product
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from alluxio_fuse import names
from alluxio_fuse.kubernetes.objects import Object, metadata, pod_on
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.parts import PlannedDataset

SPARE = range(65533, 65529, -1)  # uids and gids that belong to nobody
MOST_FILES = 200
MOST_BYTES = 16 * 10**6
MOST_USERS = 5
_DATA = "/data/data"
Seen = Sequence[Mapping[str, Any]]

#: What four reading processes need; little is asked for, since a node that trains may be booked to the brim.
RESOURCES = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}


class User(NamedTuple):
    """Who a process is."""

    uid: int
    gid: int


def reader_files(deployment: str, into: str, reader: str, manifests: Mapping[str, str]) -> Object:
    """The ConfigMap that consumer pods read with: the reader's source, and a part of each dataset's manifest."""
    data = {"reader.py": reader} | {f"{dataset}.jsonl": manifest_part(text) for dataset, text in manifests.items()}
    about = metadata(f"{deployment}-reader", into, deployment, "consumer")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": data}


def manifest_part(text: str, files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> str:
    """A manifest's header and some of its files with digests, the smallest first: a ConfigMap holds 1 MiB, and all of
    them are read in every pod on every node.
    """
    header, *rows = text.splitlines()
    known = sorted(
        (row for row in map(json.loads, rows) if row.get("digest", {}).get("value")), key=lambda row: int(row["size"])
    )
    sums = accumulate(row["size"] for row in known)
    kept = [row for row, size in zip(known[:files], sums, strict=False) if size <= most_bytes] or known[:1]
    return "\n".join([header, *map(json.dumps, kept)]) + "\n"


def _kind(part: str) -> str:
    """What the reader calls files of such a part. A large one is more than MOST_BYTES, thus the only one."""
    header, *rows = map(json.loads, part.splitlines())
    return "large" if rows and rows[0]["size"] >= header["large_bytes"] else "small"


def consumer_pods(plan: Plan, into: str, seen: Mapping[str, Seen], files: Mapping[str, str]) -> list[Object]:
    """On every host that nobody uses and for every dataset: a pod of its readers' uid, one of their group alone, and a
    stranger's.

    seen: by host, what module `mount_users` said of each mount there. files: data of the ConfigMap that they read with.
    """
    datasets = plan.datasets
    kinds = {dataset.name: _kind(files[f"{dataset.name}.jsonl"]) for dataset in datasets}
    return [
        _pod(host, plan, into, (dataset.name, kinds[dataset.name]), who)
        for host, dataset in product(sorted(seen.keys() - _in_use(seen).keys()), datasets)
        for who in _tried(dataset.readers)
    ]


def consumer_lines(plan: Plan, results: Sequence[Mapping[str, Any]], seen: Mapping[str, Seen]) -> list[dict[str, Any]]:
    """Each pod's outcome, and hosts without pods: {right, text}."""
    datasets = {dataset.name: dataset for dataset in plan.datasets}
    alone = [
        {"right": True, "text": f"{host}: left alone, in use by {', '.join(who[:MOST_USERS])}"}
        for host, who in sorted(_in_use(seen).items())
    ]
    return alone + [_line(one, datasets) for one in sorted(results, key=lambda one: str(one["name"]))]


def _in_use(seen: Mapping[str, Seen]) -> dict[str, list[str]]:
    """Who uses what of each host that is used."""
    found = {host: sorted({who for mount in mounts for who in mount["users"]}) for host, mounts in seen.items()}
    return {host: who for host, who in found.items() if who}


def _tried(readers: Mapping[str, Any]) -> list[User]:
    """The owner, somebody of the group, and somebody of neither."""
    uid, gid = int(readers["uid"]), int(readers["gid"])
    stranger, member = [spare for spare in SPARE if spare not in (uid, gid)][:2]
    return [User(uid, gid), User(member, gid), User(stranger, stranger)]


def _line(result: Mapping[str, Any], datasets: Mapping[str, PlannedDataset]) -> dict[str, Any]:
    said = {key: result["annotations"][f"alluxio-fuse/{key}"] for key in ("dataset", "uid", "gid")}
    dataset, user = said["dataset"], User(int(said["uid"]), int(said["gid"]))
    who = f"{result['node']}: {dataset} in a pod of uid {user.uid}, gid {user.gid}"
    if str(result["why"]).startswith("OutOf"):  # the kubelet's, whose node is full
        return {"right": True, "text": f"{who}: not tried, no room: {result['why']}"}
    report = _report(str(result["log"]))
    right = report is not None and result["phase"] == "Succeeded"
    if not _may_read(datasets[dataset].readers, user):
        if report is not None and _denied(report):
            return {"right": True, "text": f"{who}: denied, as declared"}
        what = "NOT DENIED, though declared so" if right else f"NOT SEEN TO BE DENIED: {_words(result, report)}"
        return {"right": False, "text": f"{who}: {what}"}
    if report is None or not right:
        return {"right": False, "text": f"{who}: FAILED: {_words(result, report)}"}
    return {"right": True, "text": f"{who}: {report['verified']['compared']} files compared, all right"}


def _report(log: str) -> dict[str, Any] | None:
    """What the reader printed, if it came to that."""
    try:
        report: dict[str, Any] = json.loads(log)
        return report if report["verified"]["compared"] else None
    except (ValueError, KeyError, TypeError):
        return None


def _denied(report: Mapping[str, Any]) -> bool:
    """Not one file was read, and for no other reason. The reader goes on after an error, so it counts all of them."""
    problems = [*report["problems"], *report["verified"]["problems"]]
    every = (
        report["wrong"] == report["expected_files"] and report["verified"]["wrong"] == report["verified"]["compared"]
    )
    return every and report["bytes"] == 0 and {problem["what"] for problem in problems} == {"Permission denied"}


def _words(result: Mapping[str, Any], report: Mapping[str, Any] | None) -> str:
    """The first problems of a report, or the end of what was said in its place."""
    if report is None:
        return f"{result['why']} {result['log']}".strip()[-300:]
    problems = [*report["problems"], *report["verified"]["problems"]][:3]
    return ", ".join(f"{problem['path']}: {problem['what']}" for problem in problems) or str(result["phase"])


def _may_read(readers: Mapping[str, Any], user: User) -> bool:
    """By the mode of the folder above the mount point: reading needs x there, listing r."""
    mode = int(str(readers["mode"]), 8)
    bits = mode >> 6 if user.uid == readers["uid"] else mode >> 3 if user.gid == readers["gid"] else mode
    return bits & 0o1 == 0o1


def _pod(host: str, plan: Plan, into: str, dataset: tuple[str, str], who: User) -> Object:
    """dataset: its name, and what the reader calls its files."""
    deployment, (name, kind) = plan.name, dataset
    data = [f"/reader/{name}.jsonl", _DATA]
    about = metadata(f"{deployment}-consumer-{name}-{who.uid}-{host}", into, deployment, "consumer")
    said = {"alluxio-fuse/dataset": name, "alluxio-fuse/uid": str(who.uid), "alluxio-fuse/gid": str(who.gid)}
    container = {
        "name": "reader",
        "image": plan.fleet["image"].amount,
        "command": ["python3", "/reader/reader.py", *data, "--kind", kind],
        "resources": RESOURCES,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": who.uid != 0,
            "runAsUser": who.uid,
            "runAsGroup": who.gid,
        },
        "volumeMounts": [
            {"name": "data", **_mounted(plan, name), "readOnly": True},
            {"name": "reader", "mountPath": "/reader", "readOnly": True},
        ],
    }
    volumes = [
        {"name": "data", **_volume(plan, name)},
        {"name": "reader", "configMap": {"name": f"{deployment}-reader"}},
    ]
    pull_secrets = plan.fleet["kubernetes"].amount.pull_secrets
    return pod_on(host, {**about, "annotations": said}, container, pull_secrets, volumes=volumes)


def _volume(plan: Plan, dataset: str) -> Object:
    """What consumers mount: the folder above the mount point, or the claim that Fluid makes of a Dataset."""
    if plan.capabilities.by_fluid:
        return {"persistentVolumeClaim": {"claimName": dataset, "readOnly": True}}
    return {"hostPath": {"path": names.mount_parent(plan.name, dataset), "type": "Directory"}}


def _mounted(plan: Plan, dataset: str) -> Object:
    """Where: the folder of a claim that has the files is mounted alone."""
    if plan.capabilities.by_fluid:
        return {"mountPath": _DATA, "subPath": dataset}
    return {"mountPath": str(PurePosixPath(_DATA).parent), "mountPropagation": "HostToContainer"}

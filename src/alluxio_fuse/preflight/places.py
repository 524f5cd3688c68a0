"""What others have on a node where this deployment would be: mounts, files, containers, another Alluxio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from alluxio_fuse.containers import RENAME
from alluxio_fuse.plan.refusals import Finding

_MOUNTED = {
    "mounted": ("", "unmount it (umount {0})"),
    "stale": (", and its daemon is dead", "clear it (umount --lazy {0})"),
    "hung": (
        ", and its daemon does not answer: whoever touches it waits",
        "end the daemon, then clear it (umount --lazy {0})",
    ),
}


def mount_points(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """Mount points with files, or with a mount of others."""
    ours = {item["id"] for item in facts["owned"].get("items", []) if item["kind"] == "directory"}
    for point, found in facts["mount_points"].items():
        if point in ours or found["state"] in ("absent", "empty"):
            continue
        if found["state"] == "files":
            yield Finding(
                f"{host}: {point}",
                "files",
                "there are files at the mount point that this deployment did not put there; mounting would hide them",
                "move them away, or choose another alluxio_name",
            )
            continue
        what = f"{found['type']} from {found['source']}" if found["type"] else found["state"]
        reason, remedy = _MOUNTED[found["state"]]
        yield Finding(
            f"{host}: {point}",
            what,
            f"something is mounted there that this deployment did not mount{reason}",
            f"{remedy.format(point)}, or choose another alluxio_name",
        )


def taken(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """Folders of this deployment that hold what the ownership record does not name."""
    for found in facts.get("taken", ()):
        yield Finding(
            f"{host}: {found['path']}",
            f"holds {', '.join(found['holds'])}" if found["holds"] else "a file, or it does not answer",
            "it is in no ownership record, and this deployment would fill it and remove it with all that is in it",
            "move it away, or choose another alluxio_name",
        )


def readers(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """Readers of a dataset that would be unmounted."""
    for point, who in facts["readers"].items():
        yield Finding(
            f"{host}: {point}",
            f"read by {', '.join(who)}",
            "the dataset is not planned any more, or from another source: its mount goes, and what is cached of it",
            "end them first, or take it from them with -e alluxio_under_readers=true",
        )


def containers(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """Containers of others with the names of this deployment's services."""
    for one in facts["containers"]:
        yield Finding(
            f"{host}: container {one['name']}",
            f"{one['state']}, of {one['image']}",
            "a service needs this name, and this deployment did not make it: it is neither replaced nor removed",
            RENAME,
        )


def leftovers(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """An Alluxio that no deployment of this bundle made: processes, mounts and units."""
    for found in facts["leftovers"]:
        kind, name, state = (found[key] for key in ("kind", "name", "state"))
        if kind == "process":
            value, reason = f"{name} ({state})", "its memory and ports are in no plan"
            remedy = f"stop {state}, and what starts it"
        elif kind == "mount":
            value, reason = f"{name} is {state}", f"a mount of Alluxio's that nobody answers for{_MOUNTED[state][0]}"
            remedy = _MOUNTED[state][1].format(name)
        else:
            value, reason = name, "it starts Alluxio beside this deployment, now or at the next boot"
            remedy = f"systemctl disable --now {name}, and remove its file"
        yield Finding(f"{host}: another Alluxio", value, reason, remedy)

"""What preflight asks of a node, and what it refuses there, beyond what the planner itself refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from alluxio_fuse.plan import Refused, plan
from alluxio_fuse.plan.refusals import Finding
from alluxio_fuse.plan.rules.ports import PORTS

#: Distributions on which every role was run for real; the others of the support table differ in package names only.
SUPPORTED = {("debian", "11"), ("debian", "12"), ("debian", "13")}


def questions(variables: Mapping[str, Any]) -> dict[str, Any]:
    """What to look at on a node, from variables that may still be wrong: the findings come later, all at once.

    Returns `{name, state_dir, mount_points, ports, directories, object_stores: [{name, source, s3}]}`.
    """
    name = str(variables.get("alluxio_name", "alluxio-fuse"))
    datasets = [d for d in _list(variables.get("alluxio_datasets")) if isinstance(d, dict)]
    sources = {str(d.get("name")): str(d.get("source")) for d in datasets}
    names = list(sources) or [str(_mapping(variables.get("alluxio_sample")).get("name", "imagenet-sample"))]
    offset = variables.get("alluxio_port_offset")
    moved = offset if isinstance(offset, int) else 0
    stores = [d for d in datasets if str(d.get("source")).startswith("s3://")]
    return {
        "name": name,
        "state_dir": f"/var/lib/{name}",
        "mount_points": [f"/mnt/{name}/{dataset}/data" for dataset in names],
        "ports": sorted({port + moved for service in PORTS.values() for port in service.values()}),
        "directories": [source for source in sources.values() if source.startswith("file://")],
        "object_stores": [
            {"name": str(d.get("name")), "source": str(d["source"]), "s3": _mapping(d.get("s3"))} for d in stores
        ],
    }


def findings(hosts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Everything that speaks against `{host: {groups, variables, facts}}`, of plan and nodes at once."""
    planned: dict[str, Any] | None = None
    found: list[Finding] = []
    try:
        planned = plan(hosts).dump()
    except Refused as refused:
        found += refused.findings
    for host, about in hosts.items():
        found += node_findings(planned, host, about["facts"])
    return [asdict(finding) for finding in found]


def findings_text(found: Sequence[Mapping[str, Any]]) -> str:
    """The findings as they are shown: variable, value, reason, remedy."""
    listed = "\n\n".join(str(Finding(**finding)) for finding in found)
    count = "One thing stands" if len(found) == 1 else f"{len(found)} things stand"
    return f"{count} in the way; nothing was changed.\n\n{listed}"


def node_findings(plan: Mapping[str, Any] | None, host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """What stands in the way on one node. With no plan (it was refused) only what needs none is looked at."""
    yield from _platform(host, facts)
    yield from _mount_points(host, facts)
    if plan is not None:
        yield from _ports(plan, host, facts)


def _platform(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    distribution = facts["distribution"]
    running = (distribution["id"], distribution["version"])
    if running not in SUPPORTED:
        yield Finding(
            f"{host}: distribution", " ".join(running), "the roles were never run on it", "use Debian 11, 12 or 13"
        )
    if facts["architecture"] != "x86_64":
        yield Finding(
            f"{host}: architecture",
            facts["architecture"],
            "Alluxio's libjnifuse is built for x86-64 only, so FUSE cannot start",
            "use an x86-64 node",
        )
    if not facts["fuse"]["device"]:
        yield Finding(
            f"{host}: /dev/fuse",
            "absent",
            "the kernel offers no FUSE here, so nothing can be mounted",
            "load the module (modprobe fuse), or in a virtual machine or container pass the device in",
        )


def _mount_points(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
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
        else:
            what = f"{found['type']} from {found['source']}" if found["type"] else found["state"]
            yield Finding(
                f"{host}: {point}",
                what,
                "something is mounted there that this deployment did not mount",
                f"unmount it (umount {point}), or choose another alluxio_name",
            )


def _ports(plan: Mapping[str, Any], host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    ours = {item["id"] for item in facts["owned"].get("items", []) if item["kind"] == "container"}
    for service, keys in plan["nodes"][host].items():
        if "ports" not in keys or f"{plan['name']}-{_dashed(service)}" in ours:
            continue
        for use, port in keys["ports"]["amount"].items():
            for listener in facts["listeners"]:
                if listener["port"] == port and _clash(listener["address"], keys["bind_address"]["amount"]):
                    yield Finding(
                        f"{host}: port {port}",
                        f"{listener['process'] or 'a process'} on {listener['address']}",
                        f"{service} needs this port ({use}) and this deployment does not run there yet",
                        "stop that process, or move all ports with alluxio_port_offset",
                    )


def _clash(listening: str, wanted: str) -> bool:
    anywhere = {"0.0.0.0", "::", "*"}  # noqa: S104 - compared, not bound
    return listening == wanted or listening in anywhere or wanted in anywhere


def _dashed(service: str) -> str:
    return service.replace("_", "-").replace("/", "-")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

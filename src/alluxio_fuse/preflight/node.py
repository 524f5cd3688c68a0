"""What stands in the way on a node, and what the node itself lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.distributions import LISTED, RUN, release
from alluxio_fuse.plan.refusals import Finding
from alluxio_fuse.preflight.network import name_findings, ports
from alluxio_fuse.preflight.places import containers, leftovers, mount_points, readers, taken

#: Seconds. A clock that is kept is off by less than one.
CLOCK_BOUND = 30


def node_findings(
    plan: Plan | None, host: str, facts: Mapping[str, Any], cluster: Mapping[str, Any] | None = None
) -> Iterator[Finding]:
    """What stands in the way on one node. With no plan (it was refused) only what needs none is looked at.

    In a cluster other releases are no leftovers, and mounts are our own where it runs this deployment already.
    """
    yield from _platform(host, facts)
    yield from _clock(host, facts)
    yield from name_findings(host, facts)
    if not cluster:
        yield from leftovers(host, facts)
    yield from readers(host, facts)
    yield from containers(host, facts)
    yield from _key_files(host, facts)
    if not (cluster and cluster["installed"]):
        yield from mount_points(host, facts)
        yield from taken(host, facts)
    if plan is not None:
        yield from ports(plan, host, facts)
        yield from _propagation(plan, host, facts)
        yield from _service_manager(plan, host, facts)


def _platform(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    distribution = facts["distribution"]
    running = (distribution["id"], distribution["version"])
    if release(*running) not in RUN | LISTED:
        yield Finding(
            f"{host}: distribution",
            " ".join(running),
            "the roles do not know its packages",
            "use Debian 11, 12 or 13, or one that docs/support.md lists as not run",
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


def _clock(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    skew = facts["clock_skew"]
    if abs(skew) > CLOCK_BOUND:
        yield Finding(
            f"{host}: clock",
            f"at least {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the controller",
            f"more than {CLOCK_BOUND} s: nothing keeps it, logs of the fleet cannot be compared, and an object store"
            " refuses what is signed a quarter of an hour off",
            "keep time on both (systemd-timesyncd or chrony), then look at: timedatectl",
        )


def _key_files(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """What services are to find their keys by."""
    for path, why in facts.get("key_files", {}).items():
        remedy = "put it there, readable by uid 1000 like the folder it is in, or correct alluxio_aws"
        yield Finding(f"{host}: {path}", "not readable by uid 1000", why, remedy)


def _propagation(plan: Plan, host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """A pod's mount reaches the node only through a shared one; platform `containers` makes its own folders so."""
    looked_at = plan.capabilities.in_pods and plan.fleet["node_access"].amount
    if looked_at and not facts["shared_root"]:
        yield Finding(
            f"{host}: mount propagation",
            "/ is private",
            "what a FUSE pod mounts stays in the pod, and the kubelet refuses to start it (Bidirectional)",
            "mount --make-rshared / on the node, and before the kubelet at each boot; systemd does it by itself",
        )


def _service_manager(plan: Plan, host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    if facts["service_manager"] == "systemd":
        return
    for export in plan.exports:
        yield Finding(
            f"{host}: service manager",
            facts["service_manager"],
            f"{export.address} is mounted by a unit of systemd",
            "use a node that systemd started; or mount the export yourself, and write file:///<mount point>",
        )
    if not plan.capabilities.runs_cluster:
        yield Finding(
            f"{host}: service manager",
            facts["service_manager"],
            "platform host runs FUSE as a service of systemd",
            "write alluxio_platform: containers, or use a node that systemd started",
        )

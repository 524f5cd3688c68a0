"""What preflight asks of a node, and what it refuses there, beyond what the planner itself refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from alluxio_fuse import names
from alluxio_fuse.chart.values import refusals
from alluxio_fuse.claims import claims
from alluxio_fuse.containers import RENAME
from alluxio_fuse.kubernetes.findings import cluster_findings
from alluxio_fuse.plan import Plan, Refused, plan
from alluxio_fuse.plan.distributions import LISTED, RUN, release
from alluxio_fuse.plan.intent import FleetIntent
from alluxio_fuse.plan.platforms import VERBS
from alluxio_fuse.plan.refusals import Finding
from alluxio_fuse.plan.rules.ports import PORTS, web_ports
from alluxio_fuse.plan.units import parse_switch, parse_whole

#: Seconds. A clock that is kept is off by less than one.
CLOCK_BOUND = 30

_CORE = ("master", "job-master", "worker", "job-worker")
_MOUNTED = {
    "mounted": ("", "unmount it (umount {0})"),
    "stale": (", and its daemon is dead", "clear it (umount --lazy {0})"),
    "hung": (
        ", and its daemon does not answer: whoever touches it waits",
        "end the daemon, then clear it (umount --lazy {0})",
    ),
}


def questions(variables: Mapping[str, Any]) -> dict[str, Any]:
    """What to look at on a node, from variables that may still be wrong: the findings come later, all at once.

    Returns `{name, state_dir, mount_root, mount_points, claims, datasets: {name: source}, containers: names, ports,
    directories, markers: {source: {file, sha256}}, object_stores: [{name, source, s3}], platform, verbs: of its role,
    image, folders: [{path, read_only}]}`, the last being what a pod that stands in for the node sees of it, and
    `kubernetes`, used on that platform: `{kubeconfig, context, namespace, node_access, pull_secrets, keep_journal}`.
    """
    name = str(variables.get("alluxio_name", "alluxio-fuse"))
    datasets = [d for d in _list(variables.get("alluxio_datasets")) if isinstance(d, dict)]
    sources = {str(d.get("name")): str(d.get("source")) for d in datasets}
    mounted = list(sources) or [str(_mapping(variables.get("alluxio_sample")).get("name", "imagenet-sample"))]
    offset = parse_whole(variables.get("alluxio_port_offset"))
    moved = offset if isinstance(offset, int) else 0
    folders = [source for source in sources.values() if source.startswith("file://")]
    stores = [d for d in datasets if str(d.get("source")).startswith("s3://")]
    platform = str(variables.get("alluxio_platform", "containers"))
    tiers = [tier for tier in _list(variables.get("alluxio_cache_tiers")) if isinstance(tier, dict)]
    version = str(variables.get("alluxio_version", FleetIntent.model_fields["alluxio_version"].default))
    return {
        "platform": platform,
        "verbs": list(VERBS.get(platform, ())),
        "image": str(variables.get("alluxio_image") or f"localhost/alluxio-fuse:{version}"),
        "kubernetes": _cluster(variables, name),
        "folders": [
            *({"path": str(tier["path"]), "read_only": False} for tier in tiers if tier.get("path")),
            *({"path": source.removeprefix("file://").rstrip("/"), "read_only": True} for source in folders),
        ],
        "name": name,
        "under_readers": parse_switch(variables.get("alluxio_under_readers")) is True,
        "state_dir": names.state_dir(name),
        "mount_root": names.mount_root(name),
        "mount_points": [names.mount_point(name, dataset) for dataset in mounted],
        "claims": claims(
            name,
            platform,
            mounted,
            [str(tier["path"]).rstrip("/") for tier in tiers if tier.get("path")],
            node_access=platform != "kubernetes" or _cluster(variables, name)["node_access"],
            sample=not datasets,
        ),
        "datasets": {dataset: sources.get(dataset, "") for dataset in mounted},
        "containers": [f"{name}-{service}" for service in (*_CORE, *(f"fuse-{dataset}" for dataset in mounted))]
        if platform == "containers"
        else [],
        # pods have a network of their own
        "ports": []
        if platform == "kubernetes"
        else sorted(
            {port + moved for service in PORTS.values() for port in service.values()}
            | {*web_ports(mounted, moved).values()}
        ),
        "directories": folders,
        "markers": {
            str(d["source"]): {key: str(d["marker"].get(key)) for key in ("file", "sha256")}
            for d in datasets
            if str(d.get("source")).startswith("file://") and isinstance(d.get("marker"), dict)
        },
        "object_stores": [
            {"name": str(d.get("name")), "source": str(d["source"]), "s3": _mapping(d.get("s3"))} for d in stores
        ],
    }


def _cluster(variables: Mapping[str, Any], name: str) -> dict[str, Any]:
    said = _mapping(variables.get("alluxio_kubernetes"))
    return {
        "kubeconfig": str(said.get("kubeconfig") or ""),
        "context": str(said.get("context") or ""),
        "namespace": str(said.get("namespace") or name),
        "node_access": parse_switch(said.get("node_access")) is not False,
        "pull_secrets": _list(said.get("pull_secrets")),
        "keep_journal": parse_switch(said.get("keep_journal")) is not False,
    }


def findings(
    hosts: Mapping[str, Mapping[str, Any]],
    cluster: Mapping[str, Any] | None = None,
    saved: Plan | None = None,
) -> list[dict[str, Any]]:
    """Everything that speaks against `{host: {groups, variables, facts}}`, of plan, cluster and nodes at once.

    cluster: as `alluxio.fuse.cluster_facts` returns it, on platform `kubernetes`.
    saved: the plan that is kept to where `hosts` are a part of the fleet, of which none can be made.
    """
    planned = saved
    found: list[Finding] = []
    try:
        planned = planned or plan(hosts)
        found += refusals(planned)
    except Refused as refused:
        found += refused.findings
    if cluster:
        found += cluster_findings(cluster, list(hosts))
    for host, about in hosts.items():
        found += node_findings(planned, host, about["facts"], cluster)
    return [asdict(finding) for finding in found]


def silent(inventory: Sequence[str], reached: Sequence[str]) -> list[dict[str, Any]]:
    """A finding for each host of the inventory that did not answer: without it the plan would be another one."""
    return [
        asdict(
            Finding(
                host,
                "not reached, or failed above",
                "a plan without it is another plan: services of the whole fleet would start again with other sizes",
                "mend it, act on the others by --limit (the saved plan is kept), or take it out of the inventory",
            )
        )
        for host in inventory
        if host not in reached
    ]


def plaintext(files: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A finding for each `{path, keys}` of a file in which secrets stand in plain text, unless the user allows it."""
    if parse_switch(variables.get("alluxio_allow_plaintext_credentials")) is True:
        return []
    return [
        asdict(
            Finding(
                file["path"],
                f"plain text: {', '.join(file['keys'])}",
                "unencrypted secrets end up in version control and in backups: only inventories/local may have them",
                f"ansible-vault encrypt {file['path']}, and run with --ask-vault-pass or --vault-password-file;"
                " or write alluxio_allow_plaintext_credentials: true",
            )
        )
        for file in files
    ]


def findings_text(found: Sequence[Mapping[str, Any]]) -> str:
    """The findings as they are shown: variable, value, reason, remedy."""
    listed = "\n\n".join(str(Finding(**finding)) for finding in found)
    count = "One thing stands" if len(found) == 1 else f"{len(found)} things stand"
    return f"{count} in the way; nothing was changed.\n\n{listed}"


def peers(fleet: Mapping[str, Mapping[str, Any]], host: str) -> list[dict[str, str]]:
    """`{name, address}` of the nodes other than `host`, from `{host: facts}`: called and where."""
    return [
        {"name": facts["hostname"], "address": address}
        for name, facts in fleet.items()
        if name != host
        for address in _outward(facts)[:1]
    ]


def node_findings(
    plan: Plan | None, host: str, facts: Mapping[str, Any], cluster: Mapping[str, Any] | None = None
) -> Iterator[Finding]:
    """What stands in the way on one node. With no plan (it was refused) only what needs none is looked at.

    In a cluster other releases are no leftovers, and mounts are our own where it runs this deployment already.
    """
    yield from _platform(host, facts)
    yield from _clock(host, facts)
    yield from _names(host, facts)
    if not cluster:
        yield from _leftovers(host, facts)
    yield from _readers(host, facts)
    yield from _containers(host, facts)
    if not (cluster and cluster["installed"]):
        yield from _mount_points(host, facts)
        yield from _taken(host, facts)
    if plan is not None:
        yield from _ports(plan, host, facts)
        yield from _propagation(plan, host, facts)
        yield from _service_manager(plan, host, facts)


def _propagation(plan: Plan, host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """A pod's mount reaches the node only through a shared one; platform `containers` makes its own folders so."""
    looked_at = plan.platform == "kubernetes" and plan.fleet["node_access"].amount
    if looked_at and not facts["shared_root"]:
        yield Finding(
            f"{host}: mount propagation",
            "/ is private",
            "what a FUSE pod mounts stays in the pod, and the kubelet refuses to start it (Bidirectional)",
            "mount --make-rshared / on the node, and before the kubelet at each boot; systemd does it by itself",
        )


def _service_manager(plan: Plan, host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    if plan.platform == "host" and facts["service_manager"] != "systemd":
        yield Finding(
            f"{host}: service manager",
            facts["service_manager"],
            "platform host runs FUSE as a service of systemd",
            "write alluxio_platform: containers, or use a node that systemd started",
        )


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
            continue
        what = f"{found['type']} from {found['source']}" if found["type"] else found["state"]
        reason, remedy = _MOUNTED[found["state"]]
        yield Finding(
            f"{host}: {point}",
            what,
            f"something is mounted there that this deployment did not mount{reason}",
            f"{remedy.format(point)}, or choose another alluxio_name",
        )


def _taken(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    for found in facts.get("taken", ()):
        yield Finding(
            f"{host}: {found['path']}",
            f"holds {', '.join(found['holds'])}" if found["holds"] else "a file, or it does not answer",
            "it is in no ownership record, and this deployment would fill it and remove it with all that is in it",
            "move it away, or choose another alluxio_name",
        )


def _readers(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    for point, readers in facts["readers"].items():
        yield Finding(
            f"{host}: {point}",
            f"read by {', '.join(readers)}",
            "the dataset is not planned any more, or from another source: its mount goes, and what is cached of it",
            "end them first, or take it from them with -e alluxio_under_readers=true",
        )


def _containers(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    for one in facts["containers"]:
        yield Finding(
            f"{host}: container {one['name']}",
            f"{one['state']}, of {one['image']}",
            "a service needs this name, and this deployment did not make it: it is neither replaced nor removed",
            RENAME,
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


def _names(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """A name that nobody knows is no finding: services are given addresses. A wrong one, and no answer, are."""
    for peer in facts["names"]:
        name, address, forward, reverse = (peer[key] for key in ("name", "address", "forward", "reverse"))
        if forward is None or reverse is None:
            yield Finding(
                f"{host}: name of {address}",
                "no answer",
                f"the resolver did not say what {name if forward is None else address} is: readers wait for it",
                "repair the node's resolver (/etc/resolv.conf), or name the nodes in /etc/hosts",
            )
        elif forward and address not in forward:
            yield Finding(
                f"{host}: name {name}",
                ", ".join(forward),
                f"the node that calls itself so is {address}: connections by name go elsewhere",
                "correct it in DNS or /etc/hosts",
            )
        elif reverse and not any(_same_name(found, name) for found in reverse):
            yield Finding(
                f"{host}: name of {address}",
                ", ".join(reverse),
                f"the node there calls itself {name}: Alluxio takes the name of an address for the node's",
                "correct it in DNS or /etc/hosts",
            )


def _leftovers(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
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


def _same_name(found: str, name: str) -> bool:
    return found == name or found.partition(".")[0] == name.partition(".")[0]


def _outward(facts: Mapping[str, Any]) -> list[str]:
    """IPv4 addresses that another node may reach, of a bridge of the node's own last."""
    nics = sorted(facts["network"], key=lambda nic: nic["name"].startswith(("docker", "cni", "podman", "virbr", "br-")))
    plain = [address.partition("/")[0] for nic in nics if nic["name"] != "lo" for address in nic["addresses"]]
    return [address for address in plain if ":" not in address]


def _ports(plan: Plan, host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    ours = {item["id"] for item in facts["owned"].get("items", []) if item["kind"] in ("container", "unit")}
    for service, keys in plan.nodes[host].items():
        called = f"{plan.name}-{_dashed(service)}"
        if "ports" not in keys or ours & {called, f"{called}.service"}:
            continue
        for use, port in keys["ports"].amount.items():
            for listener in facts["listeners"]:
                if listener["port"] == port and _clash(listener["address"], keys["bind_address"].amount):
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

"""Views of a deployment in a Kubernetes cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alluxio_fuse import containers, names, restarts, targets
from alluxio_fuse.chart import values
from alluxio_fuse.kubernetes import consumers as readers
from alluxio_fuse.kubernetes import examples as readable
from alluxio_fuse.kubernetes import objects, pods, policy, warm_jobs, warming
from alluxio_fuse.kubernetes.objects import Object
from alluxio_fuse.kubernetes.owner import owner_finding
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.values import Amounts

#: What role `platform_kubernetes` knows of the cluster: {kubeconfig, context, namespace, pull_secrets, secrets, ...}.
Cluster = Mapping[str, Any]
Resources = Sequence[Mapping[str, Any]]
_ROLE = "platform_kubernetes"


@dataclass(frozen=True)
class Kubernetes:
    """What platform `kubernetes` makes on a host, and what it takes from the controller.

    parents: folders above the mount points, {path, uid, gid, mode}. owned: items of the ownership record. components:
    by dataset, the label of the host's FUSE pods. ca_files: on the controller. values: of the chart, for the plan and
    as the user says beside it; None where nodes are not known. examples: pods that read, for users to begin with.
    """

    parents: list[dict[str, Any]]
    owned: list[dict[str, Any]]
    components: dict[str, str]
    ca_files: list[str]
    values: Amounts | None
    examples: Object


def kubernetes(
    plan: Plan,
    host: str,
    *,
    secrets: Mapping[str, str] | None = None,
    nodes: Mapping[str, Mapping[str, Any]] | None = None,
    authorities: Sequence[str] = (),
) -> Kubernetes:
    """What platform `kubernetes` makes on a host, and of the whole plan.

    secrets: their names, by dataset. nodes: as the module `cluster_facts` returns them. authorities: texts of the
    private CAs.
    """
    digest = hashlib.sha256(_certificates(authorities).encode()).hexdigest() if authorities else ""
    addresses = objects.addresses(nodes or {}, plan.nodes)
    return Kubernetes(
        parents=targets.mount_parents(plan, host),
        owned=targets.mount_folders(plan, host, _ROLE),
        components={one.name: names.component(f"{pods.FUSE}{one.name}", plan.pool(host)) for one in plan.datasets},
        ca_files=containers.ca_files(plan),
        values=values.chart_values(plan, secrets, addresses, digest) if nodes is not None else None,
        examples={} if plan.capabilities.by_fluid else readable.examples(plan),
    )


@dataclass(frozen=True)
class Release:
    """Names and objects of ours beside the chart, none of which holds a secret.

    namespace: the object. command: runs the Alluxio CLI in the first master. password_secret: the name of the Secret
    with the password of Alluxio's ports. secrets: by dataset, the name of the Secret with its keys. trust: the
    ConfigMap with certificates of private object stores, None without any. access_pods: what Ansible connects
    to: on each node that it does not reach, in its place, and where pods mount sources, what lists them. pull_pods: on
    nodes without the image, what has it pulled. reader_files: the ConfigMap that consumer pods read with, None without
    manifests.
    """

    namespace: Object
    command: list[str]
    password_secret: str
    secrets: dict[str, str]
    trust: Object | None
    access_pods: list[Object]
    pull_pods: list[Object]
    reader_files: Object | None


def release(
    cluster: Cluster,
    deployment: str,
    *,
    datasets: Sequence[str] = (),
    authorities: Sequence[str] = (),
    image: str = "",
    hosts: Sequence[str] = (),
    folders: Mapping[str, Resources] | None = None,
    inventory: Sequence[str] = (),
    nodes: Mapping[str, Mapping[str, Any]] | None = None,
    reader: str = "",
    manifests: Mapping[str, str] | None = None,
    container: str = "master",
) -> Release:
    """Names and objects of ours beside the chart.

    datasets: those with keys that the user gave; authorities: texts of private CAs. hosts: on which pods run `image`;
    folders: what pods see of each of them; inventory: all nodes of ours, on one of which claims are listed; nodes: as
    the module `cluster_facts` returns them. reader: source of the program that consumer pods run; manifests: by
    dataset. container: of the master's pod that has the Alluxio CLI.
    """
    into = cluster["namespace"]
    shape = {"deployment": deployment, "into": into, "image": image, "pull_secrets": cluster["pull_secrets"]}
    without = objects.without_image(nodes, hosts, image) if nodes is not None else []
    claims, exports, unreached = cluster["claims"], cluster.get("exports", {}), [] if cluster["node_access"] else hosts
    seen: dict[str, Any] = {"folders": folders, "claims": claims, "stays": True}
    lists = bool(claims or exports)
    listing = [objects.sources_pod(inventory, **shape, claims=claims, exports=exports)] if lists else []
    in_place = [objects.access_pod(host, **shape, **seen) for host in unreached]
    return Release(
        namespace=objects.namespace(into, deployment),
        command=objects.alluxio_command(deployment, into, cluster["kubeconfig"], cluster["context"], container),
        password_secret=objects.password_name(deployment),
        secrets=objects.secret_names(deployment, cluster["secrets"], datasets),
        trust=objects.trust(deployment, into, _certificates(authorities)) if authorities else None,
        access_pods=[*in_place, *listing],
        pull_pods=[objects.access_pod(host, **shape) for host in without],
        reader_files=readers.reader_files(deployment, into, reader, manifests) if manifests is not None else None,
    )


def secrets(
    cluster: Cluster,
    deployment: str,
    *,
    credentials: Mapping[str, Mapping[str, str]] | None = None,
    password: str = "",
) -> list[Object]:
    """A Secret for each dataset whose keys are not in one of the user's, and one of the password, where it is given.

    Fluid runs one dataset; keys of others are for other deployments.
    """
    only = {cluster["fluid"]["dataset"]} if "fluid" in cluster else set(credentials or {})
    ours = {name: keys for name, keys in (credentials or {}).items() if name in only - set(cluster["secrets"])}
    made = objects.secrets(deployment, cluster["namespace"], ours)
    return [*made, objects.rpc_password(deployment, cluster["namespace"], password)] if password else made


def _certificates(authorities: Sequence[str]) -> str:
    return "\n".join(authorities) + "\n"


@dataclass(frozen=True)
class NodeLabels:
    """What has to change on Node objects: on that of a host (patch), and {name, labels} of all nodes that left."""

    patch: dict[str, str | None]
    left: list[Object]


def node_labels(
    cluster: Mapping[str, Any],
    deployment: str,
    *,
    host: str = "",
    wanted: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
) -> NodeLabels:
    """What has to change on Node objects for `host` to have the `wanted` labels of ours, and all but `keep` none.

    cluster: as the module `cluster_facts` returns it.
    """
    return NodeLabels(
        patch=objects.label_patch(cluster, host, deployment, wanted) if host else {},
        left=objects.left_labelled(cluster, deployment, keep),
    )


def release_owner(cluster: Mapping[str, Any]) -> str:
    """The refusal of a release that another tool owns, or nothing; cluster: as `cluster_facts` returns it."""
    found = owner_finding(cluster)
    return str(found) if found else ""


@dataclass(frozen=True)
class ReleasePods:
    """What pods of a release tell: `alluxio_fuse.kubernetes.pods.endpoints`, and those that a run takes away."""

    endpoints: dict[str, Any]
    taken: list[dict[str, str]]


def release_pods(
    resources: Resources,
    deployment: str,
    *,
    everybody: Resources = (),
    plan: Plan | None = None,
    external: bool = False,
    claim: str = "",
) -> ReleasePods:
    """What pods of a release tell; everybody: pods of all namespaces; plan: what a run makes of them.

    external: whether another tool installs the release. claim: that readers mount, as namespace/name.
    """
    return ReleasePods(
        endpoints=pods.endpoints(resources, everybody, deployment, claim),
        taken=pods.taken(resources, plan, installs=not external) if plan else [],
    )


@dataclass(frozen=True)
class WarmPods:
    """What carries warm-up tasks out: for a task the job of a host, else the jobs for users to begin with."""

    job: Object | None = None
    jobs: Object | None = None


def warm_pods(plan: Plan, host: str, daemonsets: Resources, task: str = "") -> WarmPods:
    """What carries warm-up tasks out; daemonsets: of the release, whose FUSE has the configuration of a client."""
    if task:
        return WarmPods(job=warming.runner_job(plan, host, daemonsets, task))
    return WarmPods(jobs=warm_jobs.jobs(plan, daemonsets))


@dataclass(frozen=True)
class PodRestarts:
    """Pods that are replaced now (idle: their names), and lines on those that are, or wait for their readers (text)."""

    idle: list[str]
    text: str


def pod_restarts(
    behind: Resources,
    deployment: str,
    *,
    asked: Mapping[str, Resources],
    everybody: Resources,
    forced: bool,
    foretell: bool,
) -> PodRestarts:
    """Pods that are behind their template, and who reads through them.

    asked: by node, results of `mount_users` in a loop. everybody: pods of all namespaces, for nodes that nobody could
    ask. forced: whether readers are not waited for. foretell: whether the text is of what would be done.
    """
    there = pods.endpoints([], everybody, deployment)["readers"]
    found = pods.read_through(behind, asked, there)
    return PodRestarts(
        idle=[one["pod"] for one in restarts.idle(found, forced)],
        text=restarts.told_by_node(found, forced, foretell),
    )


@dataclass(frozen=True)
class PolicyProbe:
    """What tells whether a cluster enforces NetworkPolicy.

    server: the pod of which `policy` closes a port. client: the pod that tries its ports, None before its address is
    known. verdict: what is said of the client's log.
    """

    policy: Object
    server: Object
    client: Object | None
    verdict: str


def policy_probe(
    cluster: Cluster,
    deployment: str,
    image: str,
    hosts: Sequence[str],
    *,
    address: str = "",
    tries: int = 2,
    log: str = "",
    failure: str = "",
) -> PolicyProbe:
    """What tells whether a cluster enforces NetworkPolicy, tried from the last of the hosts to the first.

    address: of the server. tries: how often the client tries, twice at least. log: what the client said; failure: why
    it said nothing.
    """
    into = cluster["namespace"]
    shape = {"deployment": deployment, "into": into, "image": image, "pull_secrets": cluster["pull_secrets"]}
    return PolicyProbe(
        policy=policy.probe_policy(deployment, into),
        server=policy.probe_server(hosts[0], **shape),
        client=policy.probe_client(hosts[-1], **shape, address=address, tries=tries) if address else None,
        verdict=policy.policy_verdict(log, failure),
    )


@dataclass(frozen=True)
class Consumers:
    """Pods that read as a training does, and what came of them: {right, text} of each, and of hosts without any."""

    pods: list[Object]
    lines: list[dict[str, Any]]


def consumers(
    plan: Plan,
    into: str,
    seen: Mapping[str, readers.Seen],
    *,
    files: Mapping[str, str] | None = None,
    results: Resources = (),
) -> Consumers:
    """Pods that read as a training does, and what came of them.

    seen: by host, what module `mount_users` said of each mount. files: data of the ConfigMap that they read with.
    results: of the pods, as the module `pods_on_nodes` returns them.
    """
    return Consumers(
        pods=readers.consumer_pods(plan, into, seen, files) if files is not None else [],
        lines=readers.consumer_lines(plan, results, seen),
    )

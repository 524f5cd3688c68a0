"""What speaks against a cluster, before anything is made in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from alluxio_fuse.kubernetes.claims import claim_findings
from alluxio_fuse.kubernetes.owner import owner_finding
from alluxio_fuse.plan.refusals import Finding

OLDEST = (1, 25)
WAYS_OUT = (
    "run it with the Python that `make setup-kubernetes` brings (.venv-kubernetes), or any from 3.12 on; "
    "Debian 12 has 3.11, Debian 13 has 3.13"
)
RIGHTS = re.compile(r'^\S+ is forbidden: User ".*" cannot \S+ resource')  # RBAC's words; admission has others


def cluster_findings(cluster: Mapping[str, Any], hosts: list[str]) -> Iterator[Finding]:
    """Findings on a cluster as the module `alluxio.fuse.cluster_facts` returns it. hosts: the inventory's."""
    if cluster["python"] < [3, 12] and "helm" in cluster["programs"]:
        running = ".".join(str(part) for part in cluster["python"])
        reason = "its newest Ansible brings a kubernetes.core that calls Helm 4 with options that it does not know"
        yield Finding("Python of the controller", running, reason, WAYS_OUT)
    for program, version in cluster["programs"].items():
        if version is None:
            remedy = "run make setup-kubernetes and activate .venv-kubernetes, or install it"
            yield Finding(f"{program} on the controller", "absent", "nothing can be installed without it", remedy)
    if cluster["error"]:
        remedy = "correct alluxio_kubernetes.kubeconfig and context, or KUBECONFIG; kubectl cluster-info tells more"
        yield Finding("alluxio_kubernetes", cluster["where"], cluster["error"], remedy)
        return
    if tuple(cluster["version"]) < OLDEST:
        running = ".".join(str(part) for part in cluster["version"])
        yield Finding("version of Kubernetes", running, "the chart needs 1.25", "upgrade the cluster")
    yield from _nodes(cluster["nodes"], hosts)
    yield from _pod_security(cluster)
    if owned := owner_finding(cluster):
        yield owned
    yield from claim_findings(cluster["claims"], cluster["namespace"]["name"])
    for message in cluster["refused"]:
        yield from _refusal(message, cluster["namespace"])


def _nodes(nodes: Mapping[str, Mapping[str, Any]], hosts: list[str]) -> Iterator[Finding]:
    for host in hosts:
        if host not in nodes:
            known = ", ".join(sorted(nodes)[:5]) + (" …" if len(nodes) > 5 else "")
            remedy = f"name hosts as the cluster does: {known}"
            yield Finding(f"{host}: host", host, "the cluster has no node of this name", remedy)
        elif not nodes[host]["ready"]:
            yield Finding(
                f"{host}: node", "NotReady", nodes[host]["why"], "bring it back, or take it out of the inventory"
            )


def _refusal(message: str, namespace: Mapping[str, Any]) -> Iterator[Finding]:
    """What the API server said against a privileged pod; where the namespace is not there yet, one in `default`.

    Of that one, neither its Pod Security nor our rights tell anything of a namespace that we make and label.
    """
    rights, pod_security = RIGHTS.search(message), "PodSecurity" in message
    if not namespace["exists"] and (rights or pod_security):
        return
    if pod_security and _level(namespace) != "privileged":  # the label is what is told
        return
    remedy = "name another namespace in alluxio_kubernetes.namespace, or have it exempted from that policy"
    if rights:
        remedy = "let this user make pods there (a RoleBinding), or name another in alluxio_kubernetes.namespace"
    elif pod_security:
        remedy = "label the namespace pod-security.kubernetes.io/enforce=privileged: it has the cluster's default"
    yield Finding("alluxio_kubernetes.namespace", namespace["name"], message, remedy)


def _level(namespace: Mapping[str, Any]) -> str:
    return str(namespace["labels"].get("pod-security.kubernetes.io/enforce", "privileged"))


def _pod_security(cluster: Mapping[str, Any]) -> Iterator[Finding]:
    """Pod Security admission, where the namespace is there already: FUSE needs privileged pods and hostPath."""
    namespace = cluster["namespace"]
    level = _level(namespace)
    if namespace["exists"] and level != "privileged":
        yield Finding(
            "alluxio_kubernetes.namespace",
            namespace["name"],
            f"its label pod-security.kubernetes.io/enforce is {level}, which forbids privileged pods and hostPath, and"
            " Kubernetes lends the mounts of a pod to the node only if that pod is privileged",
            "name a namespace without that label or with the value privileged",
        )

"""What else is in a namespace that would be removed with everything in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubernetes import config
from kubernetes.client import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.resource import Resource, ResourceList

from alluxio_fuse.kubernetes.objects import is_ours

Object = Mapping[str, Any]

#: What a cluster puts into every namespace, and what Helm and the kubelet keep for others.
BROUGHT = frozenset({"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"})
#: What tells of other objects, and goes with them.
REPORTS = frozenset({"Event", "Endpoints", "EndpointSlice", "PodMetrics", "Lease"})


def objects_in(kubeconfig: str | None, context: str | None, namespace: str) -> Iterator[Object]:
    """Every object of a namespace, of whatever kind the API server lists; a kind that may not be listed is one."""
    client = DynamicClient(config.new_client_from_config(config_file=kubeconfig, context=context))
    kinds: dict[tuple[str, str], Resource] = {}
    for resource in client.resources.search():
        if isinstance(resource, ResourceList) or not resource.namespaced or resource.kind in REPORTS:
            continue
        # some kinds are in other versions than the one that their group prefers
        if "list" in (resource.verbs or ()) and (resource.preferred or (resource.group, resource.kind) not in kinds):
            kinds[resource.group, resource.kind] = resource
    for resource in kinds.values():
        try:
            found = resource.get(namespace=namespace).to_dict()["items"]
        except ApiException as error:
            if error.status == 404:
                continue
            found = [{"metadata": {"name": f"(not shown: {error.reason})"}}]
        yield from ({**one, "kind": resource.kind} for one in found)


def of_others(found: Iterable[Object], deployment: str) -> list[str]:
    """Kind and name of each object that this deployment did not make, and that no other object owns."""
    return sorted({f"{one['kind']} {one['metadata']['name']}" for one in found if not _goes(one, deployment)})


def _goes(one: Object, deployment: str) -> bool:
    """Whether nobody misses it: it is ours, the cluster's own, or goes with its owner, which is looked at itself."""
    about = one["metadata"]
    said = about.get("labels") or {}
    if is_ours(said, deployment) or about.get("ownerReferences"):
        return True
    if one["kind"] == "ConfigMap":
        return about["name"] in BROUGHT
    if one["kind"] == "ServiceAccount":
        return bool(about["name"] == "default")
    if one["kind"] == "Secret" and one.get("type") == "helm.sh/release.v1":
        return bool(said.get("name") == deployment)
    return one["kind"] == "Secret" and one.get("type") == "kubernetes.io/service-account-token"

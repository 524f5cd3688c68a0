"""What else is in a namespace that would be removed with everything in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from alluxio_fuse.kubernetes.objects import labels

#: What a cluster puts into every namespace, and what Helm and the kubelet keep for others.
BROUGHT = frozenset({"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"})
KEPT = ("kubernetes.io/service-account-token", "helm.sh/release.v1")


def of_others(found: Iterable[Mapping[str, Any]], deployment: str) -> list[str]:
    """Kind and name of each object that this deployment did not make.

    found: what `kubernetes.core.k8s_info` returned, of each kind.
    """
    objects = [one for listing in found for one in listing["resources"]]
    return sorted(f"{one['kind']} {one['metadata']['name']}" for one in objects if not _goes(one, deployment))


def _goes(one: Mapping[str, Any], deployment: str) -> bool:
    """Whether nobody misses it: it is ours, the cluster's own, or goes with its pod, which is looked at itself."""
    ours = labels(deployment, "any")
    said = one["metadata"].get("labels") or {}
    if all(said.get(f"app.kubernetes.io/{key}") == ours[f"app.kubernetes.io/{key}"] for key in ("name", "instance")):
        return True
    if any(owner["kind"] == "Pod" for owner in one["metadata"].get("ownerReferences") or []):
        return True
    if one["kind"] == "ConfigMap":
        return one["metadata"]["name"] in BROUGHT
    return one["kind"] == "Secret" and one.get("type") in KEPT

"""Who else than this deployment's own Helm release an object belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alluxio_fuse.plan.refusals import Finding

_ARGO = "argocd.argoproj.io"
_FLUX = {"helm.toolkit.fluxcd.io": "HelmRelease", "kustomize.toolkit.fluxcd.io": "Kustomization"}
_HELM = "meta.helm.sh"


def other_tool(about: Mapping[str, Any], release: str, namespace: str) -> str | None:
    """The tool that an object of these labels and annotations belongs to; None where it is Helm, and this release.

    Argo CD, Flux and Helm mark what they apply: the first by an annotation `application:group/kind:namespace/name`, or
    by a label.
    """
    labels, notes = about["labels"], about["annotations"]
    application = notes.get(f"{_ARGO}/tracking-id", "").partition(":")[0] or labels.get(f"{_ARGO}/instance")
    if application:
        return f"Argo CD, application {application}"
    for group, kind in _FLUX.items():
        if name := labels.get(f"{group}/name"):
            return f"Flux, {kind} {labels.get(f'{group}/namespace', namespace)}/{name}"
    if (name := notes.get(f"{_HELM}/release-name")) is None:
        return "no Helm release: something else applied it"
    where = notes.get(f"{_HELM}/release-namespace", namespace)
    return None if (name, where) == (release, namespace) else f"Helm, release {name} in namespace {where}"


def owner_finding(cluster: Mapping[str, Any]) -> Finding | None:
    """The refusal of a release that another tool owns; cluster: as the module `cluster_facts` returns it."""
    applied, namespace = cluster["applied"], cluster["namespace"]["name"]
    if not applied or cluster["external"]:
        return None
    tool = other_tool(applied, cluster["release"], namespace)
    if tool is None:
        return None
    return Finding(
        "alluxio_kubernetes.release",
        "own",
        f"StatefulSet {applied['name']} in namespace {namespace} belongs to {tool}: two tools would undo each other",
        "alluxio_kubernetes.release: external, which leaves installing to that tool; or another alluxio_name; or remove"
        " it there",
    )

"""Who else than this deployment a release belongs to, by the marks that tools leave on what they apply."""

from __future__ import annotations

from typing import Any

import pytest

from alluxio_fuse.kubernetes.owner import other_tool, owner_finding

ARGO, FLUX, HELM = "argocd.argoproj.io", "toolkit.fluxcd.io", "meta.helm.sh"


def about(*marks: str, **labels: str) -> dict[str, Any]:
    """Annotations as `key value`, and labels."""
    return {"name": "cache-master", "labels": labels, "annotations": dict(one.split(" ") for one in marks)}


def of_helm(name: str, namespace: str) -> tuple[str, str]:
    return f"{HELM}/release-name {name}", f"{HELM}/release-namespace {namespace}"


@pytest.mark.parametrize(
    ("found", "tool"),
    [
        (about(*of_helm("cache", "data")), None),
        (about(*of_helm("other", "data")), "Helm, release other in namespace data"),
        (about(*of_helm("cache", "team")), "Helm, release cache in namespace team"),
        (about(f"{ARGO}/tracking-id app:apps/StatefulSet:data/x"), "Argo CD, application app"),
        (about(**{f"{ARGO}/instance": "app"}), "Argo CD, application app"),
        # Flux installs by Helm, so its objects have both marks
        (
            about(*of_helm("cache", "data"), **{f"helm.{FLUX}/name": "cache", f"helm.{FLUX}/namespace": "flux"}),
            "Flux, HelmRelease flux/cache",
        ),
        (about(**{f"kustomize.{FLUX}/name": "apps"}), "Flux, Kustomization data/apps"),
        (about(), "no Helm release: something else applied it"),
    ],
)
def test_tools_are_known_by_their_marks(found: dict[str, Any], tool: str | None) -> None:
    assert other_tool(found, "cache", "data") == tool


@pytest.mark.parametrize(
    ("external", "applied", "refused"), [(False, True, True), (True, True, False), (False, False, False)]
)
def test_only_what_is_there_and_not_meant_is_refused(external: bool, applied: bool, refused: bool) -> None:
    found = about() if applied else None
    cluster = {"applied": found, "external": external, "release": "cache", "namespace": {"name": "data"}}
    finding = owner_finding(cluster)
    assert (finding is not None) == refused
    if finding:
        assert "cache-master in namespace data" in str(finding)
        assert "release: external" in str(finding)

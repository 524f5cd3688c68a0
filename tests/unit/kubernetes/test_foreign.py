"""What stands against removing a namespace."""

from typing import Any

import pytest

from alluxio_fuse.kubernetes import foreign, objects


def one(kind: str, name: str, labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, **({"labels": labels} if labels else {})}, **more}


OURS = {"app.kubernetes.io/name": "alluxio-fuse", "app.kubernetes.io/instance": "d"}


@pytest.mark.parametrize(
    "found",
    [
        one("Pod", "d-worker-1", {**OURS, "app.kubernetes.io/managed-by": "Helm"}),
        one("Secret", "d-a", objects.labels("d", "credentials")),
        one("PersistentVolumeClaim", "journal-d-master-0", OURS),
        one("ConfigMap", "kube-root-ca.crt"),
        one("Secret", "default-token-x", type="kubernetes.io/service-account-token"),
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "d-worker-1-tier", "ownerReferences": [{"kind": "Pod", "name": "d-worker-1"}]},
        },
        one("Secret", "sh.helm.release.v1.d.v1", {"owner": "helm", "name": "d"}, type="helm.sh/release.v1"),
        one("ServiceAccount", "default"),
    ],
)
def test_what_goes_with_the_namespace(found: dict[str, Any]) -> None:
    assert foreign.of_others([found], "d") == []


@pytest.mark.parametrize(
    "found",
    [
        one("Pod", "notebook"),
        one("PersistentVolumeClaim", "results", {"app.kubernetes.io/name": "alluxio-fuse"}),
        one("Deployment", "web", {"app.kubernetes.io/instance": "d"}),
        one("Job", "train", {**OURS, "app.kubernetes.io/instance": "other"}),
        one("ConfigMap", "settings"),
        one("Secret", "kube-root-ca.crt", type="Opaque"),
        one("PyTorchJob", "train"),
        one("ServiceAccount", "trainer"),
        one("Secret", "sh.helm.release.v1.e.v1", {"owner": "helm", "name": "e"}, type="helm.sh/release.v1"),
        one("Secret", "pull", type="kubernetes.io/dockerconfigjson"),
    ],
)
def test_what_is_not_ours_is_named(found: dict[str, Any]) -> None:
    kind, name = found["kind"], found["metadata"]["name"]
    assert foreign.of_others([found], "d") == [f"{kind} {name}"]

"""Objects of ours beside the chart: Secrets, certificates, and the pods through which nodes are looked at."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from alluxio_fuse import names
from alluxio_fuse.plan.process import SERVICE_UID

Object = dict[str, Any]
MANAGER = "alluxio-fuse"
IDENTITY = ("name", "instance")
_KEYS = ("access_key", "secret_key", "security_token")


def labels(name: str, component: str) -> dict[str, str]:
    """Labels by which teardown finds what is ours."""
    return {
        "app.kubernetes.io/name": "alluxio-fuse",
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": MANAGER,
    }


def selector(name: str) -> str:
    """What selects the objects of this deployment, the chart's and ours."""
    return ",".join(f"app.kubernetes.io/{key}={labels(name, 'any')[f'app.kubernetes.io/{key}']}" for key in IDENTITY)


def selector_of(said: Mapping[str, str]) -> str:
    """What selects the objects with all of these labels."""
    return ",".join(f"{key}={value}" for key, value in said.items())


def is_ours(said: Mapping[str, str] | None, deployment: str) -> bool:
    """Whether labels are those of this deployment, of whatever component: the chart's and ours begin alike."""
    ours = labels(deployment, "any")
    return all((said or {}).get(f"app.kubernetes.io/{key}") == ours[f"app.kubernetes.io/{key}"] for key in IDENTITY)


def on_hosts(hosts: Iterable[str]) -> Object:
    """A nodeAffinity that lets a pod run on one of the hosts alone."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [host]}]} for host in hosts]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def pulled_with(secrets: Iterable[str]) -> Object:
    """What lets a pod, or a runtime of Fluid's, take its image with these Secrets; nothing without any."""
    references = [{"name": secret} for secret in secrets]
    return {"imagePullSecrets": references} if references else {}


def pod_on(
    host: str, about: Object, container: Object, pull_secrets: Iterable[str], *, stays: bool = False, **more: Any
) -> Object:
    """A pod with one container on a node, whatever its taints. `more` is of its spec; it ends unless it `stays`."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": about,
        "spec": {
            "nodeName": host,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "restartPolicy": "Always" if stays else "Never",
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            **pulled_with(pull_secrets),
            "containers": [container],
            **more,
        },
    }


def namespace(name: str, deployment: str) -> Object:
    """The namespace, whose pods may be privileged: FUSE must be."""
    security = {"pod-security.kubernetes.io/enforce": "privileged"}
    made = {**labels(deployment, "namespace"), **security}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": made}}


def secrets(deployment: str, into: str, credentials: Mapping[str, Mapping[str, str]]) -> list[Object]:
    """A Secret for each dataset that has keys."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata(f"{deployment}-{dataset}", into, deployment, "credentials"),
            "data": {key: base64.b64encode(keys[key].encode()).decode() for key in _KEYS if key in keys},
        }
        for dataset, keys in credentials.items()
    ]


def secret_names(deployment: str, said: Mapping[str, str], credentials: Sequence[str]) -> dict[str, str]:
    """Name of each dataset's Secret: the user's, or ours."""
    return {dataset: f"{deployment}-{dataset}" for dataset in credentials} | dict(said)


def password_name(deployment: str) -> str:
    """Name of the Secret with the password that Alluxio's ports want."""
    return f"{deployment}-rpc-password"


def rpc_password(deployment: str, into: str, password: str) -> Object:
    """That Secret, for the chart's `rpcPassword.secret`."""
    about = metadata(password_name(deployment), into, deployment, "password")
    data = {"password": base64.b64encode(password.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": about, "data": data}


def keys_name(deployment: str) -> str:
    """Name of the ConfigMap with what is known of the keys in use."""
    return f"{deployment}-handed-keys"


def handed_keys(deployment: str, into: str, digests: Mapping[str, str]) -> Object:
    """Digests of the keys that master and FUSE were told of, by Secret."""
    about = metadata(keys_name(deployment), into, deployment, "keys")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": dict(digests)}


def trust(deployment: str, into: str, certificates: str) -> Object:
    """The certificates of private object stores, for the chart's `trust.configMap`."""
    about = metadata(f"{deployment}-trust", into, deployment, "trust")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": {"ca.crt": certificates}}


def access_pod(
    host: str,
    *,
    deployment: str,
    into: str,
    image: str,
    pull_secrets: Sequence[str] = (),
    folders: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    claims: Mapping[str, str] | None = None,
    stays: bool = False,
    hosts_mounts: bool = True,
    reads: str = "",
) -> Object:
    """An unprivileged pod on one node. It proves that the node can have the image; one that `stays` is what Ansible
    connects to in place of the node: it sees its host's `folders` ({host: [{path, read_only}]}), `claims` ({path:
    claim, or folder of it as claim/folder}) read-only, and, with `hosts_mounts`, those below `/mnt/<deployment>`. It is
    Ready while `reads`, a mount of a claim, answers: one whose FUSE process ended is made anew by the next run.
    """
    probe = {"exec": {"command": ["stat", "--file-system", reads]}, "periodSeconds": 2, "timeoutSeconds": 5}
    mounts: list[Object] = []
    volumes: list[Object] = []
    if hosts_mounts:
        root = names.mount_root(deployment)
        mounts.append({"name": "mounts", "mountPath": root, "mountPropagation": "HostToContainer"})
        volumes.append({"name": "mounts", "hostPath": {"path": root, "type": "DirectoryOrCreate"}})
    _see(claims or {}, deployment, mounts, volumes)
    for number, folder in enumerate((folders or {}).get(host, ())):
        volumes.append({"name": f"folder-{number}", "hostPath": {"path": folder["path"], "type": "Directory"}})
        mounts.append(
            {"name": f"folder-{number}", "mountPath": folder["path"], "mountPropagation": "HostToContainer"}
            | ({"readOnly": True} if folder["read_only"] else {})
        )
    about = metadata(f"{deployment}-access-{host}", into, deployment, "access")
    container = {
        "name": "access",
        "image": image,
        "command": ["sleep", "infinity"] if stays else ["true"],
        "securityContext": {"allowPrivilegeEscalation": False, "runAsUser": 0, "runAsGroup": 0},
        **({"volumeMounts": mounts} if stays else {}),
        **({"readinessProbe": probe} if reads else {}),
    }
    return pod_on(host, about, container, pull_secrets, stays=stays, **({"volumes": volumes} if stays else {}))


def sources_pod(
    hosts: Sequence[str],
    *,
    deployment: str,
    into: str,
    image: str,
    claims: Mapping[str, str],
    exports: Mapping[str, Mapping[str, str]] | None = None,
    pull_secrets: Sequence[str] = (),
) -> Object:
    """The pod that lists `claims` ({path: claim, or folder of it as claim/folder}) and `exports` of NFS ({path:
    {server, path}}), as the user that services are.

    It runs on one of `hosts`, where the scheduler finds that the claims can be mounted.
    """
    mounts: list[Object] = []
    volumes: list[Object] = []
    _see(claims, deployment, mounts, volumes)
    for number, (path, export) in enumerate((exports or {}).items()):
        volumes.append({"name": f"export-{number}", "nfs": {**export, "readOnly": True}})
        mounts.append({"name": f"export-{number}", "mountPath": path, "readOnly": True})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(names.sources_pod(deployment), into, deployment, "sources"),
        "spec": {
            "affinity": {"nodeAffinity": on_hosts(hosts)},
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            **pulled_with(pull_secrets),
            "securityContext": {
                "runAsUser": SERVICE_UID,
                "runAsGroup": SERVICE_UID,
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "sources",
                    "image": image,
                    "command": ["sleep", "infinity"],
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                    "volumeMounts": mounts,
                }
            ],
            "volumes": volumes,
        },
    }


def _see(claims: Mapping[str, str], deployment: str, mounts: list[Object], volumes: list[Object]) -> None:
    """Have a pod keep a state folder of its own, and see claims."""
    mounts.append({"name": "state", "mountPath": names.state_dir(deployment)})
    volumes.append({"name": "state", "emptyDir": {}})
    for number, (path, claim) in enumerate(claims.items()):
        name, _, below = claim.partition("/")
        volumes.append({"name": f"claim-{number}", "persistentVolumeClaim": {"claimName": name, "readOnly": True}})
        mounts.append(
            {"name": f"claim-{number}", "mountPath": path, "mountPropagation": "HostToContainer", "readOnly": True}
            | ({"subPath": below} if below else {})
        )


def label_patch(
    cluster: Mapping[str, Any], host: str, deployment: str, wanted: Mapping[str, str] | None = None
) -> dict[str, str | None]:
    """What has to change on a Node object for it to have these labels of ours and no other: nothing, on most runs.

    cluster: as the module `alluxio.fuse.cluster_facts` returns it.
    """
    have = _nodes(cluster).get(host, {}).get("labels", {})
    without = dict.fromkeys(sorted(label for label in have if names.is_label_of(deployment, label)))
    return {label: value for label, value in {**without, **(wanted or {})}.items() if have.get(label) != value}


def left_labelled(cluster: Mapping[str, Any], deployment: str, hosts: Sequence[str] = ()) -> list[Object]:
    """{name, labels} for each node that has labels of ours and is none of these hosts: a patch that takes them off."""
    others = sorted(_nodes(cluster).keys() - set(hosts))
    patches = {name: label_patch(cluster, name, deployment) for name in others}
    return [{"name": name, "labels": patch} for name, patch in patches.items() if patch]


def _nodes(cluster: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    if cluster["error"]:
        raise ValueError(f"{cluster['where']}: {cluster['error']}")
    nodes: Mapping[str, Mapping[str, Any]] = cluster["nodes"]
    return nodes


def alluxio_command(deployment: str, into: str, kubeconfig: str, context: str, container: str = "master") -> list[str]:
    """Command on the controller that runs the Alluxio CLI in the first master."""
    said = {"--kubeconfig": kubeconfig, "--context": context, "--namespace": into}
    flags = [part for flag, value in said.items() if value for part in (flag, value)]
    pod = ["exec", f"{deployment}-master-0", "--container", container, "--", "/opt/alluxio/bin/alluxio"]
    return ["kubectl", *flags, *pod]


def without_image(nodes: Mapping[str, Mapping[str, Any]], hosts: Sequence[str], image: str) -> list[str]:
    """Hosts of which the kubelet does not say that the image is there."""
    return [host for host in hosts if image not in nodes[host]["images"]]


def addresses(nodes: Mapping[str, Mapping[str, Any]], hosts: Iterable[str]) -> list[str]:
    """Addresses of hosts in the cluster."""
    return sorted(address for host in hosts if (address := nodes.get(host, {}).get("address")))


def metadata(name: str, into: str, deployment: str, component: str) -> Object:
    """metadata of an object of ours."""
    return {"name": name, "namespace": into, "labels": labels(deployment, component)}

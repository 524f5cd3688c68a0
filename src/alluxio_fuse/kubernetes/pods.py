"""What running pods tell: addresses of counters, which cache is whose, and why an install does not come up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from alluxio_fuse import names
from alluxio_fuse.kubernetes.objects import is_ours
from alluxio_fuse.plan import Plan

#: Ports of counters, as the chart's `alluxio.ports` names them.
WEB = {"fuse": 49999, "worker": 30000, "master": 19999}
COMPONENT = "app.kubernetes.io/component"
REVISION = "controller-revision-hash"  # of the template that a DaemonSet has made a pod from
FUSE = "fuse-"  # and the dataset: the component, with that of a pool after a dot
STAGE = "stage"  # the component of keepers
PASSWORD = "rpc-password"  # noqa: S105 - the chart's name of the volume
PARENT = "parent"  # the chart's name of the volume below which FUSE mounts
_CLAIM = "persistentVolumeClaim"
_WAITING = ("ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError", "InvalidImageName")


def endpoints(
    pods: Sequence[Mapping[str, Any]],
    everybody: Sequence[Mapping[str, Any]] = (),
    deployment: str = "",
    claim: str = "",
) -> dict[str, Any]:
    """Where counters are read, and by whom else: {fuse: {node: {dataset: address}}, worker: [address], master: …,
    identity: …, users: …, readers: …}.

    identity: {node: {dataset: text}}, another one when the pod that holds a client cache is, or the master's.
    users: {node: [namespace/pod]} that may read, of `everybody`; readers: those that have a folder of ours, or
    `claim`, as namespace/name.
    pods: Pod objects of the release. everybody: those of all namespaces, where processes of nodes cannot be seen.
    """
    running = [pod for pod in pods if _runs(pod)]
    masters = [pod for pod in running if _component(pod) == "master"]
    found: dict[str, Any] = {"fuse": {}, "identity": {}, **_others(everybody, deployment, claim)}
    for kind in ("worker", "master"):
        found[kind] = sorted(_address(pod, kind) for pod in running if _kind(pod) == kind)
    cluster = "+".join(sorted(str(pod["metadata"]["uid"]) for pod in masters))
    for pod in running:
        if not (dataset := _dataset(pod)):
            continue
        node = pod["spec"]["nodeName"]
        found["fuse"].setdefault(node, {})[dataset] = _address(pod, "fuse")
        found["identity"].setdefault(node, {})[dataset] = f"{cluster}/{pod['metadata']['uid']}"
    return found


def _others(pods: Iterable[Mapping[str, Any]], deployment: str, claim: str) -> dict[str, dict[str, list[str]]]:
    """Pods of others with a GPU, or with a folder or claim of our mounts, and the latter alone."""
    root = PurePosixPath(names.mount_root(deployment))
    users: dict[str, list[str]] = {}
    readers: dict[str, list[str]] = {}
    for pod in pods:
        about, spec = pod["metadata"], pod["spec"]
        if not _runs(pod) or is_ours(about.get("labels"), deployment):
            continue
        volumes = spec.get("volumes") or []
        folders = [one["hostPath"]["path"] for one in volumes if "hostPath" in one]
        claims = [one[_CLAIM]["claimName"] for one in volumes if _CLAIM in one]
        # Of the release's CSI driver, `<deployment>.<namespace>`, and of its claims, `<dataset>.<driver>`.
        driven = [f".{one['csi']['driver']}" for one in volumes if "csi" in one] + claims
        mounted = (
            any(PurePosixPath(folder).is_relative_to(root) for folder in folders)
            or any(f"{about['namespace']}/{name}" == claim for name in claims)
            or any(f".{deployment}." in name for name in driven)
        )
        node, name = spec["nodeName"], f"pod {about['namespace']}/{about['name']}"
        if mounted:
            readers.setdefault(node, []).append(name)
        if mounted or any(map(_has_gpu, spec["containers"])):
            users.setdefault(node, []).append(name)
    return {"users": users, "readers": readers}


def _has_gpu(container: Mapping[str, Any]) -> bool:
    limits = (container.get("resources") or {}).get("limits") or {}
    return any(name.startswith(("nvidia.com/gpu", "nvidia.com/mig-")) for name in limits)


@dataclass(frozen=True)
class Wanted:
    """Pods of a component that are wanted and that are of what was deployed; whether its controller is done with it."""

    count: int
    updated: int
    done: bool


def progress(component: str, have: int, one: Wanted) -> str:
    """How far a component is."""
    return f"{component} {have} of {one.count}{'' if one.done else f' ({one.updated} new)'}"


def planned(plan: Plan) -> dict[str, int]:
    """By component of a DaemonSet, on how many nodes of the plan it is to run."""
    return dict(Counter(component for its in components(plan).values() for component in its))


def components(plan: Plan) -> dict[str, list[str]]:
    """By node of the plan, the components of DaemonSets that run there."""
    return {
        host: [
            names.component(service.replace("/", "-"), plan.pool(host))
            for service in services
            if service == "worker" or service.startswith("fuse/")
        ]
        + ([names.component(STAGE, plan.pool(host))] if "keeper" in services["node"] else [])
        for host, services in plan.nodes.items()
    }


def wanted(controllers: Iterable[Mapping[str, Any]], least: Mapping[str, int] | None = None) -> dict[str, Wanted]:
    """By component.

    least: how many pods a DaemonSet is to have. It says itself how many it wants, but not at once where a node has just
    been given the label that it selects, and no generation tells that it has not looked yet.

    A DaemonSet that updates OnDelete is done at once: its pods of before are left to their readers.
    """
    found: dict[str, Wanted] = {}
    for one in controllers:
        spec, status = one["spec"], one.get("status", {})
        daemons = "desiredNumberScheduled" in status
        component = spec["template"]["metadata"]["labels"][COMPONENT]
        count = int(status["desiredNumberScheduled"] if daemons else spec.get("replicas", 1))
        count = max(count, (least or {}).get(component, 0)) if daemons else count
        updated = int(status.get("updatedNumberScheduled" if daemons else "updatedReplicas", 0))
        left = daemons and spec.get("updateStrategy", {}).get("type") == "OnDelete"
        seen = status.get("observedGeneration") == one["metadata"]["generation"]
        found[component] = Wanted(count, updated, bool(seen and (left or updated >= count)))
    return found


def of_components(pods: Iterable[Mapping[str, Any]], components: Iterable[str]) -> list[Any]:
    """Pods of these components."""
    names = set(components)
    return [pod for pod in pods if _component(pod) in names]


def ready(pods: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """{component: ready pods}, those that are going away left out."""
    counted: dict[str, int] = {}
    for pod in pods:
        stays = not pod["metadata"].get("deletionTimestamp")
        counted[_component(pod)] = counted.get(_component(pod), 0) + (stays and is_ready(pod))
    return counted


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether the kubelet calls it ready."""
    conditions = pod["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def hopeless(pods: Iterable[Mapping[str, Any]]) -> list[str]:
    """What waiting does not mend, of pods that stay: images that cannot be had, containers that end again and again."""
    said = []
    for pod in (one for one in pods if not one["metadata"].get("deletionTimestamp")):
        for status in _statuses(pod):
            waiting = (status.get("state") or {}).get("waiting") or {}
            reason, restarts = waiting.get("reason", ""), status.get("restartCount", 0)
            if reason in _WAITING and (reason != "CrashLoopBackOff" or restarts >= 3):
                said.append(f"{pod['metadata']['name']}: {status['name']}: {reason}: {waiting.get('message', '')}")
    return said


def outdated(pods: Iterable[Mapping[str, Any]], controllers: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Pods of a former template that never came up: nobody uses them, and their controller may leave them for ever."""
    templates = {
        one["spec"]["template"]["metadata"]["labels"][COMPONENT]: one["spec"]["template"] for one in controllers
    }
    return [
        pod
        for pod in pods
        if hopeless([pod])
        and not pod["metadata"].get("deletionTimestamp")
        and made_from(pod) != made_from(templates[_component(pod)])
    ]


def of_before(
    pods: Iterable[Mapping[str, Any]],
    controllers: Iterable[Mapping[str, Any]],
    revisions: Iterable[Mapping[str, Any]],
) -> list[Any]:
    """Pods that are left as they were when their DaemonSet changed, as it updates OnDelete.

    revisions: ControllerRevision objects, of which the newest of a DaemonSet is what it makes pods from.
    """
    newest: dict[str, Mapping[str, Any]] = {}
    for one in sorted(revisions, key=lambda revision: int(revision["revision"])):
        newest |= {owner["uid"]: one for owner in one["metadata"].get("ownerReferences") or []}
    current = {
        one["spec"]["template"]["metadata"]["labels"][COMPONENT]: newest[one["metadata"]["uid"]]["metadata"]["labels"]
        for one in controllers
        if one["spec"].get("updateStrategy", {}).get("type") == "OnDelete" and one["metadata"]["uid"] in newest
    }
    return [
        pod
        for pod in pods
        if (labels := current.get(_component(pod)))
        and not pod["metadata"].get("deletionTimestamp")
        and pod["metadata"]["labels"].get(REVISION) != labels[REVISION]
    ]


def rolling(installed: Iterable[Mapping[str, Any]], rendered: Iterable[Mapping[str, Any]]) -> set[str]:
    """Components whose pods another manifest would have made anew, of the manifest that is installed."""
    before, after = _templates(installed), _templates(rendered)
    return {component for component, template in before.items() if after.get(component, template) != template}


def taken(pods: Iterable[Mapping[str, Any]], plan: Plan, *, installs: bool = True) -> list[dict[str, str]]:
    """FUSE pods of a release that a run takes from their readers, as `told_of` gives them.

    Their node is labelled for another pool; or, where the run installs the release, they are of a dataset that is not
    planned any more, or of a version without the password that masters will want.
    """
    wanted, datasets = components(plan), {one.name for one in plan.datasets}
    fuse = [pod for pod in pods if _dataset(pod) and not pod["metadata"].get("deletionTimestamp")]
    return [
        told_of(pod, plan.name)
        for pod in fuse
        if _moved(pod, wanted, datasets) or (installs and (_dataset(pod) not in datasets or not _has_password(pod)))
    ]


def _moved(pod: Mapping[str, Any], wanted: Mapping[str, Sequence[str]], datasets: Collection[str]) -> bool:
    """Whether its node is to have the dataset by a pod of another pool; unknown nodes keep what they have."""
    here = wanted.get(str(pod["spec"].get("nodeName", "")))
    return here is not None and _dataset(pod) in datasets and _component(pod) not in here


def _has_password(pod: Mapping[str, Any]) -> bool:
    return any(one["name"] == PASSWORD for one in pod["spec"].get("volumes") or [])


def read_through(
    pods: Iterable[Mapping[str, Any]],
    seen: Mapping[str, Sequence[Mapping[str, Any]]],
    there: Mapping[str, Sequence[str]],
) -> list[dict[str, Any]]:
    """Pods as `told_of` gives them, each with its `readers`.

    seen: by node, who reads, from asking there for those of each mount (`mount_users` in a loop); there: by node that
    nobody could ask, pods that have a folder of ours.
    """
    asked = {
        (node, one["item"]["name"]): one["readers"]
        for node, results in seen.items()
        for one in results
        if "readers" in one  # not skipped, as each is where nodes are without access
    }
    return [
        {**pod, "readers": list(asked.get((pod["node"], pod["name"]), there.get(pod["node"], ())))}
        if pod["mount_point"]
        else {**pod, "readers": []}
        for pod in pods
    ]


def told_of(pod: Mapping[str, Any], deployment: str) -> dict[str, str]:
    """{name: its component, pod, node, mount_point: of FUSE, else empty}."""
    dataset = _dataset(pod)
    return {
        "name": _component(pod),
        "pod": str(pod["metadata"]["name"]),
        "node": str(pod["spec"].get("nodeName", "")),
        "mount_point": _mount_point(pod, deployment, dataset) if dataset else "",
    }


def _mount_point(pod: Mapping[str, Any], deployment: str, dataset: str) -> str:
    """Where the pod itself mounts, whatever is planned now: out of its readers' way if its dataset was to be staged."""
    folders = [one["hostPath"]["path"] for one in pod["spec"].get("volumes") or [] if one["name"] == PARENT]
    return f"{folders[0]}/data" if folders else names.mount_point(deployment, dataset)


def _templates(manifest: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Of every controller, by component."""
    found = [(one.get("spec") or {}).get("template") for one in manifest if one]
    return {one["metadata"]["labels"][COMPONENT]: one for one in found if one}


def made_from(pod: Mapping[str, Any]) -> dict[str, Any]:
    """What tells pods of two templates apart: checksums of their configuration, and what their containers run."""
    notes = pod["metadata"].get("annotations") or {}
    containers = (pod["spec"].get("initContainers") or []) + pod["spec"].get("containers", [])
    return {
        "checksums": {key: text for key, text in notes.items() if key.startswith("checksum/")},
        "containers": [{key: one.get(key) for key in ("name", "image", "command", "args")} for one in containers],
    }


def failing(pods: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, bool]]:
    """(pod, container, whether its previous run is meant) whose last log lines tell why pods are not ready."""
    found = []
    for pod in pods:
        if is_ready(pod) or pod["status"].get("phase") == "Succeeded":
            continue
        for status in _statuses(pod):
            state = status.get("state") or {}
            if "running" in state and not status.get("ready"):
                found.append((pod["metadata"]["name"], status["name"], False))
            elif status.get("restartCount") or (state.get("terminated") or {}).get("exitCode"):
                found.append((pod["metadata"]["name"], status["name"], "terminated" not in state))
    return found


def why(hopeless_: Sequence[str], events: Sequence[Mapping[str, Any]], logs: Mapping[str, str]) -> str:
    """The reason of a failed install: what the kubelet said, warnings, and the last words of failing containers."""
    parts = [*hopeless_]
    warnings = [one for one in events if one.get("type") == "Warning"][-10:]
    parts += [f"{one['object']}: {one['reason']}: {one['message']}" for one in warnings]
    parts += [f"last lines of {name}:\n{text.strip()}" for name, text in logs.items() if text.strip()]
    return "\n".join(dict.fromkeys(parts)) or "nothing was said; kubectl describe pods tells more"


def _statuses(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    status = pod["status"]
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def _component(pod: Mapping[str, Any]) -> str:
    return str((pod["metadata"].get("labels") or {}).get(COMPONENT, ""))


def _kind(pod: Mapping[str, Any]) -> str:
    """Its component, whatever the pool."""
    return _component(pod).partition(".")[0]


def _dataset(pod: Mapping[str, Any]) -> str:
    """The dataset of a FUSE pod; empty of others."""
    return _kind(pod).removeprefix(FUSE) if _kind(pod).startswith(FUSE) else ""


def _runs(pod: Mapping[str, Any]) -> bool:
    """Whether it can be asked: one that was evicted, has failed or is about to go keeps its address."""
    status = pod["status"]
    return (
        bool(status.get("podIP")) and status.get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")
    )


def _address(pod: Mapping[str, Any], kind: str) -> str:
    return f"{pod['status']['podIP']}:{WEB[kind]}"

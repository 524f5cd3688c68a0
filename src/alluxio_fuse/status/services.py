"""Services as the platform runs them, against what was planned: one shape for containers, units and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from alluxio_fuse.containers import RENAME, is_of, of_others
from alluxio_fuse.kubernetes.pods import COMPONENT, is_ready, made_from

#: name: what the platform calls it; node: where it runs, "" where nowhere; state: "as planned", "behind" (it runs, but
#: as it was planned before) or "down"; why: the reason of the latter two.
Service = dict[str, str]
AS_PLANNED, BEHIND, DOWN = "as planned", "behind", "down"
_REPLACED = "it runs what was planned before: playbooks/services.yml replaces it"


def of_containers(planned: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]], node: str) -> list[Service]:
    """Containers of a node; planned: those of `alluxio_fuse.containers`, found: what `podman inspect` says."""
    there = {str(one["Name"]).removeprefix("/"): one for one in found}
    return [_container(one, there.get(one["name"]), node) for one in planned]


def of_units(shown: Sequence[str], planned: Sequence[Mapping[str, Any]], node: str) -> list[Service]:
    """Systemd units of a node, each as `systemctl show` prints Id, Description, ActiveState, Result, NeedDaemonReload.

    planned: those of `alluxio_fuse.host`, in the same order.
    """
    found = [dict(line.partition("=")[::2] for line in text.splitlines()) for text in shown]
    return [_unit(one, unit, node) for one, unit in zip(found, planned, strict=True)]


def of_pods(
    controllers: Iterable[Mapping[str, Any]],
    pods: Sequence[Mapping[str, Any]],
    before: Sequence[Mapping[str, Any]] = (),
) -> list[Service]:
    """Pods of a release against the controllers that make them; a pod that is missing has no node.

    before: those that their controller has left as they were, from `alluxio_fuse.kubernetes.pods.of_before`.
    """
    left = {pod["metadata"]["name"] for pod in before}
    found = []
    for controller in controllers:
        template = controller["spec"]["template"]
        component = template["metadata"]["labels"][COMPONENT]
        mine = [pod for pod in pods if pod["metadata"].get("labels", {}).get(COMPONENT) == component]
        found += [_pod(component, pod, template, pod["metadata"]["name"] in left) for pod in mine]
        status = controller.get("status", {})
        wanted = int(status.get("desiredNumberScheduled", controller["spec"].get("replicas", 1)))
        missing = wanted - len(mine)
        if missing > 0:
            found.append(_service(component, "", DOWN, f"{missing} of {wanted} pods are missing"))
    return found


def _container(planned: Mapping[str, Any], found: Mapping[str, Any] | None, node: str) -> Service:
    name = str(planned["name"])
    if found is None:
        return _service(name, node, DOWN, "there is no such container")
    if of_others([found]):
        return _service(name, node, DOWN, f"this deployment did not make the container of that name: {RENAME}")
    state = found["State"]
    if state["Status"] != "running":
        return _service(name, node, DOWN, f"the container is {state['Status']} (exit code {state.get('ExitCode')})")
    if not is_of(found, planned):
        return _service(name, node, BEHIND, _REPLACED)
    return _service(name, node, AS_PLANNED, "")


def _unit(found: Mapping[str, str], planned: Mapping[str, Any], node: str) -> Service:
    if found["ActiveState"] != "active":
        return _service(found["Id"], node, DOWN, f"the unit is {found['ActiveState']} ({found['Result']})")
    if found["NeedDaemonReload"] == "yes":
        return _service(found["Id"], node, BEHIND, "its unit file was changed since it was started")
    if planned["digest"] not in found["Description"]:
        return _service(found["Id"], node, BEHIND, _REPLACED)
    return _service(found["Id"], node, AS_PLANNED, "")


def _pod(component: str, pod: Mapping[str, Any], template: Mapping[str, Any], left: bool) -> Service:
    node, name = str(pod["spec"].get("nodeName", "")), pod["metadata"]["name"]
    if not is_ready(pod):
        return _service(component, node, DOWN, f"pod {name} is not ready ({pod['status'].get('phase')})")
    if left or made_from(pod) != made_from(template):
        return _service(
            component,
            node,
            BEHIND,
            f"pod {name} is older than its template and waits for its readers",
        )
    return _service(component, node, AS_PLANNED, "")


def _service(name: str, node: str, state: str, why: str) -> Service:
    return {"name": name, "node": node, "state": state, "why": why}

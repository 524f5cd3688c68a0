"""Runs one pod on each of some nodes and collects what they said."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments, heading, progress

PHASES = {"running": frozenset({"Running"}), "ended": frozenset({"Succeeded", "Failed"})}


class ActionModule(ActionBase):
    """Runs on the controller; pods that end are removed."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed, results: [{name, node, annotations, phase, why, log}]}."""
        from alluxio_fuse.kubernetes import client  # noqa: PLC0415 - other platforms do without the package

        super().run(tmp, task_vars)
        args = arguments(self._task)
        ends = args["until"] == "ended"
        if self._task.check_mode or not args["pods"]:
            return {"changed": bool(args["pods"]) and not ends, "results": []}
        heading(self._task)
        cluster = client.Cluster(args["kubeconfig"], args["context"], args["namespace"])
        try:
            made, pods = cluster.run(args["pods"], PHASES[args["until"]], args["timeout_s"], progress)
        except client.RolloutError as error:
            raise AnsibleActionFail(str(error)) from None
        results = [
            {
                "name": pod["metadata"]["name"],
                "node": pod["spec"].get("nodeName", ""),
                "annotations": pod["metadata"].get("annotations", {}),
                "phase": pod["status"]["phase"],
                "why": " ".join(pod["status"].get(key, "") for key in ("reason", "message")).strip(),
                "log": cluster.logs(pod["metadata"]["name"], pod["spec"]["containers"][0]["name"], lines=None)
                if ends
                else "",
            }
            for pod in pods
        ]
        if ends:
            cluster.remove(pod["metadata"]["name"] for pod in pods)
        return {"changed": made and not ends, "results": results}

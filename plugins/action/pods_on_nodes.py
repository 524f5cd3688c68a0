"""Runs one pod on each of some nodes and collects what they said."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

display = Display()

SPEC = {
    "kubeconfig": {"type": "str"},
    "context": {"type": "str"},
    "namespace": {"type": "str", "required": True},
    "pods": {"type": "list", "elements": "dict", "required": True},
    "until": {"type": "str", "choices": ["running", "ended"], "default": "running"},
    "timeout_s": {"type": "int", "default": 300},
}
PHASES = {"running": frozenset({"Running"}), "ended": frozenset({"Succeeded", "Failed"})}


class ActionModule(ActionBase):
    """Runs on the controller; pods that end are removed."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed, results: [{name, node, annotations, phase, log}]}."""
        from alluxio_fuse.kubernetes import client  # noqa: PLC0415 - other platforms do without the package

        super().run(tmp, task_vars)
        checked = ArgumentSpecValidator(SPEC).validate(self._task.args)
        if checked.error_messages:
            raise AnsibleActionFail("; ".join(checked.error_messages))
        args = checked.validated_parameters
        if self._task.check_mode or not args["pods"]:
            return {"changed": bool(args["pods"]), "results": []}
        display.display(f"\n{self._task.name}")  # the task's own heading is shown after it has ended
        cluster, ends = client.Cluster(args["kubeconfig"], args["context"], args["namespace"]), args["until"] == "ended"
        try:
            made, pods = cluster.run(
                args["pods"], PHASES[args["until"]], args["timeout_s"], lambda line: display.display(f"  {line}")
            )
        except client.RolloutError as error:
            raise AnsibleActionFail(str(error)) from None
        results = [
            {
                "name": pod["metadata"]["name"],
                "node": pod["spec"]["nodeName"],
                "annotations": pod["metadata"].get("annotations", {}),
                "phase": pod["status"]["phase"],
                "log": cluster.logs(pod["metadata"]["name"], pod["spec"]["containers"][0]["name"], lines=None)
                if ends
                else "",
            }
            for pod in pods
        ]
        if ends:
            cluster.remove(pod["metadata"]["name"] for pod in pods)
        return {"changed": made and not ends, "results": results}

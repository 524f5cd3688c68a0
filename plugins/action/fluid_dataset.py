"""Waits until a Dataset is bound, or takes it away, and says why when that does not come."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments, heading, progress, told_by_api


class ActionModule(ActionBase):
    """Runs on the controller; the objects are looked at every two seconds."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed}."""
        from alluxio_fuse.fluid import client  # noqa: PLC0415 - other platforms do without the package

        super().run(tmp, task_vars)
        args = arguments(self._task)
        absent = args["state"] == "absent"
        fluid = client.FluidClient(args["kubeconfig"], args["context"], args["namespace"], args["dataset"])
        if self._task.check_mode:
            with told_by_api():
                return {"changed": absent and bool(fluid.ours(args["deployment"]))}
        heading(self._task)
        try:
            with told_by_api():
                if not absent:
                    fluid.wait_ready(args["timeout_s"], progress)
                    return {"changed": False}
                there = fluid.remove(args["deployment"])
                fluid.wait_gone(args["deployment"], args["timeout_s"], progress)
        except client.WaitError as error:
            what = "is not gone" if absent else "does not come up"
            raise AnsibleActionFail(f"Dataset {args['namespace']}/{args['dataset']} {what}:\n{error}") from None
        return {"changed": there}

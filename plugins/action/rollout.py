"""Waits for a release, and says why when it does not come up."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments, heading, progress


class ActionModule(ActionBase):
    """Runs on the controller; the namespace is looked at every two seconds."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed, state: {component: [ready, wanted]}, pods: [Pod]}."""
        from alluxio_fuse.kubernetes import client, pods  # noqa: PLC0415 - other platforms do without the package
        from alluxio_fuse.plan import Plan  # noqa: PLC0415 - as above

        super().run(tmp, task_vars)
        args = arguments(self._task)
        if self._task.check_mode:
            return {"changed": bool(args["replace"]), "state": {}}
        heading(self._task)
        cluster = client.Cluster(args["kubeconfig"], args["context"], args["namespace"])
        try:
            least = pods.planned(Plan.load(args["plan"])) if args["plan"] else {}
            state = cluster.rollout(args["release"], args["timeout_s"], progress, args["replace"], least)
        except client.RolloutError as error:
            raise AnsibleActionFail(f"{args['release']} does not come up:\n{error}") from None
        return {"changed": bool(args["replace"]), "state": state}

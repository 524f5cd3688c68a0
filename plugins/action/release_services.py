"""Says which pods of a release run, and whether they are what their controllers want."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments


class ActionModule(ActionBase):
    """Runs on the controller."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed: false, services: [{name, node, state, why}]}."""
        from alluxio_fuse.kubernetes import client  # noqa: PLC0415 - other platforms do without the package

        super().run(tmp, task_vars)
        args = arguments(self._task)
        cluster = client.Cluster(args["kubeconfig"], args["context"], args["namespace"])
        return {"changed": False, "services": cluster.services(args["release"])}

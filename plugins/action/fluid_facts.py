"""Says what there is of Fluid in a cluster, and of one Dataset."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments, told_by_api


class ActionModule(ActionBase):
    """Runs on the controller."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed: false, fluid: …, services: …, columns: …}."""
        from alluxio_fuse.fluid import client, state  # noqa: PLC0415 - other platforms do without the package

        super().run(tmp, task_vars)
        args = arguments(self._task)
        fluid = client.FluidClient(args["kubeconfig"], args["context"], args["namespace"], args["dataset"])
        with told_by_api():
            facts = fluid.facts(args["runtime"], args["secrets"])
            services = fluid.services(args["deployment"])
        return {"changed": False, "fluid": facts, "services": services, "columns": state.columns(facts["objects"])}

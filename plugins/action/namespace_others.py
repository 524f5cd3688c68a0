"""Looks for what a namespace holds beside a deployment."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments


class ActionModule(ActionBase):
    """Runs on the controller."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed, others: [kind and name]}."""
        from alluxio_fuse.kubernetes import foreign  # noqa: PLC0415 - other platforms do without the package

        super().run(tmp, task_vars)
        args = arguments(self._task)
        found = foreign.objects_in(args["kubeconfig"], args["context"], args["namespace"])
        return {"changed": False, "others": foreign.of_others(found, args["deployment"])}

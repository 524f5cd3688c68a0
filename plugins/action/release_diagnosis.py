"""Gathers what a cluster tells of a release."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments


class ActionModule(ActionBase):
    """Runs on the controller."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed: false, parts: [Part]}."""
        from alluxio_fuse.kubernetes import diagnosis  # noqa: PLC0415 - other platforms do without the package

        super().run(tmp, task_vars)
        args = arguments(self._task)
        parts = diagnosis.gather(args["kubeconfig"], args["context"], args["namespace"], args["release"])
        return {"changed": False, "parts": [one.model_dump() for one in parts]}

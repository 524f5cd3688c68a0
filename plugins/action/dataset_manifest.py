"""Makes the manifest of a bucket on the controller and shows how far it is: a module cannot speak while it runs."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.module_utils import manifest_making, object_stores
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments, heading, progress, warning


class ActionModule(ActionBase):
    """What is not read on the controller, such as a folder of a node, is left to the module."""

    _headed = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns what the module returns."""
        super().run(tmp, task_vars)
        of_bucket = str(self._task.args.get("source") or "").startswith(object_stores.SCHEMES)
        if not of_bucket or self._connection.transport != "local":
            answer: dict[str, Any] = self._execute_module(task_vars=task_vars)
            return answer
        try:
            made: dict[str, Any] = manifest_making.made(
                arguments(self._task), check=self._task.check_mode, warn=warning, say=self._say
            )
        except manifest_making.Refused as refused:
            raise AnsibleActionFail(str(refused)) from None
        return made

    def _say(self, line: str) -> None:
        if not self._headed:
            heading(self._task)
        self._headed = True
        progress(line)

"""Asks an object store whether a dataset's prefix can be listed."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.module_utils import store_facts
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments


class ActionModule(ActionBase):
    """Runs on the controller, and no module does: Ansible masks keys in its answer, also within a state or a number.

    Nothing of the answer is a key.
    """

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed: false, facts: …}."""
        super().run(tmp, task_vars)
        return {"changed": False, "facts": store_facts.ask(arguments(self._task))}

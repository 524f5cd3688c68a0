"""Ends as what differs from the plan."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils import found
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments

from alluxio_fuse import drift
from alluxio_fuse.adapters import plain
from alluxio_fuse.status.judge import Status

UNSEEN = (
    "the callback alluxio.fuse.drift is not enabled, so nobody saw what differs: add it to callbacks_enabled in the"
    " section [defaults] of the ansible.cfg in use, or set ANSIBLE_CALLBACKS_ENABLED=alluxio.fuse.drift"
)


class ActionModule(ActionBase):
    """Runs on the controller; the callback `drift` shows the table."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed: false, rows: [[where, what, now, planned]]} of the status; fails where anything differs."""
        super().run(tmp, task_vars)
        if not found.collecting:
            raise AnsibleActionFail(UNSEEN)
        rows = drift.of_status(Status.model_validate(plain(arguments(self._task)["status"])))
        differ = len(dict.fromkeys([*found.rows, *rows]))
        told: dict[str, Any] = {"changed": False, "rows": [list(row) for row in rows]}
        return {**told, "failed": True, "msg": f"{differ} differ from the plan, as the table tells"} if differ else told

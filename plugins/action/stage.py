"""Runs module stage a while at a time and shows how far the copy is: a module cannot speak while it runs."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import heading, progress

SECONDS = 10.0
BUSY = "waits for the keeper or a warm-up task, which copies, or reads again what a restart of the node left"


class ActionModule(ActionBase):
    """Goes on until the copy is whole, or fails."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The module's last answer; changed if any was."""
        super().run(tmp, task_vars)
        args = {"seconds": SECONDS, **self._task.args}
        host = (task_vars or {}).get("inventory_hostname", "")
        changed, shown = False, False
        while True:
            answer: dict[str, Any] = self._execute_module(module_args=args, task_vars=task_vars)
            changed = changed or bool(answer.get("changed"))
            ended = answer.get("failed") or answer.get("complete", True) or self._task.check_mode
            line = "" if answer.get("failed") else _line(answer)
            if line and (not ended or shown):
                if not shown:
                    heading(self._task)
                shown = True
                progress(f"{host}: {line}")
            if ended:
                return {**answer, "changed": changed}


def _line(answer: dict[str, Any]) -> str:
    """What an answer of the module tells of the copy; empty where it tells nothing."""
    staged, total = answer.get("staged"), answer.get("total")
    if answer.get("busy"):
        return BUSY
    if not staged:
        return ""
    if total is None:
        return f"staged {staged['files']} files, {staged['bytes'] / 1e6:.0f} MB, of this window"
    return (
        f"staged {staged['files']} of {total['files']} files,"
        f" {staged['bytes'] / 1e6:.0f} of {total['bytes'] / 1e6:.0f} MB"
    )

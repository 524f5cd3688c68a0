"""Runs module warm_task, and shows how far a task is until it has ended: a module cannot speak while it runs."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import heading, progress

LOOK_S = 2.0
PATIENCE_S = 120.0  # without a sign of what carries tasks out: a pod may have to pull its image


class ActionModule(ActionBase):
    """Waits for a task that is watched."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The module's last answer; failed where the task ended with something left, or was cancelled."""
        super().run(tmp, task_vars)
        args = dict(self._task.args)
        host = (task_vars or {}).get("inventory_hostname", "")
        first: dict[str, Any] = self._execute_module(module_args=args, task_vars=task_vars)
        if first.get("failed") or args["verb"] != "watch" or self._task.check_mode:
            return self._shown(first, host)
        heading(self._task)
        answer, said, alive = first, "", time.monotonic()
        while not answer.get("failed"):
            (line,), (task,) = answer["lines"], answer["tasks"]
            if line != said:
                progress(f"{host}: {line}")
                said = line
            if task["ended"]:
                return {**answer, **_failed(task)}
            alive = time.monotonic() if task["alive"] else alive
            if time.monotonic() - alive > PATIENCE_S:
                return {**answer, "failed": True, "msg": f"{task['id']}: nothing carries it out"}
            time.sleep(LOOK_S)
            look = {"folder": args["folder"], "verb": "look", "id": task["id"]}
            answer = self._execute_module(module_args=look, task_vars=task_vars)
        return answer

    def _shown(self, answer: dict[str, Any], host: str) -> dict[str, Any]:
        if not answer.get("failed"):
            heading(self._task)
            for line in answer["lines"]:
                progress(f"{host}: {line}")
        return answer


def _failed(task: dict[str, Any]) -> dict[str, Any]:
    if task["state"] == "done":
        return {}
    lines = [f"task {task['id']} is {task['state']}", *([task["note"]] if task["note"] else [])]
    lines += [f"  {problem}" for problem in task["problems"]]
    if task["list"]:
        lines.append(f"its list of what is left is {task['list']} on this node: give it again as filelist")
    return {"failed": True, "msg": "\n".join(lines)}

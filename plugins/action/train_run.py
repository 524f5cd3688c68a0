"""Runs module train_run once per run of a training, and shows every figure as soon as it is there."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import heading, progress
from ansible_collections.alluxio.fuse.plugins.plugin_utils.trained import line


class ActionModule(ActionBase):
    """A module cannot speak while it runs, so each run is a call of its own."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """All runs in order; one whose program fails is a result like others."""
        super().run(tmp, task_vars)
        args, results = dict(self._task.args), []
        host = (task_vars or {}).get("inventory_hostname", "")
        heading(self._task)
        for one in args.get("runs", []):
            answer: dict[str, Any] = self._execute_module(module_args={**args, "runs": [one]}, task_vars=task_vars)
            if answer.get("failed"):
                return answer
            results += answer["results"]
            for result in answer["results"]:
                progress(f"{host}: {line(result)}")
        return {"changed": False, "results": results}

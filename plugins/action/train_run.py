"""Runs module train_run once per run of a training, and shows every figure as soon as it is there."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import heading, progress


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
                progress(f"{host}: {_line(result)}")
        return {"changed": False, "results": results}


def _line(result: dict[str, Any]) -> str:
    name = f"{result['name']:<34}"
    if result["kind"] == "copy":
        return f"{name} {result['bytes'] / 1e6:>8.0f} MB in {result['seconds']:.1f} s"
    if result.get("failed"):
        return f"{name} FAILED: {result['failed']}"
    speeds = ", ".join(f"{epoch['images'] / epoch['seconds']:.0f}" for epoch in result["epochs"])
    wrong = sum(epoch.get("wrong", 0) for epoch in result["epochs"])
    return f"{name} images/s by epoch: {speeds}" + (f"  {wrong} WRONG" if wrong else "")

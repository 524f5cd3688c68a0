"""Runs read_pass once per pass and shows every figure as soon as it is there."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import heading, progress

from alluxio_fuse.adapters import plain
from alluxio_fuse.check.budget import Spent
from alluxio_fuse.plan.intent.work import CheckBudget


class ActionModule(ActionBase):
    """A module cannot speak while it runs, so each pass is a call of its own."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """All passes in order; the first failure ends them."""
        super().run(tmp, task_vars)
        args = dict(self._task.args)
        keep, budget, changed = args.pop("keep", None), args.pop("budget", None), False
        spent, left_out = Spent(CheckBudget.model_validate(plain(budget))) if budget is not None else None, None
        host = (task_vars or {}).get("inventory_hostname", "")
        results: list[dict[str, Any]] = []
        heading(self._task)
        for one in args.get("passes", []):
            if spent and (left_out := spent.short_for(one)):
                break
            limit, begun = {"seconds": spent.seconds_left} if spent else {}, time.monotonic()
            answer = self._read({**args, **limit, "passes": [one]}, task_vars)
            if answer.get("failed"):
                return answer
            results += answer["results"]
            if spent and answer["given_up"]:
                left_out = spent.over("seconds")
                break
            for result in answer["results"]:
                if spent:
                    spent.add(one, result, time.monotonic() - begun)
                progress(f"{host}: {_line(result)}")
            if keep and (wrong := _wrong(answer["results"])):
                return {"failed": True, "msg": f"{wrong}; nothing is warmed with bytes that are not the source's"}
            if keep and one.get("keep", True) and answer["results"]:
                # at once: what was read for the first time cannot be measured again by a run that goes on
                kept = self._keep({**keep, "keep": {"passes": answer["results"]}}, task_vars)
                if kept.get("failed"):
                    return kept
                changed = True
        return {
            "changed": changed,
            "results": results,
            "left_out": left_out or "",
            "budget_left": spent.left if spent else {},
        }

    def _read(self, args: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        answer: dict[str, Any] = self._execute_module(module_args=args, task_vars=task_vars)
        return answer

    def _keep(self, args: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        kept: dict[str, Any] = self._execute_module(
            module_name="alluxio.fuse.measurements", module_args=args, task_vars=task_vars
        )
        return kept


def _wrong(results: list[dict[str, Any]]) -> str | None:
    """The first file that was not what the manifest says."""
    for result in results:
        for problem in [*result["problems"], *result.get("verified", {}).get("problems", [])]:
            return f"{result['root']}/{problem['path']}: {problem['what']}"
    return None


def _line(result: dict[str, Any]) -> str:
    wrong = result["wrong"] + result.get("verified", {}).get("wrong", 0)
    return (
        f"{result['name']:<34} {result['files']:>6} files {result['bytes'] / 1e6:>8.0f} MB"
        f" {result['files_per_s']:>9.0f} files/s {result['mb_per_s']:>7.0f} MB/s"
        + (f"  {wrong} WRONG" if wrong else "")
    )

"""Reads the controller's clock around the module that reads the node's."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """The node's clock was read between two moments of ours: what lies outside of them is certain."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The module's answer, and the least difference that explains it."""
        super().run(tmp, task_vars)
        before = time.time()
        answer: dict[str, Any] = self._execute_module(task_vars=task_vars)
        if not answer.get("failed"):
            answer["skew"] = least_skew(before, answer["now"], time.time())
        return answer


def least_skew(before: float, remote: float, after: float) -> float:
    """Seconds that `remote` is certainly ahead of the interval in which it was read, or behind it where negative."""
    return max(0.0, remote - after) + min(0.0, remote - before)

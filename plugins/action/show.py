"""Shows text on the terminal as it is."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

display = Display()


class ActionModule(ActionBase):
    """What debug would quote and indent."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Shows `text` and changes nothing."""
        super().run(tmp, task_vars)
        display.display(self._task.args["text"])
        return {"changed": False}

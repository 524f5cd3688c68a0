"""Collects what plays that only look would change, and ends with a table of it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils import found

DOCUMENTATION = """
name: drift
type: aggregate
short_description: table of what differs from the plan
description:
  - Collects, from the first play with the variable C(only_look) on, what tasks in check mode would change and what they
    could not find out, and shows that after the recap. Says nothing in other runs.
requirements: [enable it in C(callbacks_enabled)]
"""

EXAMPLES = """
# ansible.cfg
#   [defaults]
#   callbacks_enabled = alluxio.fuse.drift
"""


class CallbackModule(CallbackBase):
    """The table is shown whatever happens: a task that fails tells of a difference, too."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "alluxio.fuse.drift"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._drift: ModuleType | None = None

    def v2_playbook_on_start(self, playbook: Any) -> None:
        found.collecting = True

    def v2_playbook_on_play_start(self, play: Any) -> None:
        if play.get_vars().get("only_look"):
            from alluxio_fuse import drift  # noqa: PLC0415 - runs that do not look need not wait for it

            self._drift = drift

    def v2_runner_on_ok(self, result: Any) -> None:
        if self._drift:
            self._add(result, self._drift.of_result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        if self._drift:
            found.rows.extend(self._drift.Row(*row) for row in result.result.get("rows", ()))
            if "rows" not in result.result:
                self._add(result, self._drift.of_failure)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        if self._drift:
            why = f"{self._drift.UNKNOWN}: it is not reached"
            found.rows.append(self._drift.Row(result.host.get_name(), "node", why, ""))

    def v2_playbook_on_stats(self, stats: Any) -> None:
        if self._drift:
            self._display.display(self._drift.render(list(dict.fromkeys(found.rows))))

    @staticmethod
    def _add(result: Any, rows: Any) -> None:
        where = "fleet" if result.task.run_once else result.host.get_name()
        found.rows.extend(rows(where, result.task_name, result.result))

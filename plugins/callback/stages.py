"""Says, for every stage of a run, how long it took, and ends with a table of all stages."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: stages
type: aggregate
short_description: time of each stage of the job
description:
  - A stage is what the plays of one file in C(playbooks/) do; their names start with the stage and a colon.
  - After the last stage a table lists what each one took, so that a slow run shows where.
requirements: [enable it in C(callbacks_enabled)]
"""

EXAMPLES = """
# ansible.cfg
#   [defaults]
#   callbacks_enabled = alluxio.fuse.stages
"""


class CallbackModule(CallbackBase):
    """Times plays by the name before their colon (``Nodes: caches`` belongs to ``Nodes``)."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "alluxio.fuse.stages"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._seconds: dict[str, float] = {}
        self._current: str | None = None
        self._started = 0.0

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._close()
        self._current = play.get_name().partition(":")[0].strip()
        self._started = time.monotonic()

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._close()
        self._display.banner("STAGES")
        for stage, seconds in self._seconds.items():
            self._display.display(f"{stage:<14} {seconds:7.1f} s")
        self._display.display(f"{'together':<14} {sum(self._seconds.values()):7.1f} s")

    def _close(self) -> None:
        if self._current is not None:
            elapsed = time.monotonic() - self._started
            self._seconds[self._current] = self._seconds.get(self._current, 0.0) + elapsed
        self._current = None

"""Writes which tasks changed what, so that a check's prediction can be compared with the run after it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ansible import context
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: changes
type: aggregate
short_description: tasks that changed something, by host
description: Appends one line per run of a converge playbook to C(changes.jsonl) in molecule's ephemeral folder.
"""


class CallbackModule(CallbackBase):
    """Collects changed tasks of converge playbooks."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "changes"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        """Start with nothing seen."""
        super().__init__()
        self.applies = False
        self.changed: set[str] = set()

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """See whether it is a converge that runs."""
        self.applies = Path(playbook._file_name).name == "converge.yml"

    def v2_runner_on_ok(self, result: Any) -> None:
        """Remember the task if it changed something."""
        if self.applies and result.is_changed():
            self.changed.add(f"{result.host.name}: {result.task.get_name()}")

    def v2_playbook_on_stats(self, _stats: Any) -> None:
        """Write the line."""
        if self.applies:
            line = {"check": bool(context.CLIARGS["check"]), "changed": sorted(self.changed)}
            with Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "changes.jsonl").open("a") as stream:
                stream.write(json.dumps(line) + "\n")

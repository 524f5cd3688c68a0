"""Loads our filters before the first task, so that no worker process has to."""

from __future__ import annotations

from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader

DOCUMENTATION = """
name: preload
type: aggregate
short_description: loads the filters once
description:
  - Ansible runs each task of each host in a forked process, which loads the filters that it meets, and is gone.
  - Loading ours takes 0.6 s of processor time (the planner's models). What is loaded before the first fork, all forks
    have. Eleven tasks with a filter of ours took 7.0 s without this and 0.6 s with it, on one host.
requirements: [enable it in C(callbacks_enabled)]
"""

EXAMPLES = """
# ansible.cfg
#   [defaults]
#   callbacks_enabled = alluxio.fuse.preload
"""


class CallbackModule(CallbackBase):
    """Asks for one filter, for which Ansible loads every filter file of the collection."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "alluxio.fuse.preload"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: Any) -> None:
        filter_loader.get("alluxio.fuse.amounts")

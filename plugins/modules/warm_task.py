#!/usr/bin/python
"""Warm-up tasks of a node."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import warm_command, warm_tasks, warming
from ansible_collections.alluxio.fuse.plugins.module_utils.selection import Asked, Share

DOCUMENTATION = r"""
module: warm_task
short_description: Warm-up tasks of a node
description:
  - Starts a task, says what it would do, or lists, watches, cancels or resumes those that there are.
  - Tasks are in a folder of the node, and are carried out by a program there; they outlive this run.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Says what a task would do, and starts, cancels and resumes none.
  action:
    support: full
    description: Shows how far a task is.
options:
  folder:
    description: Folder of the tasks.
    type: path
    required: true
  verb:
    description:
      - V(estimate) says what a task would do. V(start) begins it, V(resume) begins one again that has ended.
        V(watch) waits until one has ended. V(look) tells where one is, V(list) of all.
    type: str
    choices: [estimate, start, list, look, watch, cancel, resume]
    required: true
  id:
    description: The task, for all verbs but V(estimate) and V(list).
    type: str
    default: ""
  node:
    description: What a task knows of the node, as filter P(alluxio.fuse.warm_up#filter) returns it; for V(estimate).
    type: dict
  operation:
    description: Whether files are loaded, compared with the manifest, or given up.
    type: str
    choices: [load, verify, evict]
    default: load
  into:
    description: Where files are to be.
    type: str
    choices: [workers, stage]
    default: workers
  datasets:
    description: Datasets; none is all.
    type: list
    elements: str
    default: []
  paths:
    description: Folders, files and globs, in the dataset or below its mount point.
    type: list
    elements: str
    default: []
  filelist:
    description: A file of the node with one path a line.
    type: str
    default: ""
  include:
    description: Globs of the files that count.
    type: list
    elements: str
    default: []
  exclude:
    description: Globs of files that do not.
    type: list
    elements: str
    default: []
  verify:
    description: Whether what was loaded is compared with the manifest, too.
    type: bool
    default: false
  bandwidth:
    description: Bytes a second on this node; 0 is without a limit.
    type: int
    default: 0
  share:
    description: The part of the files that this node loads into workers, C(place) of C(nodes).
    type: dict
    default: {place: 0, nodes: 1}
"""

EXAMPLES = r"""
- name: Load a folder into the workers
  alluxio.fuse.warm_task:
    folder: /var/lib/alluxio-fuse/warm
    verb: start
    id: 20260102-030405-0a1b
    paths: [train]
"""

RETURN = r"""
lines:
  description: What there is to say, for a person.
  type: list
  elements: str
  returned: success
tasks:
  description: Tasks with how far they are.
  type: list
  elements: dict
  returned: always, but for V(estimate)
estimate:
  description: What the task would do.
  type: dict
  returned: verb is V(estimate)
"""


def answer(module: AnsibleModule) -> dict[str, Any]:
    """What the verb comes to."""
    said, check = module.params, module.check_mode
    folder, verb, name = said["folder"], said["verb"], said["id"]
    if verb == "estimate":
        found = warming.estimate(folder, warm_tasks.described(said["node"]), _wish(said))
        lines = warm_command.estimate_lines(asdict(found), said["into"])
        return {"changed": False, "estimate": asdict(found), "lines": lines}
    if not Path(folder).is_dir():
        return {"changed": check and verb == "start", "tasks": [], "lines": ["no tasks"]}
    changed = verb == "start"
    if verb == "start" and not check:
        warming.start(folder, _wish(said), name, {"began": time.time()})
    if verb in ("cancel", "resume") and not check:
        changed = warm_tasks.ask(folder, name, "cancel" if verb == "cancel" else "run")
    tasks = warming.told(folder, "" if verb == "list" or (verb == "start" and check) else name)
    return {"changed": changed, "tasks": tasks, "lines": [warm_command.text(one) for one in tasks] or ["no tasks"]}


def _wish(said: dict[str, Any]) -> warming.Wish:
    return warming.Wish(
        operation=said["operation"],
        into=said["into"],
        datasets=said["datasets"],
        asked=Asked(said["paths"], said["filelist"], said["include"], said["exclude"]),
        verify=said["verify"],
        bandwidth=said["bandwidth"],
        share=Share(**said["share"]),
    )


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
            "verb": {
                "type": "str",
                "choices": ["estimate", "start", "list", "look", "watch", "cancel", "resume"],
                "required": True,
            },
            "id": {"type": "str", "default": ""},
            "node": {"type": "dict"},
            "operation": {"type": "str", "choices": ["load", "verify", "evict"], "default": "load"},
            "into": {"type": "str", "choices": ["workers", "stage"], "default": "workers"},
            "datasets": {"type": "list", "elements": "str", "default": []},
            "paths": {"type": "list", "elements": "str", "default": []},
            "filelist": {"type": "str", "default": ""},
            "include": {"type": "list", "elements": "str", "default": []},
            "exclude": {"type": "list", "elements": "str", "default": []},
            "verify": {"type": "bool", "default": False},
            "bandwidth": {"type": "int", "default": 0},
            "share": {"type": "dict", "default": {"place": 0, "nodes": 1}},
        },
        required_if=[("verb", "estimate", ["node"])],
        supports_check_mode=True,
    )
    try:
        found = answer(module)
    except (ValueError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**found)


if __name__ == "__main__":
    main()

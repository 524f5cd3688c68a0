#!/usr/bin/python
"""Stages a dataset on a node."""

from __future__ import annotations

import dataclasses
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    assignments,
    compositions,
    generations,
    stages,
    staging,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.staging import Window

DOCUMENTATION = r"""
module: stage
short_description: Copies a dataset to a node's own medium and mounts the copy where readers read it
description:
  - Shows O(source) at O(path) meanwhile, where nothing is mounted there.
  - Copies the files of the manifest from O(source), compares sizes and digests, and mounts the copy read-only at
    O(path) once it is whole. Readers of what was mounted there before keep their open files.
  - With O(budget), small files are copied first, as many as fit, and the rest is read from O(source).
  - A file that is not what the manifest says is left out, and the copy is not mounted.
  - An interrupted copy goes on where it was. Where O(path) shows the copy of this manifest already, nothing is done.
  - With O(window) it copies that part of the files alone, and mounts no copy.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Says whether the copy would be made or mounted.
  action:
    support: full
    description: Shows how far the copy is.
options:
  path:
    description: Where the copy is read.
    type: path
    required: true
  manifest:
    description: Manifest of the dataset.
    type: path
  source:
    description: Where the dataset is mounted, from which it is copied.
    type: path
  folder:
    description:
      - Folder of the copy on the medium, for this dataset alone. Empty where nothing is staged here, and O(path) shows
        O(source).
    type: str
    default: ""
  uid:
    description: Owner of files and folders.
    type: int
    default: 0
  gid:
    description: Group of files and folders.
    type: int
    default: 0
  mode:
    description: Who reads files and enters folders; writing is nobody's.
    type: str
    default: "0755"
  processes:
    description: Processes that copy.
    type: int
    default: 4
  budget:
    description: Bytes of the medium that a part of the dataset may take; 0 is the whole dataset.
    type: int
    default: 0
  per_file:
    description: Bytes of the medium that each file takes beside its blocks.
    type: int
    default: 0
  assignments:
    description:
      - Folder of what is staged on the node, which the keeper goes by after this module.
    type: path
    required: true
  seconds:
    description:
      - How long to wait for another program that stages on the node, and then to copy, before the module returns with
        RV(complete=false); 0 is until it is whole.
    type: float
    default: 0
  in_use:
    description: With O(state=absent), whether the copy is taken away from its readers, too.
    type: bool
    default: false
  window:
    description: Which of several windows on the dataset is copied, C(place) of C(windows); the dataset is staged whole.
    type: dict
  lacking:
    description:
      - A file, for the paths of O(window) that the node lacks, a line each. Nothing is copied then. Files that the
        manifest leaves out of warm-up are not in it, nor is what does not fit in O(most).
    type: path
  most:
    description: Bytes of files that O(lacking) names at most; the workers are to hold them.
    type: int
    default: 0
  state:
    description: V(absent) unmounts it. The copy on the medium stays.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Say which files of the second of five windows are not on the node
  alluxio.fuse.stage:
    manifest: /var/lib/alluxio-fuse/manifests/imagenet.jsonl
    source: /var/lib/alluxio-fuse/fuse/imagenet/data
    folder: /var/lib/alluxio-fuse/stage/imagenet
    assignments: /var/lib/alluxio-fuse/assignments
    path: /mnt/alluxio-fuse/imagenet/data
    window: {place: 1, windows: 5}
    lacking: /var/lib/alluxio-fuse/assignments/window
    most: 1073741824

- name: Stage a dataset in memory
  alluxio.fuse.stage:
    manifest: /var/lib/alluxio-fuse/manifests/imagenet.jsonl
    source: /var/lib/alluxio-fuse/fuse/imagenet/data
    folder: /var/lib/alluxio-fuse/stage/imagenet
    assignments: /var/lib/alluxio-fuse/assignments
    path: /mnt/alluxio-fuse/imagenet/data
"""

RETURN = r"""
complete: {description: Whether the copy is whole., type: bool, returned: state is present}
busy: {description: Another program stages on the node, and nothing was done., type: bool, returned: another one does}
lacking: {description: How many files of the window the node lacks., type: int, returned: O(lacking) is given}
staged:
  description:
    - C(files) and C(bytes) of the copy, of how many files the digest is the source's (C(of_source)), and of a part how
      many files of each kind it has (C(kinds)).
  type: dict
  returned: state is present
total:
  description: C(files) and C(bytes) of the manifest.
  type: dict
  returned: state is present
former:
  description:
    - Processes on account of which room of former copies is taken. Those that go by names in a copy (C(kept)), as a
      container with a mount of its own does; and those that have files open of what was removed (C(open)).
  type: dict
  returned: state is present, and O(window) is not given
"""


FULL = (
    ". It must hold the copy, and what the one before it has that differs. Make room, or run site.yml again: its plan"
    " goes by what is free, and stages a part where it may"
)
WANTED = [field.name for field in dataclasses.fields(stages.Wanted)]


def present(module: AnsibleModule) -> dict[str, Any]:
    """Copies and mounts; the module's answer."""
    said = module.params
    wanted = stages.Wanted(**{key: said[key] for key in WANTED if key in said})
    if said.get("window"):
        return window(module, wanted, Window(**said["window"]))
    if module.check_mode:
        return _answer(stages.keep(wanted, look=True))
    Path(said["assignments"]).mkdir(mode=0o755, exist_ok=True)
    seconds = said["seconds"] or float("inf")
    with assignments.alone(said["assignments"], seconds):
        assignments.assign(said["assignments"], wanted)
        generations.forget_windows(wanted.folder)  # all of it is wanted now, or another copy
        kept = stages.keep(wanted, seconds)
    if text := str(kept.former):
        module.warn(f"{wanted.path}: {text}")
    return _right(module, _answer(kept), kept)


def window(module: AnsibleModule, wanted: stages.Wanted, part: Window) -> dict[str, Any]:
    """Copies a window, or says what of it the node lacks; the module's answer."""
    said = module.params
    if said["lacking"]:
        count = _write_lacking(said["lacking"], stages.lacking(wanted, part), said["most"])
        return {"changed": False, "lacking": count}
    if module.check_mode:
        return {"changed": any(stages.lacking(wanted, part))}
    seconds = said["seconds"] or float("inf")
    with assignments.alone(said["assignments"], seconds):
        copied = stages.bring(wanted, part, seconds)
    staged = {"files": copied.files, "bytes": copied.bytes, "of_source": copied.of_source}
    return _right(module, {"changed": copied.copied > 0, "complete": copied.complete, "staged": staged}, copied)


def _write_lacking(file: str, found: Iterator[tuple[str, int]], most: int) -> int:
    """How many of the files were written, a line each; there is room for so many bytes of them."""
    count = 0
    with Path(file).open("w", encoding="utf-8", errors="surrogateescape") as lines:
        for path, size in found:
            if size <= most:
                lines.write(f"{path}\n")
                count, most = count + 1, most - size
    return count


def _right(module: AnsibleModule, answer: dict[str, Any], copied: stages.Kept | staging.Staged) -> dict[str, Any]:
    """The answer; the module has failed where all was looked at, and some is not what the manifest says."""
    if copied.complete and copied.problems:
        wrong = "; ".join(f"{one['path']}: {one['problem']}" for one in copied.problems)
        module.fail_json(msg=f"not staged, as these files are not what the manifest says: {wrong}", **answer)
    return answer


def absent(module: AnsibleModule) -> dict[str, Any]:
    """Unmounts; the module's answer."""
    path, in_use, kept = module.params["path"], module.params["in_use"], module.params["assignments"]
    seconds = module.params["seconds"] or float("inf")
    if module.check_mode or not Path(kept).is_dir():
        return {"changed": compositions.withdraw(path, in_use=in_use, look=module.check_mode)}
    with assignments.alone(kept, seconds):
        changed = compositions.withdraw(path, in_use=in_use)
        assignments.unassign(kept, path)
    return {"changed": changed}


def _answer(kept: stages.Kept) -> dict[str, Any]:
    answer = {key: value for key, value in kept._asdict().items() if key != "problems"}
    return {**answer, "former": kept.former._asdict()}


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "manifest": {"type": "path"},
            "source": {"type": "path"},
            "folder": {"type": "str", "default": ""},
            "uid": {"type": "int", "default": 0},
            "gid": {"type": "int", "default": 0},
            "mode": {"type": "str", "default": "0755"},
            "processes": {"type": "int", "default": 4},
            "budget": {"type": "int", "default": 0},
            "per_file": {"type": "int", "default": 0},
            "assignments": {"type": "path", "required": True},
            "seconds": {"type": "float", "default": 0},
            "window": {"type": "dict"},
            "lacking": {"type": "path"},
            "most": {"type": "int", "default": 0},
            "in_use": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ["manifest", "source"])],
        supports_check_mode=True,
    )
    try:
        answer = present(module) if module.params["state"] == "present" else absent(module)
    except assignments.BusyError:
        answer = {"changed": False, "complete": False, "busy": True}
    except OSError as error:
        module.fail_json(msg=f"{error}{FULL if error.errno == errno.ENOSPC else ''}")
    except (ValueError, stages.NotMountedError, compositions.InUseError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**answer)


if __name__ == "__main__":
    main()

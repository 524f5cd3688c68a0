#!/usr/bin/python
"""Stages a dataset on a node."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import compositions, mount_table, reader, stages, staging

DOCUMENTATION = r"""
module: stage
short_description: Copies a dataset to a node's own medium and mounts the copy where readers read it
description:
  - Shows O(source) at O(path) meanwhile, where nothing is mounted there.
  - Copies every file of the manifest from O(source), compares sizes and digests, and mounts the copy read-only at
    O(path) once it is whole. Readers of what was mounted there before keep their open files.
  - A file that is not what the manifest says is left out, and the copy is not mounted.
  - An interrupted copy goes on where it was. Where O(path) shows the copy of this manifest already, nothing is done.
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
    description: Folder of the copy on the medium, for this dataset alone.
    type: path
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
  seconds:
    description: How long to copy before the module returns with RV(complete=false); 0 is until it is whole.
    type: float
    default: 0
  in_use:
    description: With O(state=absent), whether the copy is taken away from its readers, too.
    type: bool
    default: false
  state:
    description: V(absent) unmounts it. The copy on the medium stays.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Stage a dataset in memory
  alluxio.fuse.stage:
    manifest: /var/lib/alluxio-fuse/manifests/imagenet.jsonl
    source: /var/lib/alluxio-fuse/fuse/imagenet/data
    folder: /var/lib/alluxio-fuse/stage/imagenet
    path: /mnt/alluxio-fuse/imagenet/data
"""

RETURN = r"""
complete: {description: Whether the copy is whole., type: bool, returned: state is present}
staged:
  description: C(files) and C(bytes) of the copy, and of how many files the digest is the source's (C(of_source)).
  type: dict
  returned: state is present
total:
  description: C(files) and C(bytes) of the manifest.
  type: dict
  returned: state is present
former:
  description: Generations that are still there, since there are readers.
  type: list
  elements: str
  returned: the copy is whole
"""


def present(module: AnsibleModule) -> dict[str, Any]:
    """Copies and mounts; the module's answer."""
    said, folder = module.params, Path(module.params["folder"])
    header = next(reader.read_manifest(said["manifest"]))
    generation, total = header["id"], {"files": header["files"], "bytes": header["bytes"]}
    found = stages.record(folder, generation)
    shown = found is not None and stages.is_shown(folder, generation, said["path"])
    if shown or module.check_mode:
        return {"changed": not shown, "complete": shown, "staged": found or {}, "total": total, "former": []}
    files = str(folder / generation / stages.FILES)
    if mount_table.mount_at(mount_table.read_mounts(), said["path"]) is None:
        compositions.publish(said["source"], said["path"])  # readers need not wait for the copy
    if found is not None:  # the node was started again since, and its disk is not taken at its word
        staging.remove_wrong(files, said["processes"])
        stages.drop_record(folder, generation)  # once it was compared, what is missing alone is copied
    copied = staging.stage(
        said["manifest"],
        said["source"],
        files,
        staging.Rights(said["uid"], said["gid"], int(said["mode"], 8)),
        processes=said["processes"],
        seconds=said["seconds"] or float("inf"),
        former=stages.former(folder, generation),
    )
    staged = {"files": copied.files, "bytes": copied.bytes, "of_source": copied.of_source}
    answer = {"changed": True, "complete": copied.complete, "staged": staged, "total": total}
    if not copied.complete:
        return answer
    if copied.problems:
        wrong = "; ".join(f"{one['path']}: {one['problem']}" for one in copied.problems)
        module.fail_json(msg=f"not staged, as these files are not what the manifest says: {wrong}", **answer)
    stages.keep_record(folder, generation, staged)
    stages.show(folder, generation, said["path"])
    return {**answer, "former": stages.remove_former(folder, generation, said["path"])}


def absent(module: AnsibleModule) -> dict[str, Any]:
    """Unmounts; the module's answer."""
    path, in_use = module.params["path"], module.params["in_use"]
    return {"changed": compositions.withdraw(path, in_use=in_use, look=module.check_mode)}


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "manifest": {"type": "path"},
            "source": {"type": "path"},
            "folder": {"type": "path"},
            "uid": {"type": "int", "default": 0},
            "gid": {"type": "int", "default": 0},
            "mode": {"type": "str", "default": "0755"},
            "processes": {"type": "int", "default": 4},
            "seconds": {"type": "float", "default": 0},
            "in_use": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ["manifest", "source", "folder"])],
        supports_check_mode=True,
    )
    try:
        answer = present(module) if module.params["state"] == "present" else absent(module)
    except OSError as error:
        full = f": {module.params['folder']} must hold the copy, and what the one before it has that differs"
        module.fail_json(msg=f"{error}{full if error.errno == errno.ENOSPC else ''}")
    except (ValueError, compositions.InUseError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**answer)


if __name__ == "__main__":
    main()

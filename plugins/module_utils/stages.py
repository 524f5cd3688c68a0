"""The staged copy of a dataset on a node: which generation of it is there, and whether its path shows that one.

A stage is a folder on a medium. Each generation has a folder of its own in it, named by the manifest that it was made
from, with the dataset in `files` and, once that is whole, what is known of it in `staged.json`.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import compositions, mount_calls, mount_table, users

FILES, RECORD, VIEW = "files", "staged.json", "view"


def record(folder: Path, generation: str) -> dict[str, Any] | None:
    """{files, bytes, of_source} of a whole generation; None where it is not whole."""
    try:
        found: dict[str, Any] = json.loads((folder / generation / RECORD).read_text(encoding="utf-8"))
        return found
    except (OSError, ValueError):
        return None


def keep_record(folder: Path, generation: str, found: dict[str, Any]) -> None:
    """Notes that a generation is whole; a crash leaves the note or none."""
    part = folder / generation / f".{RECORD}.part"
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(folder / generation / RECORD)


def drop_record(folder: Path, generation: str) -> None:
    """Notes that a generation is not whole any more."""
    (folder / generation / RECORD).unlink()


def is_shown(folder: Path, generation: str, path: str) -> bool:
    """Whether a generation is what is mounted at `path`."""
    table = mount_table.read_mounts()
    shown = mount_table.mount_at(table, path)
    medium = mount_table.mount_of(table, str(folder))
    below = os.path.relpath(folder / generation / FILES, medium["point"])
    wanted = f"{medium['root'].rstrip('/')}/{below}"
    return shown is not None and (shown["device"], shown["root"]) == (medium["device"], wanted)


def show(folder: Path, generation: str, path: str) -> None:
    """Mounts a generation at `path`, in place of what is there; compositions.InUseError where a kernel cannot."""
    view = folder / VIEW
    view.mkdir(exist_ok=True)
    compositions.view_of_folder(str(folder / generation / FILES), str(view))
    try:
        compositions.publish(str(view), path)
    finally:
        mount_calls.detach(str(view))


def former(folder: Path, generation: str) -> list[str]:
    """Folders of the files of other generations."""
    return [str(one) for one in folder.glob(f"*/{FILES}") if one.parent.name != generation]


def remove_former(folder: Path, generation: str, path: str) -> list[str]:
    """Removes the other generations where nobody reads; those that are still there."""
    others = [one for one in folder.iterdir() if one.name not in (generation, VIEW)]
    if others and users.readers_at(path, mount_table.read_mounts(), compositions.LOOK_S):
        return [one.name for one in others]
    for one in others:
        shutil.rmtree(one)
    return []

"""The generations of a dataset's copy: their folders, what a path shows of them, and how those that are former ones go.

A stage is a folder on a medium. Each generation has a folder of its own in it, named by the manifest that it was made
from and by what it holds of it: `files`, where only a part is staged the `names` of the whole dataset, and, once that
is whole, what is known of it in `staged.json`. A file `coming` names the generation whose windows are brought. Nobody
removes that one as a former one: the keeper still keeps what the run before has assigned.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import compositions, holders
from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import Mount, mount_at, mount_of, read_mounts

FILES, NAMES, RECORD, VIEW, COMING = "files", "names", "staged.json", "view", "coming"


class View(NamedTuple):
    """What a path shows: a `whole` copy or a `part` of a generation, or the `source`; and the device of its mount."""

    kind: str
    generation: str
    device: str


class Former(NamedTuple):
    """Processes on account of which room of former generations is still taken.

    kept: who goes by names in them, so that they are still there. open: who has files open or mapped of what was
    removed, until these are closed.
    """

    kept: list[str]
    open: list[str]

    def __str__(self) -> str:
        """What a user is told of them; empty where there are none."""
        said = [f"the former copy stays for {', '.join(self.kept)}"] if self.kept else []
        if self.open:
            said.append(f"files of it stay until these close them: {', '.join(self.open)}")
        return "; ".join(said)


NOBODY = Former([], [])


def view(folder: str, path: str, table: list[Mount]) -> View | None:
    """What the path of a dataset shows; None where nothing is mounted there. folder: of its stage, "" without one."""
    shown = mount_at(table, path)
    if shown is None:
        return None
    place = _place(folder, table) if folder else None
    return _copy_of(shown, place) or View("source", "", shown["device"])


def _place(folder: str, table: list[Mount]) -> tuple[str, str]:
    """The device of a stage's medium, and the stage's folder as mounts of what is in it have it for their root."""
    medium = mount_of(table, folder)
    return medium["device"], f"{medium['root'].rstrip('/')}/{os.path.relpath(folder, medium['point'])}/"


def _copy_of(mount: Mount, place: tuple[str, str] | None) -> View | None:
    """What a mount shows of the stage at `place`; None where it shows no copy."""
    name, *label = mount["source"].split("/")
    if mount["type"] == "overlay" and name == compositions.SOURCE and len(label) == len(("generation", "device")):
        return View("part", *label)
    device, root = place or ("", "")
    if place and mount["device"] == device and mount["root"].startswith(root):
        return View("whole", mount["root"].removeprefix(root).partition("/")[0], device)
    return None


def record(folder: Path, generation: str) -> dict[str, Any] | None:
    """{files, bytes, of_source} of a whole generation, and of a part its `kinds`; None where it is not whole."""
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


def forget_windows(folder: str) -> None:
    """Notes that no run brings windows to a stage any more; folder "" is no stage."""
    if folder:
        Path(folder, COMING).unlink(missing_ok=True)


def former(folder: Path, generation: str) -> list[str]:
    """Folders of the files of other generations."""
    return [str(one) for one in folder.glob(f"*/{FILES}") if one.parent.name != generation]


def others(folder: Path, generation: str) -> list[Path]:
    """What else is in the folder of a stage: former generations, and what is left of copies that were given up."""
    coming = folder / COMING
    kept = {generation, VIEW, COMING, coming.read_text(encoding="utf-8") if coming.exists() else ""}
    return [one for one in folder.iterdir() if one.name not in kept]


def remove_former(folder: Path, generation: str) -> tuple[bool, Former]:
    """Removes the other generations that nobody goes by names in; whether it removed one, and who needs them."""
    found = others(folder, generation)
    if not found:
        return False, NOBODY
    time.sleep(compositions.LOOK_S)  # who began to open a file of what was shown before has opened it by then
    table = read_mounts()
    removed, kept, still_open = False, dict[str, None](), dict[str, None]()
    for one in found:
        names, files = held(one, generation, table)
        if names:
            kept |= dict.fromkeys(names)
        else:
            still_open |= dict.fromkeys(files)
            shutil.rmtree(one)
            removed = True
    return removed, Former(list(kept), list(still_open))


def removable(folder: Path, generation: str) -> bool:
    """Whether a run would remove another generation: no process goes by names in it."""
    table = read_mounts()
    return any(not held(one, generation, table).names for one in others(folder, generation))


def held(former: Path, generation: str, table: list[Mount]) -> holders.Held:
    """Who needs the folder of a former generation, in place of which another one is shown."""
    place = _place(str(former.parent), table)

    def is_shown(mount: Mount) -> bool:
        shown = _copy_of(mount, place)
        return shown is not None and shown.generation == former.name

    return holders.held(is_shown, [former / FILES, former / NAMES], former / FILES, former.parent / generation / FILES)

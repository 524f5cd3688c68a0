"""The staged copy of a dataset on a node: what of it is there, and what its path shows.

A stage is a folder on a medium. Each generation has a folder of its own in it, named by the manifest that it was made
from and by what it holds of it: `files`, where only a part is staged the `names` of the whole dataset, and, once that
is whole, what is known of it in `staged.json`. A file `coming` names the generation whose windows a run brings. Nobody
removes that one as a former one: the keeper still keeps what the run before has assigned.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import (
    compositions,
    holders,
    mount_calls,
    mount_table,
    reader,
    scrub,
    staging,
    users,
)

FILES, NAMES, RECORD, VIEW, COMING = "files", "names", "staged.json", "view", "coming"


class NotMountedError(Exception):
    """Nothing is mounted where a dataset is to be copied from."""


@dataclass(frozen=True)
class Wanted:
    """What a node is to stage of a dataset.

    manifest: of the dataset. source: its FUSE mount. folder: on the medium, "" where nothing is staged here and `path`
    shows the mount. uid, gid, mode: of those who read it. budget: bytes of the medium for a part, of which each file
    takes `per_file` beside its blocks; 0 is the whole dataset. chosen: a file with the paths of a part, a line of JSON
    each, in place of a budget; its name ends in a digest of them. bandwidth: bytes a second at which it is copied, 0
    without a limit.
    """

    manifest: str
    source: str
    folder: str
    path: str
    uid: int = 0
    gid: int = 0
    mode: str = "0755"
    processes: int = 4
    budget: int = 0
    per_file: int = 0
    chosen: str = ""
    bandwidth: int = 0

    @property
    def is_part(self) -> bool:
        """Whether not the whole dataset is staged."""
        return bool(self.budget or self.chosen)

    @property
    def rights(self) -> staging.Rights:
        """Whose the files and folders are."""
        return staging.Rights(self.uid, self.gid, int(self.mode, 8))


class Kept(NamedTuple):
    """What became of a dataset: {files, bytes, of_source, kinds} staged, {files, bytes} in all.

    complete: whether its path shows what is wanted. former: who needs generations that were shown before.
    problems: files that are not what the manifest says.
    """

    changed: bool
    complete: bool
    staged: dict[str, Any]
    total: dict[str, int]
    former: Former
    problems: list[reader.Problem]


class Former(NamedTuple):
    """Processes on account of which room of former generations is still taken.

    kept: who goes by names in them, so that they are still there. open: who has files open or mapped of what was
    removed, until these are closed.
    """

    kept: list[str]
    open: list[str]

    def __str__(self) -> str:
        """What is to be told of them; empty where nobody is."""
        said = [f"the former copy stays for {', '.join(self.kept)}"] if self.kept else []
        if self.open:
            said.append(f"files of it stay until these close them: {', '.join(self.open)}")
        return "; ".join(said)


NOBODY = Former([], [])


class View(NamedTuple):
    """What a path shows: a `whole` copy or a `part` of a generation, or the `source`; and the device of its mount."""

    kind: str
    generation: str
    device: str


def keep(wanted: Wanted, seconds: float = float("inf"), *, look: bool = False) -> Kept:
    """Copies what is missing, for so long, and has the path show it; look: only says whether there is anything to do.

    Where readers must not wait for the copy, or nothing is staged, the path shows the source. NotMountedError where
    that is needed and not there; compositions.InUseError where the kernel cannot change a path under its readers.
    """
    header = next(reader.read_manifest(wanted.manifest))
    total = {"files": header["files"], "bytes": header["bytes"]}
    table = mount_table.read_mounts()
    served = mount_table.mount_at(table, wanted.source)
    folder, generation = Path(wanted.folder), _generation(header, wanted)
    found = record(folder, generation) if wanted.folder else {}
    shown = view(wanted, table)
    scrubbed = scrub.record(folder / generation)
    if found is not None and not scrubbed.wrong and _is_as_wanted(shown, wanted, generation, served):
        removed, left = (False, NOBODY) if look or not wanted.folder else remove_former(folder, generation)
        return Kept(removed, True, found, total, left, [])
    if look:
        return Kept(True, False, found or {}, total, NOBODY, [])
    if served is None and (found is None or wanted.is_part or not wanted.folder):
        raise NotMountedError(f"nothing is mounted at {wanted.source}, from which {wanted.path} comes")
    if served and (shown is None or (shown.kind != "whole" and shown.device != served["device"]) or not wanted.folder):
        compositions.publish(wanted.source, wanted.path)
    if not wanted.folder:
        return Kept(True, True, {}, total, NOBODY, [])
    again = found is not None and (shown is None or shown.generation != generation or scrubbed.wrong)
    # the node was started again since, or a file was seen to differ: its medium is not taken at its word
    if again and found is not None:
        drop_record(folder, generation)  # so that a copy does not count as whole whose files are to be copied again
        wrong = staging.disown_wrong(str(folder / generation / FILES), wanted.processes)
        scrub.keep_record(folder / generation, scrub.Compared(mended=scrubbed.mended + len(wrong)))
        if wrong:
            found = None
        else:
            keep_record(folder, generation, found)
    if found is None:
        if served is None:
            raise NotMountedError(f"nothing is mounted at {wanted.source}, and files of {folder} have other bytes now")
        copied, part = _copy(wanted, generation, seconds)
        found = {"files": copied.files, "bytes": copied.bytes, "of_source": copied.of_source}
        if not copied.complete or copied.problems:
            return Kept(True, copied.complete, found, total, NOBODY, copied.problems)
        if part:
            _write_names(wanted, folder / generation)
            found["kinds"] = part.kinds
        keep_record(folder, generation, found)
        (folder / COMING).unlink(missing_ok=True)
    show(wanted, generation, served)
    return Kept(True, True, found, total, remove_former(folder, generation)[1], [])


def lacking(wanted: Wanted, window: staging.Window) -> Iterator[tuple[str, int]]:
    """Path and size of a window's files that the node lacks of a dataset which it stages whole."""
    folder, generation = Path(wanted.folder), _generation(next(reader.read_manifest(wanted.manifest)), wanted)
    if record(folder, generation) is not None:
        return iter(())
    made = _Made(folder, generation)
    return staging.lacking(
        wanted.manifest, made.files, wanted.rights, former=made.former, same=made.same, window=window
    )


def bring(wanted: Wanted, window: staging.Window, seconds: float = float("inf")) -> staging.Staged:
    """Copies a window of a dataset that is staged whole, for so long.

    The path shows what it showed, and the source where it showed nothing. NotMountedError without that.
    """
    table = mount_table.read_mounts()
    if mount_table.mount_at(table, wanted.source) is None:
        raise NotMountedError(f"nothing is mounted at {wanted.source}, from which {wanted.path} comes")
    if mount_table.mount_at(table, wanted.path) is None:
        compositions.publish(wanted.source, wanted.path)
    generation = _generation(next(reader.read_manifest(wanted.manifest)), wanted)
    Path(wanted.folder).mkdir(parents=True, exist_ok=True)
    Path(wanted.folder, COMING).write_text(generation, encoding="utf-8")
    copied, _ = _copy(wanted, generation, seconds, window)
    return copied


def view(wanted: Wanted, table: list[mount_table.Mount]) -> View | None:
    """What the path of a dataset shows; None where nothing is mounted there."""
    shown = mount_table.mount_at(table, wanted.path)
    if shown is None:
        return None
    place = _place(wanted.folder, table) if wanted.folder else None
    return _copy_of(shown, place) or View("source", "", shown["device"])


def _place(folder: str, table: list[mount_table.Mount]) -> tuple[str, str]:
    """The device of a stage's medium, and the stage's folder as mounts of what is in it have it for their root."""
    medium = mount_table.mount_of(table, folder)
    return medium["device"], f"{medium['root'].rstrip('/')}/{os.path.relpath(folder, medium['point'])}/"


def _copy_of(mount: mount_table.Mount, place: tuple[str, str] | None) -> View | None:
    """What a mount shows of the stage at `place`; None where it shows no copy."""
    if mount["type"] == "overlay" and mount["source"].startswith(f"{compositions.SOURCE}/"):
        _, generation, device = mount["source"].split("/")
        return View("part", generation, device)
    device, root = place or ("", "")
    if place and mount["device"] == device and mount["root"].startswith(root):
        return View("whole", mount["root"].removeprefix(root).partition("/")[0], device)
    return None


def seen(folder: str, path: str) -> dict[str, Any]:
    """{shows, files, bytes, readers, kept, scrub}: what the path of a dataset shows, what is staged, and who reads it.

    shows: `whole` or `part` of a copy, `source`, or `nothing`. kept: who goes by names in copies of before.
    scrub: scrub.Compared as a dictionary.
    """
    table = mount_table.read_mounts()
    shown = view(Wanted("", "", folder, path), table)
    generation = shown.generation if shown else ""
    found = record(Path(folder), generation) if generation else None
    former = _others(Path(folder), generation) if generation else []
    return {
        "shows": shown.kind if shown else "nothing",
        "files": found["files"] if found else 0,
        "bytes": found["bytes"] if found else 0,
        "readers": users.readers_at(path, table),
        "kept": [*dict.fromkeys(who for one in former for who in _held(one, generation, table).names)],
        "scrub": scrub.record(Path(folder) / generation if generation else Path())._asdict(),
    }


def compare_one(wanted: Wanted) -> scrub.Compared:
    """Compares one file of the copy that the path of a dataset shows, where it shows one."""
    shown = view(wanted, mount_table.read_mounts())
    if shown is None or not shown.generation:
        return scrub.Compared()
    return scrub.compare_one(Path(wanted.folder) / shown.generation, FILES)


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


def show(wanted: Wanted, generation: str, served: mount_table.Mount | None) -> None:
    """Mounts a generation at the path, in place of what is there; served: the mount that has the rest of a part."""
    folder = Path(wanted.folder)
    made, place = folder / generation, folder / VIEW
    place.mkdir(exist_ok=True)
    if wanted.is_part and served:
        layers = [str(made / FILES), wanted.source]
        compositions.view_of_layers(str(made / NAMES), layers, str(place), f"{generation}/{served['device']}")
    else:
        compositions.view_of_folder(str(made / FILES), str(place))
    try:
        compositions.publish(str(place), wanted.path)
    finally:
        mount_calls.detach(str(place))


def former(folder: Path, generation: str) -> list[str]:
    """Folders of the files of other generations."""
    return [str(one) for one in folder.glob(f"*/{FILES}") if one.parent.name != generation]


def remove_former(folder: Path, generation: str) -> tuple[bool, Former]:
    """Removes the other generations, but for those that somebody goes by names in; whether there was one to remove."""
    others = _others(folder, generation)
    if not others:
        return False, NOBODY
    time.sleep(compositions.LOOK_S)  # who began to open a file of what was shown before has opened it by then
    table = mount_table.read_mounts()
    removed, kept, still_open = False, dict[str, None](), dict[str, None]()
    for one in others:
        names, files = _held(one, generation, table)
        if names:
            kept |= dict.fromkeys(names)
        else:
            still_open |= dict.fromkeys(files)
            shutil.rmtree(one)
            removed = True
    return removed, Former(list(kept), list(still_open))


def _held(former: Path, generation: str, table: list[mount_table.Mount]) -> holders.Held:
    """Who needs the folder of a former generation, in place of which another one is shown."""
    place = _place(str(former.parent), table)

    def is_shown(mount: mount_table.Mount) -> bool:
        shown = _copy_of(mount, place)
        return shown is not None and shown.generation == former.name

    return holders.held(is_shown, [former / FILES, former / NAMES], former / FILES, former.parent / generation / FILES)


def _others(folder: Path, generation: str) -> list[Path]:
    coming = folder / COMING
    kept = {generation, VIEW, COMING, coming.read_text(encoding="utf-8") if coming.exists() else ""}
    return [one for one in folder.iterdir() if one.name not in kept]


def _generation(header: dict[str, Any], wanted: Wanted) -> str:
    whole: str = header["id"]
    if wanted.chosen:
        return f"{whole}-{Path(wanted.chosen).stem.rpartition('-')[2]}"
    if not wanted.budget:
        return whole
    part = hashlib.sha256(f"{wanted.budget} {wanted.per_file} {reader.seed_of(header)}".encode()).hexdigest()
    return f"{whole}-{part[:8]}"


def _is_as_wanted(shown: View | None, wanted: Wanted, generation: str, served: mount_table.Mount | None) -> bool:
    if shown is None:
        return False
    if not wanted.folder or not wanted.is_part:
        kind = "whole" if wanted.folder else "source"
        return shown.kind == kind and (shown.generation == generation or (kind == "source" and _is_of(shown, served)))
    # without the rest there is nothing better to show than the part as it is
    return (shown.kind, shown.generation) == ("part", generation) and (served is None or _is_of(shown, served))


def _is_of(shown: View, served: mount_table.Mount | None) -> bool:
    return served is not None and shown.device == served["device"]


class _Made:
    """A generation as it is made: its files, and those of others, of which some are of the same manifest."""

    def __init__(self, folder: Path, generation: str) -> None:
        self.files = str(folder / generation / FILES)
        self.former = former(folder, generation)
        whole = generation.partition("-")[0]
        self.same = [one for one in self.former if Path(one).parent.name.partition("-")[0] == whole]


def _copy(
    wanted: Wanted, generation: str, seconds: float, window: staging.Window = staging.WHOLE
) -> tuple[staging.Staged, staging.Part | None]:
    made = _Made(Path(wanted.folder), generation)
    part = _part(wanted)
    copied = staging.stage(
        wanted.manifest,
        wanted.source,
        made.files,
        wanted.rights,
        processes=wanted.processes,
        seconds=seconds,
        former=made.former,
        chosen=part.paths if part else None,
        same=made.same,
        bandwidth=wanted.bandwidth,
        window=window,
    )
    return copied, part


def _part(wanted: Wanted) -> staging.Part | None:
    if wanted.chosen:
        return staging.chosen_part(wanted.manifest, wanted.chosen)
    return staging.part(wanted.manifest, wanted.budget, wanted.per_file) if wanted.budget else None


def _write_names(wanted: Wanted, generation: Path) -> None:
    shutil.rmtree(generation / NAMES, ignore_errors=True)
    rows = reader.read_manifest(wanted.manifest)
    next(rows)
    names = (
        compositions.Name(row["path"], None if row["type"] == "folder" else row["size"], row.get("mtime") or 0)
        for row in rows
        if row["type"] in ("file", "folder") and not row.get("unreadable")
    )
    compositions.write_names(str(generation / NAMES), names, wanted.rights)

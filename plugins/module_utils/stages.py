"""The staged copy of a dataset on a node: it is made, shown at its path, and looked at."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import (
    compositions,
    generations,
    mount_calls,
    mount_table,
    reader,
    scrub,
    staging,
    users,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.generations import (
    COMING,
    FILES,
    NAMES,
    NOBODY,
    VIEW,
    Former,
    View,
)


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
    found = generations.record(folder, generation) if wanted.folder else {}
    shown = generations.view(wanted.folder, wanted.path, table)
    scrubbed = scrub.record(folder / generation)
    stands, theirs = _is_as_wanted(shown, wanted, generation, served), _is_theirs(wanted, generation)
    if found is not None and not scrubbed.wrong and stands and theirs:
        removed, left = _remove_former(wanted, generation, look=look)
        return Kept(removed, True, found, total, left, [])
    if look:
        return Kept(True, False, found or {}, total, NOBODY, [])
    if served is None and (found is None or wanted.is_part or not wanted.folder):
        raise NotMountedError(f"nothing is mounted at {wanted.source}, from which {wanted.path} comes")
    if served and (shown is None or (shown.kind != "whole" and shown.device != served["device"]) or not wanted.folder):
        compositions.publish(wanted.source, wanted.path)
    if not wanted.folder:
        return Kept(True, True, {}, total, NOBODY, [])
    is_shown = shown is not None and shown.generation == generation
    _hand_over(wanted, generation)
    # the node was started again since, or a file was seen to differ: its medium is not taken at its word
    if found is not None and (scrubbed.wrong or not is_shown) and not _is_right(wanted, generation, scrubbed.mended):
        found = None
        if served is None:
            raise NotMountedError(f"nothing is mounted at {wanted.source}, and files of {folder} have other bytes now")
    if found is None:
        copied, part = _copy(wanted, generation, seconds)
        found = {"files": copied.files, "bytes": copied.bytes, "of_source": copied.of_source}
        if not copied.complete or copied.problems:
            return Kept(True, copied.complete, found, total, NOBODY, copied.problems)
        if part:
            found["kinds"] = part.kinds
            if not is_shown:  # readers go by its names
                _write_names(wanted, folder / generation)
        generations.keep_record(folder, generation, found)
        generations.forget_windows(wanted.folder)
    if wanted.is_part or not stands:  # a whole copy that stands shows what was done to its files
        show(wanted, generation, served)
    return Kept(True, True, found, total, generations.remove_former(folder, generation)[1], [])


def is_made(wanted: Wanted) -> bool:
    """Whether the copy that is wanted was made, whatever its path shows."""
    return (
        generations.record(Path(wanted.folder), _generation(next(reader.read_manifest(wanted.manifest)), wanted))
        is not None
    )


def lacking(wanted: Wanted, window: staging.Window) -> Iterator[tuple[str, int]]:
    """Path and size of a window's files that the node is to stage and lacks."""
    folder, generation = Path(wanted.folder), _generation(next(reader.read_manifest(wanted.manifest)), wanted)
    if generations.record(folder, generation) is not None:
        return iter(())
    made, part = _Made(folder, generation), _part(wanted)
    rows = staging.lacking(
        wanted.manifest,
        made.files,
        wanted.rights,
        former=made.former,
        same=made.same,
        chosen=part.paths if part else None,
        window=window,
    )
    return ((row["path"], row["size"]) for row in rows if not row.get("left_out"))


def refuse(wanted: Wanted) -> None:
    """NotMountedError without the mount that is copied from; OSError, before anything is written, without room."""
    if mount_table.mount_at(mount_table.read_mounts(), wanted.source) is None:
        raise NotMountedError(f"nothing is mounted at {wanted.source}, from which {wanted.path} comes")
    made = _Made(Path(wanted.folder), _generation(next(reader.read_manifest(wanted.manifest)), wanted))
    if not wanted.chosen and not Path(made.files).exists():
        _refuse_without_room(wanted, made, _part(wanted))


def bring(wanted: Wanted, window: staging.Window, seconds: float = float("inf")) -> staging.Staged:
    """Copies a window of what is staged, for so long.

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
    _hand_over(wanted, generation)
    copied, _ = _copy(wanted, generation, seconds, window)
    return copied


def seen(folder: str, path: str) -> dict[str, Any]:
    """{shows, files, bytes, direct, readers, kept, scrub}: what a dataset's path shows, what is staged, who reads it.

    shows: `whole` or `part` of a copy, `source`, or `nothing`. direct: whether staged files open with O_DIRECT, None
    where there are none. kept: who goes by names in copies of before. scrub: scrub.Compared as a dictionary.
    """
    table = mount_table.read_mounts()
    shown = generations.view(folder, path, table)
    generation = shown.generation if shown else ""
    found = generations.record(Path(folder), generation) if generation else None
    former = generations.others(Path(folder), generation) if generation else []
    return {
        "shows": shown.kind if shown else "nothing",
        "files": found["files"] if found else 0,
        "bytes": found["bytes"] if found else 0,
        "direct": _opens_directly(Path(folder) / generation / FILES, path) if generation else None,
        "readers": users.readers_at(path, table),
        "kept": [*dict.fromkeys(who for one in former for who in generations.held(one, generation, table).names)],
        "scrub": scrub.record(Path(folder) / generation if generation else Path())._asdict(),
    }


def _opens_directly(files: Path, path: str) -> bool | None:
    """Of one of the files that a path shows from a copy; those that are being copied have no name there yet."""
    for root, _, names in os.walk(files):
        for name in names:
            try:
                return compositions.opens_directly(str(Path(path) / Path(root, name).relative_to(files)))
            except FileNotFoundError:
                continue
            except OSError:  # a medium that fails tells nothing of this
                return None
    return None


def compare_one(wanted: Wanted) -> scrub.Compared:
    """Compares one file of the copy that the path of a dataset shows, where it shows one."""
    shown = generations.view(wanted.folder, wanted.path, mount_table.read_mounts())
    if shown is None or not shown.generation:
        return scrub.Compared()
    return scrub.compare_one(Path(wanted.folder) / shown.generation, FILES)


def show(wanted: Wanted, generation: str, served: mount_table.Mount | None) -> None:
    """Mounts a generation at the path, in place of what is there; served: the mount that has the rest of a part."""
    folder = Path(wanted.folder)
    made, place = folder / generation, folder / VIEW
    place.mkdir(exist_ok=True)
    try:
        if wanted.is_part and served:
            layers = [str(made / FILES), wanted.source]
            compositions.view_of_layers(str(made / NAMES), layers, str(place), f"{generation}/{served['device']}")
        else:
            compositions.view_of_folder(str(made / FILES), str(place))
        compositions.publish(str(place), wanted.path)
    finally:
        _clear(place)  # also of what a process left that was killed here


def _clear(view: Path) -> None:
    """Nothing is mounted at the view of a stage any more."""
    while mount_table.mount_at(mount_table.read_mounts(), str(view)):
        mount_calls.detach(str(view))


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


def _remove_former(wanted: Wanted, generation: str, *, look: bool) -> tuple[bool, Former]:
    """Whether a former copy was removed, or would be, and who needs those that stay."""
    folder = Path(wanted.folder)
    if look or not wanted.folder:
        return bool(wanted.folder) and generations.removable(folder, generation), NOBODY
    return generations.remove_former(folder, generation)


def _is_right(wanted: Wanted, generation: str, mended: int) -> bool:
    """Reads a whole copy again; what is wrong in it is to be copied again, so it is not whole any more."""
    folder = Path(wanted.folder)
    wrong = staging.wrong_files(str(folder / generation / FILES), wanted.processes)
    if wrong:
        staging.disown(wrong)
        generations.drop_record(folder, generation)  # and not before: without a record, digests are believed
    scrub.keep_record(folder / generation, scrub.Compared(mended=mended + len(wrong)))
    return not wrong


def _is_theirs(wanted: Wanted, generation: str) -> bool:
    """Whether what there is of a generation has the readers that are wanted."""
    files = Path(wanted.folder, generation, FILES)
    return not wanted.folder or not files.exists() or staging.is_of(str(files), wanted.rights)


def _hand_over(wanted: Wanted, generation: str) -> None:
    """Gives what there is of a generation the readers that are wanted."""
    if _is_theirs(wanted, generation):
        return
    for one in (NAMES, FILES):  # the second tells whether both are done
        staging.hand_over(str(Path(wanted.folder, generation, one)), wanted.rights)


class _Made:
    """A generation as it is made: its files, and those of others, of which some are of the same manifest."""

    def __init__(self, folder: Path, generation: str) -> None:
        self.files = str(folder / generation / FILES)
        self.former = generations.former(folder, generation)
        whole = generation.partition("-")[0]
        self.same = [one for one in self.former if Path(one).parent.name.partition("-")[0] == whole]


def _copy(
    wanted: Wanted, generation: str, seconds: float, window: staging.Window = staging.WHOLE
) -> tuple[staging.Staged, staging.Part | None]:
    """What a task chose is copied as far as there is room; of anything else, the whole or nothing."""
    made = _Made(Path(wanted.folder), generation)
    part = _part(wanted)
    if not wanted.chosen and not Path(made.files).exists():
        _refuse_without_room(wanted, made, part)
    try:
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
    except OSError as error:
        if error.errno == errno.ENOSPC and not wanted.chosen:
            _give_up_unfinished(wanted, generation)
        raise
    return copied, part


def _give_up_unfinished(wanted: Wanted, generation: str) -> None:
    """Removes what there is of a copy that found no room: others need the medium, too. One that is shown stays."""
    shown = generations.view(wanted.folder, wanted.path, mount_table.read_mounts())
    if shown is None or shown.generation != generation:
        shutil.rmtree(Path(wanted.folder) / generation, ignore_errors=True)  # it may not be there yet


def _refuse_without_room(wanted: Wanted, made: _Made, part: staging.Part | None) -> None:
    """OSError, before anything is written, where a copy cannot fit."""
    chosen = part.paths if part else None
    rows = staging.lacking(
        wanted.manifest, made.files, wanted.rights, former=made.former, same=made.same, chosen=chosen
    )
    needed = files = 0
    for row in rows:
        needed += -(-row["size"] // staging.BLOCK) * staging.BLOCK
        files += 1
    medium = os.statvfs(next(one for one in Path(made.files).parents if one.exists()))
    free = medium.f_bfree * medium.f_frsize
    if needed > free:
        said = f"{needed} bytes are to be copied, and {free} are free"
    elif medium.f_files and files > medium.f_ffree:  # 0: as many as there is room for
        said = f"{files} files are to be copied, and {medium.f_ffree} inodes are free"
    else:
        return
    raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {said}", wanted.folder)


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
        if row["type"] in ("file", "folder") and not row.get("unreadable") and staging.stays_inside(row["path"])
    )
    compositions.write_names(str(generation / NAMES), names, wanted.rights)

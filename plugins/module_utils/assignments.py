"""What a node is told to stage: a file and a manifest for each dataset, which outlive the run that wrote them."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils.stages import Wanted

MANIFEST, CHOSEN = ".jsonl", ".chosen"
AGAIN_S = 0.1


class BusyError(Exception):
    """Somebody else stages on this node."""


def assign(folder: str, wanted: Wanted) -> None:
    """Keeps what is wanted at a path, in place of what was, the manifest as it is now, and a list."""
    Path(folder).mkdir(mode=0o755, exist_ok=True)
    file = _file(folder, wanted.path)
    part, manifest = file.with_suffix(".part"), file.with_suffix(MANIFEST)
    part.unlink(missing_ok=True)
    os.link(wanted.manifest, part)
    part.replace(manifest)
    part.unlink(missing_ok=True)  # of two names of one file, rename leaves both
    chosen = _keep_chosen(file, wanted.chosen) if wanted.chosen else ""
    about = dataclasses.asdict(replace(wanted, manifest=str(manifest), chosen=chosen))
    with part.open("w", encoding="utf-8") as text:
        json.dump(about, text)
        text.flush()
        os.fsync(text.fileno())  # else a power cut may leave the name, and nothing in it
    part.replace(file)
    _drop_chosen(file, chosen)


def unassign(folder: str, path: str) -> None:
    """Nothing is wanted at a path any more."""
    file = _file(folder, path)
    file.unlink(missing_ok=True)
    file.with_suffix(MANIFEST).unlink(missing_ok=True)
    _drop_chosen(file)


def assigned_at(folder: str, path: str) -> Wanted | None:
    """What is wanted at a path; None where nothing is."""
    return next((one for one in assigned(folder) if one.path == path), None)


def assigned(folder: str) -> list[Wanted]:
    """All that is wanted on this node, but for what `unread` names."""
    return [wanted for wanted in map(_wanted, _files(folder)) if wanted]


def unread(folder: str) -> list[str]:
    """Files that say nothing that can be read; the next run writes them anew."""
    return [str(file) for file in _files(folder) if _wanted(file) is None]


@contextmanager
def alone(folder: str, patience: float = float("inf")) -> Iterator[None]:
    """No other program stages on this node meanwhile; BusyError where one does for so many seconds.

    A program that waits for ever is next in turn. One with less patience looks each AGAIN_S: programs that copy slice
    after slice rest in between.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if patience == float("inf"):
            fcntl.flock(handle, fcntl.LOCK_EX)
        else:
            _take(handle, time.monotonic() + patience)
        yield
    finally:
        os.close(handle)


def _take(handle: int, until: float) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise BusyError from None
            time.sleep(AGAIN_S)
        else:
            return


def _keep_chosen(file: Path, chosen: str) -> str:
    """A list under the name that its digest gives it, beside the file of what is wanted."""
    with Path(chosen).open("rb") as lines:
        digest = hashlib.sha256()
        while part := lines.read(1 << 20):
            digest.update(part)
    kept = file.with_name(f"{file.stem}-{digest.hexdigest()[:8]}{CHOSEN}")
    if not kept.exists():
        part_of_it = file.with_suffix(".part")
        shutil.copyfile(chosen, part_of_it)
        part_of_it.replace(kept)
    return str(kept)


def _drop_chosen(file: Path, but: str = "") -> None:
    for one in file.parent.glob(f"{file.stem}-*{CHOSEN}"):
        if str(one) != but:
            one.unlink()


def _wanted(file: Path) -> Wanted | None:
    """What a file says; other versions may write more than this one reads."""
    known = {field.name for field in dataclasses.fields(Wanted)}
    try:
        said: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return Wanted(**{key: value for key, value in said.items() if key in known})
    except (ValueError, TypeError, AttributeError):
        return None


def _files(folder: str) -> list[Path]:
    return sorted(Path(folder).glob("*.json"))


def _file(folder: str, path: str) -> Path:
    return Path(folder, f"{hashlib.sha256(path.encode()).hexdigest()[:16]}.json")

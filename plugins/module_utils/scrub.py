"""Compares staged files with what was copied, one now and then and for as long as there is a copy."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import staging

RECORD = "scrub.json"


class Compared(NamedTuple):
    """How many files were compared, paths of those that differ now, and how many were copied again so far."""

    files: int = 0
    wrong: Sequence[str] = ()
    mended: int = 0


def record(generation: Path) -> Compared:
    """What was found in the folder of a generation."""
    try:
        found: dict[str, Any] = json.loads((generation / RECORD).read_text(encoding="utf-8"))
        return Compared(**found)
    except (OSError, ValueError, TypeError):
        return Compared()


def keep_record(generation: Path, found: Compared) -> None:
    """Notes what was found; a crash leaves the note of before."""
    part = generation / f".{RECORD}.part"
    part.write_text(json.dumps(found._asdict()), encoding="utf-8")
    part.replace(generation / RECORD)


def compare_one(generation: Path, files: str) -> Compared:
    """Compares a file below folder `files` of a generation, any one, with the digest that it had when it was copied."""
    found, path = record(generation), any_file(generation / files)
    if path is None:
        return found
    name = str(path.relative_to(generation / files))
    wrong = sorted({*found.wrong, name} if staging.is_wrong(str(path)) else {*found.wrong} - {name})
    now = found._replace(files=found.files + 1, wrong=wrong)
    keep_record(generation, now)
    return now


def any_file(folder: Path) -> Path | None:
    """A file below a folder, found by going down at random; None where that leads to an empty folder."""
    while True:
        with os.scandir(folder) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        if not names:
            return None
        name, is_folder = random.choice(names)
        if not is_folder:
            return folder / name
        folder /= name

"""What a node is told to stage: a file and a manifest for each dataset, which outlive the run that wrote them."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils.stages import Wanted

MANIFEST, CHOSEN = ".jsonl", ".chosen"


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
    part.write_text(json.dumps(about), encoding="utf-8")
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
    """All that is wanted on this node."""
    return [_wanted(json.loads(file.read_text(encoding="utf-8"))) for file in sorted(Path(folder).glob("*.json"))]


@contextmanager
def alone(folder: str) -> Iterator[None]:
    """Nobody else stages on this node meanwhile."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


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


def _wanted(said: dict[str, Any]) -> Wanted:
    """What a file says; an earlier version wrote a `seed`, which is now the manifest's."""
    return Wanted(**{key: value for key, value in said.items() if key != "seed"})


def _file(folder: str, path: str) -> Path:
    return Path(folder, f"{hashlib.sha256(path.encode()).hexdigest()[:16]}.json")

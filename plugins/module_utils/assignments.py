"""What a node is told to stage: a file and a manifest for each dataset, which outlive the run that wrote them."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.stages import Wanted

MANIFEST = ".jsonl"


def assign(folder: str, wanted: Wanted) -> None:
    """Keeps what is wanted at a path, in place of what was, and the manifest as it is now."""
    Path(folder).mkdir(mode=0o755, exist_ok=True)
    file = _file(folder, wanted.path)
    part, manifest = file.with_suffix(".part"), file.with_suffix(MANIFEST)
    part.unlink(missing_ok=True)
    os.link(wanted.manifest, part)
    part.replace(manifest)
    part.unlink(missing_ok=True)  # of two names of one file, rename leaves both
    part.write_text(json.dumps(dataclasses.asdict(replace(wanted, manifest=str(manifest)))), encoding="utf-8")
    part.replace(file)


def unassign(folder: str, path: str) -> None:
    """Nothing is wanted at a path any more."""
    file = _file(folder, path)
    file.unlink(missing_ok=True)
    file.with_suffix(MANIFEST).unlink(missing_ok=True)


def assigned(folder: str) -> list[Wanted]:
    """All that is wanted on this node."""
    return [Wanted(**json.loads(file.read_text(encoding="utf-8"))) for file in sorted(Path(folder).glob("*.json"))]


@contextmanager
def alone(folder: str) -> Iterator[None]:
    """Nobody else stages on this node meanwhile."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _file(folder: str, path: str) -> Path:
    return Path(folder, f"{hashlib.sha256(path.encode()).hexdigest()[:16]}.json")

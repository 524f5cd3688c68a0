"""Writes the bundle: one archive that only its owner can read, with an index of what is in it and what is not."""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alluxio_fuse.diagnosis.parts import Part
from alluxio_fuse.diagnosis.redaction import Redactor

INDEX = "index.json"

Index = dict[str, Any]


def write(path: Path, name: str, parts: Sequence[Part], redactor: Redactor) -> Index:
    """Write the parts, redacted, as a .tar.gz of mode 0600; the index that is in it, too.

    Index: {deployment, made (UTC), parts: [{path, bytes, cut}], missing: [{path, why}]}. Raises OSError where `path`
    cannot be written.
    """
    made = time.time()
    texts = {one.path: redactor.document(one.text).encode() for one in parts if not one.why}
    index = {
        "deployment": name,
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(made)),
        "parts": [{"path": one.path, "bytes": len(texts[one.path]), "cut": one.cut} for one in parts if not one.why],
        "missing": [{"path": one.path, "why": redactor.text(one.why)} for one in parts if one.why],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for member, text in {INDEX: json.dumps(index, indent=1).encode(), **texts}.items():
            about = tarfile.TarInfo(f"{path.name.partition('.')[0]}/{member}")
            about.size, about.mtime, about.mode = len(text), int(made), 0o600
            archive.addfile(about, io.BytesIO(text))
    unfinished.replace(path)
    return index


def lines(path: str, index: Index) -> str:
    """What the terminal says of a bundle."""
    missing = [f"  not in it  {one['path']}: {' '.join(one['why'].split())}" for one in index["missing"]]
    return "\n".join([f"diagnosis  {path}: {len(index['parts'])} parts", *missing])

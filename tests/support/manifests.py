"""Manifests of folders, as the module makes them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import Draft
from ansible_collections.alluxio.fuse.plugins.module_utils.source_folder import source_of

KINDS = ["sha256", "md5"]


def save(root: Path, path: Path, kind: str = "sha256") -> Path:
    """Write the manifest of a folder, with the digests of all its files. kind: `md5` as of a store whose ETags are."""
    source = source_of(str(root), 2)
    Draft(f"file://{root}", source.listed, 1 << 30).save(str(path), source)
    if kind != "sha256":
        header, *rows = map(json.loads, path.read_text().splitlines())
        for row in rows:
            if "value" in row.get("digest", {}):
                value = hashlib.new(kind, (root / row["path"]).read_bytes()).hexdigest()
                row["digest"] = {"algorithm": kind, "value": value, "of": "source"}
        path.write_text("".join(json.dumps(row) + "\n" for row in (header, *rows)))
    return path

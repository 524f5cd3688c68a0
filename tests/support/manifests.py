"""Manifests of folders, as the module makes them."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import Draft
from ansible_collections.alluxio.fuse.plugins.module_utils.source_folder import source_of


def save(root: Path, path: Path) -> Path:
    """Write the manifest of a folder, with the digests of all its files."""
    source = source_of(str(root), 2)
    Draft(f"file://{root}", source.listed, 1 << 30).save(str(path), source)
    return path

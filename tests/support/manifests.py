"""Manifests of folders, as the module makes them."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import Draft
from ansible_collections.alluxio.fuse.plugins.module_utils.source_folder import folder_digests, list_folder


def save(root: Path, path: Path) -> Path:
    """Write the manifest of a folder, with the digests of all its files."""
    Draft(f"file://{root}", list_folder(str(root)), 1 << 30).save(str(path), folder_digests(str(root), 2))
    return path

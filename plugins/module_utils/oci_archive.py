"""An archive of one image, as `podman save --format oci-archive` writes it: every blob in it is named by its digest."""

from __future__ import annotations

import hashlib
import json
import tarfile
from typing import IO, Any

BLOBS = "blobs/sha256/"
_CHUNK = 4 * 2**20


class BrokenArchiveError(Exception):
    """The archive is not what was packed."""


def read(path: str) -> tuple[str, dict[str, Any]]:
    """The image's digest and config, once every blob proved to be what its name says."""
    small = {}
    blobs = set()
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                file = archive.extractfile(member)
                if file is None:
                    continue
                if member.name.startswith(BLOBS):
                    blobs.add(_proven(path, member.name, file))
                    file.seek(0)
                if member.size < _CHUNK:
                    small[member.name] = file.read()
        (described,) = json.loads(small["index.json"])["manifests"]
        manifest = json.loads(small[_blob(described)])
        config = json.loads(small[_blob(manifest["config"])])
    except (tarfile.TarError, KeyError, ValueError) as error:
        raise BrokenArchiveError(f"{path} is no whole archive of one image: {error}") from None
    if lacking := {_blob(layer) for layer in manifest["layers"]} - blobs:
        raise BrokenArchiveError(f"{path} is no whole archive of one image: it lacks {', '.join(sorted(lacking))}")
    return described["digest"], config


def _blob(described: dict[str, Any]) -> str:
    return BLOBS + str(described["digest"]).partition(":")[2]


def _proven(path: str, name: str, file: IO[bytes]) -> str:
    found = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        found.update(chunk)
    if found.hexdigest() != name[len(BLOBS) :]:
        raise BrokenArchiveError(f"{path}: {name} has the sha256 {found.hexdigest()}")
    return name

"""The manifest: what a dataset's source holds, taken from the source itself and never through a mount.

JSON lines: a header, then one object per file (path, size, stamp, digest). The stamp (mtime in ns, or an ETag) says
whether a manifest still describes its source.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils.reader import BUFFER_BYTES, file_digest, fork_map

VERSION = 2
LARGE_BYTES = 16 << 20  # files from here on are read as large ones
RECORD_HEAD = 12  # bytes of a TFRecord's length and that length's checksum


class Found(NamedTuple):
    """A file of the source."""

    path: str
    size: int
    stamp: str


class Listing(NamedTuple):
    """Regular files of the source in the order of their paths, and how many of what else were left out."""

    files: list[Found]
    ignored: dict[str, int]


Digests = Callable[[list[Found]], dict[str, str]]


def list_folder(root: str) -> Listing:
    """Walks a folder. Alluxio cannot serve names that are not UTF-8; links may lead out of the source."""
    files: list[Found] = []
    ignored: dict[str, int] = {}
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(f"{root}/{folder}") as found:
            for item in found:
                path = f"{folder}/{item.name}" if folder else item.name
                reason = _unfit(item)
                if reason:
                    ignored[reason] = ignored.get(reason, 0) + 1
                elif item.is_dir(follow_symlinks=False):
                    pending.append(path)
                else:
                    status = item.stat(follow_symlinks=False)
                    files.append(Found(path, status.st_size, str(status.st_mtime_ns)))
    return Listing(sorted(files), ignored)


def _unfit(item: os.DirEntry[str]) -> str | None:
    if name := unfit_name(item.name):
        return name
    mode = item.stat(follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        return "link"
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else "special file"


def unfit_name(name: str) -> str | None:
    """Why a file of this name is not part of the dataset."""
    if name.startswith("."):
        return "hidden"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "name is not UTF-8"
    return "name has a control character" if any(ord(char) < 32 for char in name) else None


def folder_digests(root: str, processes: int) -> Digests:
    """sha256 of files below `root`, computed by `processes` processes."""

    def digests(files: list[Found]) -> dict[str, str]:
        # largest first, dealt in turn: the processes end together
        order = sorted(files, key=lambda found: -found.size)
        parts = fork_map(lambda share: _digest_share(root, share), [order[i::processes] for i in range(processes)])
        return {path: digest for part in parts for path, digest in part.items()}

    return digests


def _digest_share(root: str, files: list[Found]) -> dict[str, str]:
    view = memoryview(bytearray(BUFFER_BYTES))
    out = {}
    for found in files:
        size, out[found.path] = file_digest(f"{root}/{found.path}", view)
        if size != found.size:
            raise OSError(f"{found.path} changed while it was read")
    return out


Heads = Callable[[Found], bytes]


def folder_heads(root: str) -> Heads:
    """The first bytes of a file below `root`."""

    def head(found: Found) -> bytes:
        with Path(root, found.path).open("rb") as stream:
            return stream.read(RECORD_HEAD)

    return head


def holds_records(listing: Listing, heads: Heads) -> bool:
    """Whether the first and the last large file begin as TFRecord files do."""
    large = [found for found in listing.files if found.size >= LARGE_BYTES]
    return bool(large) and all(begins_record(heads(found)) for found in (large[0], large[-1]))


def begins_record(head: bytes) -> bool:
    """Whether these bytes are a length and its masked crc32c."""
    crc = 0xFFFFFFFF
    for byte in head[:8]:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return len(head) == RECORD_HEAD and head[8:] == masked.to_bytes(4, "little")


def header(source: str, listing: Listing, limit: int, seed: int) -> dict[str, Any]:
    """What the manifest of this listing says of the whole; `id` changes with any file, limit or seed."""
    sizes = {"small": [f.size for f in listing.files if f.size < LARGE_BYTES]}
    sizes["large"] = [f.size for f in listing.files if f.size >= LARGE_BYTES]
    chosen = sample(listing.files, limit, seed)
    content = json.dumps([VERSION, source, limit, seed, listing.files])
    return {
        "version": VERSION,
        "source": source,
        "files": len(listing.files),
        "bytes": sum(found.size for found in listing.files),
        "large_bytes": LARGE_BYTES,
        **{kind: {"files": len(of_kind), "bytes": sum(of_kind)} for kind, of_kind in sizes.items()},
        "ignored": listing.ignored,
        "digest": "sha256",
        "digested": {"files": len(chosen), "bytes": sum(f.size for f in chosen), "seed": seed, "limit": limit},
        "coverage": "all" if len(chosen) == len(listing.files) else "sample",
        "id": hashlib.sha256(content.encode()).hexdigest()[:16],
    }


def sample(files: list[Found], limit: int, seed: int) -> list[Found]:
    """All files if they fit in `limit` bytes, else a seeded choice over the whole set that does (one file at least)."""
    if sum(found.size for found in files) <= limit:
        return files
    chosen, total = [], 0
    for found in sorted(files, key=lambda f: hashlib.blake2b(f"{seed}/digest/{f.path}".encode()).digest()):
        if chosen and total + found.size > limit:
            continue
        chosen.append(found)
        total += found.size
    return chosen


def saved_header(path: str) -> dict[str, Any] | None:
    """Header of a manifest made before; None if there is none that can be read."""
    try:
        with Path(path).open(encoding="ascii") as lines:
            return json.loads(next(lines))
    except (OSError, ValueError, StopIteration):
        return None


def save(path: str, head: dict[str, Any], files: list[Found], digests: dict[str, str]) -> None:
    """Writes the manifest at once or not at all, readable by everybody."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.tmp")
    with temporary.open("w", encoding="ascii") as out:
        out.write(json.dumps(head) + "\n")
        for found in files:
            row = {"path": found.path, "size": found.size, "stamp": found.stamp}
            if digest := digests.get(found.path):
                row["digest"] = digest
            out.write(json.dumps(row) + "\n")
    temporary.chmod(0o644)
    temporary.replace(target)

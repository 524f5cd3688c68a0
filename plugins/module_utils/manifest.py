"""The manifest: what a dataset's source holds, taken from the source itself and never through a mount.

JSON lines: a header, then one object per file (path, size, stamp, digest). The stamp (mtime in ns, or an ETag) says
whether a manifest still describes its source.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils.reader import BUFFER_BYTES, file_digest, fork_map

VERSION = 2
LARGE_BYTES = 16 << 20  # files from here on are read as large ones
SHOWN = 10  # of the names that cannot be served
CHARACTER = "`?` or `\\` in the name"
BEYOND_BMP = "a character beyond U+FFFF in the name, such as an emoji"
NOT_UTF8 = "not UTF-8"
BROKEN_LINK = "a link to nothing"
LINK_OUT = "a link that leads out of the source"
ENDLESS_LINK = "a link to a folder that holds it"
EMPTIES = "    A folder with a name that is not UTF-8, or a link to nothing or out of the source, lists as empty."
RECORD_HEAD = 12  # bytes of a TFRecord's length and that length's checksum


class Found(NamedTuple):
    """A file of the source."""

    path: str
    size: int
    stamp: str


class Unreadable(NamedTuple):
    """What Alluxio cannot serve: its path and the reason."""

    path: str
    reason: str


class Listing(NamedTuple):
    """Regular files of the source in the order of their paths, and what else there is.

    `ignored` counts by reason what is left out though the mount may serve it. Of `unreadable` a folder is named, not
    what is in it.
    """

    files: list[Found]
    ignored: dict[str, int]
    unreadable: list[Unreadable]


Digests = Callable[[list[Found]], dict[str, str]]


def list_folder(root: str) -> Listing:
    """Walks a folder; links are not followed."""
    files: list[Found] = []
    ignored: dict[str, int] = {}
    unreadable: list[Unreadable] = []
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(f"{root}/{folder}") as found:
            for item in found:
                path = f"{folder}/{item.name}" if folder else item.name
                if hidden_name(item.name):
                    ignored["hidden"] = ignored.get("hidden", 0) + 1
                elif reason := unreadable_name(item.name) or unreadable_link(root, item):
                    unreadable.append(Unreadable(path, reason))
                elif reason := _unfit(item):
                    ignored[reason] = ignored.get(reason, 0) + 1
                elif item.is_dir(follow_symlinks=False):
                    pending.append(path)
                else:
                    status = item.stat(follow_symlinks=False)
                    files.append(Found(path, status.st_size, str(status.st_mtime_ns)))
    return Listing(sorted(files), ignored, sorted(unreadable))


def _unfit(item: os.DirEntry[str]) -> str | None:
    if has_control_character(item.name):
        return "name has a control character"
    mode = item.stat(follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        return "link"
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else "special file"


def hidden_name(name: str) -> bool:
    """Whether a file of this name is left out as hidden."""
    return name.startswith(".")


def has_control_character(name: str) -> bool:
    """Whether a name has a character that would break lines and terminals."""
    return any(ord(char) < 32 for char in name)


def unreadable_name(name: str) -> str | None:
    """Why Alluxio 2.9.6 cannot serve a file of this name: measured by tests/upkeep/test_names.py."""
    if "?" in name or "\\" in name:
        return CHARACTER
    try:
        name.encode()
    except UnicodeEncodeError:
        return NOT_UTF8
    return BEYOND_BMP if any(ord(char) > 0xFFFF for char in name) else None


def unreadable_link(root: str, item: os.DirEntry[str]) -> str | None:
    """Why Alluxio cannot serve a link, which it follows in a container that sees the source alone."""
    if not item.is_symlink():
        return None
    top, place = Path(root).resolve(), Path(item.path)
    try:
        target = place.resolve(strict=True)
    except (OSError, RuntimeError):  # the latter for a circle of links, up to Python 3.12
        return BROKEN_LINK
    if target != top and top not in target.parents:
        return LINK_OUT
    return ENDLESS_LINK if target in place.parent.resolve().joinpath(place.name).parents else None


def unreadable_text(source: str, found: list[Unreadable]) -> str:
    """What is said of names that cannot be served: their number, the first of them, and the effect."""
    reasons = sorted({one.reason for one in found})
    shown = [f"    {one.path!a}: {one.reason}" for one in found[:SHOWN]]
    more = [f"    and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    empty = [EMPTIES] if {NOT_UTF8, BROKEN_LINK, LINK_OUT} & set(reasons) else []
    count = "1 name" if len(found) == 1 else f"{len(found)} names"
    return "\n".join([f"{source}: {count} that Alluxio 2.9.6 cannot serve:", *shown, *more, *empty])


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
        "unreadable": dict(Counter(one.reason for one in listing.unreadable)),
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


def saved_sources(folder: str) -> dict[str, str]:
    """By dataset, the source that its manifest in a folder was made of."""
    headers = {path.stem: saved_header(str(path)) for path in Path(folder).glob("*.jsonl")}
    return {dataset: str(found["source"]) for dataset, found in headers.items() if found and "source" in found}


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

"""Copies a dataset onto a node's own medium: each file verified before it gets its name, and never written again.

The digest of a file stands beside its bytes, in an extended attribute: a file that has it, and the manifest's size, is
right, so an interrupted copy goes on where it was.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import json
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import pace, reader

PART = ".part-"  # of names that files have until they are right, at the root of the copy
DIGEST = "trusted.alluxio_fuse."  # and its algorithm: one letter, whose digest it is, and the digest
OF_SOURCE, OF_FIRST_READ = b"s", b"f"
BUFFER_BYTES = 1 << 20
BATCH_FILES, BATCH_BYTES = 256, 64 << 20  # that become durable together: a sync of each small file would cost more
MAX_PROBLEMS = 10
KINDS = ("small", "large")
BLOCK = 4096  # of a filesystem, and a page of memory
LINKS = "a dataset with links is staged whole or not at all: write stage: off"
SPARE = 1.02  # folders, and what a filesystem keeps of each file in blocks of its own


class Rights(NamedTuple):
    """Whose files and folders are, and who may read and enter them; writing is nobody's."""

    uid: int
    gid: int
    mode: int


class Staged(NamedTuple):
    """Files and bytes that are there, of how many files the digest is the source's, and how many were copied for it.

    complete: whether all were looked at within the time that there was.
    """

    files: int
    bytes: int
    of_source: int
    copied: int
    complete: bool
    problems: list[reader.Problem]


class Window(NamedTuple):
    """One of several windows on a dataset, `place` of `windows`: each file is in one, whichever others there are."""

    place: int = 0
    windows: int = 1

    def has(self, path: str) -> bool:
        """Whether a file is in it. By other bits of this sum tasks of warm-up share files between nodes."""
        return self.windows == 1 or (zlib.crc32(os.fsencode(path)) >> 16) % self.windows == self.place


WHOLE = Window()


class Part(NamedTuple):
    """Files that fit in a budget, and how many of each kind these are: {small, large}."""

    paths: frozenset[str]
    kinds: dict[str, int]


class WrongBytesError(Exception):
    """A file that is not what the manifest says."""


def stage(
    manifest: str,
    source: str,
    folder: str,
    rights: Rights,
    *,
    processes: int,
    seconds: float = float("inf"),
    former: Sequence[str] = (),
    chosen: frozenset[str] | None = None,
    same: Sequence[str] = (),
    bandwidth: int = 0,
    window: Window = WHOLE,
) -> Staged:
    """Copies what a manifest names and `source`, a mount, serves to `folder`, in so many processes.

    former: folders of copies on the same medium, whose files are taken where their digest is the manifest's. It ends
    after `seconds` of copying, and what is still to be copied is when it is called again. chosen: paths of files, where
    not the whole dataset is copied. same: those of `former` that were made from this manifest, whose files are right
    whether or not it has their digests. bandwidth: bytes that all processes copy in a second, 0 without a limit.
    window: the files that are copied now.

    Files that are not what the manifest says are left out and stand in `problems`; a full medium is an OSError, after
    which it holds no file without its name.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    _discard(folder)

    def copy_share(numbers: list[int]) -> Staged:
        limit = pace.Pace(bandwidth / processes)
        copier = _Copier(source, folder, rights, numbers[0], former, same=same, limit=limit)
        try:
            return copier.copy_all(_rows(manifest, numbers[0], processes, chosen, window), seconds)
        except OSError:
            copier.discard()
            raise

    shares = reader.fork_map(
        copy_share,
        [[number] for number in range(processes)],
    )
    return Staged(
        files=sum(share.files for share in shares),
        bytes=sum(share.bytes for share in shares),
        of_source=sum(share.of_source for share in shares),
        copied=sum(share.copied for share in shares),
        complete=all(share.complete for share in shares),
        problems=[problem for share in shares for problem in share.problems][:MAX_PROBLEMS],
    )


def hand_over(folder: str, rights: Rights) -> None:
    """Gives a copy other readers, its own folder last: so `is_of` tells of an interrupted call."""
    for root, _, names in os.walk(folder, topdown=False):
        for name in names:
            _give(f"{root}/{name}", rights, 0o444)
        _give(root, rights, 0o555)


def is_of(folder: str, rights: Rights) -> bool:
    """Whether a copy has these readers."""
    about = Path(folder).stat()
    return (about.st_uid, about.st_gid, about.st_mode & 0o7777) == (rights.uid, rights.gid, rights.mode & 0o555)


def lacking(
    manifest: str,
    folder: str,
    rights: Rights,
    *,
    former: Sequence[str],
    same: Sequence[str],
    chosen: frozenset[str] | None = None,
    window: Window = WHOLE,
) -> Iterator[dict[str, Any]]:
    """Rows of files that a copy lacks and would have to read; arguments as of `stage`."""
    copier = _Copier("", folder, rights, 0, former, same=same, limit=pace.Pace(0))
    rows = _rows(manifest, 0, 1, chosen, window)
    return (row for row in rows if row["type"] == "file" and copier.lacks(row))


def wrong_files(folder: str, processes: int) -> list[str]:
    """Reads a whole copy again; paths of files whose bytes are not those that were copied.

    Each process goes through the folders itself: no list of all files is in memory.
    """

    def compare(numbers: list[int]) -> list[str]:
        files = (f"{root}/{name}" for root, _, names in os.walk(folder) for name in names)
        return list(filter(is_wrong, islice(files, numbers[0], None, processes)))

    found = reader.fork_map(compare, [[number] for number in range(processes)])
    return [path for share in found for path in share]


def disown(wrong: Iterable[str]) -> None:
    """Takes their digest from files with wrong bytes, so that they are copied again.

    They stay until there is another: readers may have them. A file that has none was not copied, and goes.
    """
    for path in wrong:
        if kept := digest_of(path):
            os.removexattr(path, attribute(kept[1]))
        else:
            Path(path).unlink()


def stays_inside(path: str) -> bool:
    """Whether a path of a manifest is one below the dataset: root makes no folder above a copy."""
    return ".." not in path.split("/")


def is_wrong(path: str) -> bool:
    """Whether a staged file has other bytes than it was copied with, or cannot be read any more."""
    kept = digest_of(path)
    try:
        return kept is None or reader.file_digest(path, memoryview(bytearray(BUFFER_BYTES)), kept[1])[1] != kept[1]
    except OSError:
        return True


def digest_of(path: str | int) -> tuple[bytes, str] | None:
    """OF_SOURCE or OF_FIRST_READ, and the digest that a staged file had as it was copied; None where it has none."""
    for algorithm in reader.ALGORITHMS:
        try:
            kept = os.getxattr(path, f"{DIGEST}{algorithm}")
        except OSError:
            continue
        return kept[:1], f"{algorithm}:{kept[1:].hex()}"
    return None


def attribute(digest: str) -> str:
    """The name of the extended attribute that a digest stands in."""
    return f"{DIGEST}{reader.algorithm_of(digest)}"


def part(manifest: str, budget: int, per_file: int) -> Part:
    """What of a dataset a medium of `budget` bytes holds beside its names, each of which takes `per_file` bytes.

    Small files come first, and within a kind those that a check reads first. ValueError where there
    are links: what they lead to is known where they are followed, and names are made before that.
    """
    header, entries = reader.load(manifest)
    if header["entries"].get("link"):
        raise ValueError(LINKS)
    left = budget / SPARE - sum(header["entries"].values()) * per_file
    paths: set[str] = set()
    kinds = dict.fromkeys(KINDS, 0)
    for kind in KINDS:
        for entry in reader.select(header, entries, reader.Selection(kind, 0, None)):
            left -= -(-entry.size // BLOCK) * BLOCK + per_file
            if left < 0:
                return Part(frozenset(paths), kinds)
            paths.add(entry.path)
            kinds[kind] += 1
    return Part(frozenset(paths), kinds)


def footprint(manifest: str, per_file: int) -> float:
    """Bytes of a medium that a whole copy takes; arguments as of `part`."""
    names: int = sum(next(reader.read_manifest(manifest))["entries"].values())
    sizes: Iterator[int] = (row["size"] for row in reader.read_manifest(manifest) if row.get("type") == "file")
    return (sum(-(-size // BLOCK) * BLOCK for size in sizes) + names * per_file) * SPARE


def chosen_part(manifest: str, chosen: str) -> Part:
    """What a file of paths, a line of JSON each, has of a dataset; of each kind, those that a check reads first."""
    header, entries = reader.load(manifest)
    if header["entries"].get("link"):
        raise ValueError(LINKS)
    with Path(chosen).open(encoding="ascii") as lines:
        paths = frozenset(map(json.loads, lines))
    kinds = {}
    for kind in KINDS:
        order = reader.select(header, entries, reader.Selection(kind, 0, None))
        kinds[kind] = sum(1 for _ in takewhile(lambda entry: entry.path in paths, order))
    return Part(paths, kinds)


def _rows(
    manifest: str, number: int, processes: int, chosen: frozenset[str] | None, window: Window
) -> Iterator[dict[str, Any]]:
    """Every row whose place is `number` modulo `processes`, of what a mount serves, or of what was chosen of it."""
    every = islice(reader.read_manifest(manifest), 1 + number, None, processes)
    rows = (row for row in every if window.has(row["path"]) and stays_inside(row["path"]))
    if chosen is not None:
        return (row for row in rows if row["path"] in chosen)
    return (row for row in rows if row["type"] in ("file", "folder", "link") and not row.get("unreadable"))


class _Copier:
    """Copies one share. Files are written, made durable, and only then named: a crash leaves nothing half."""

    def __init__(
        self,
        source: str,
        folder: str,
        rights: Rights,
        number: int,
        former: Sequence[str],
        *,
        same: Sequence[str],
        limit: pace.Pace,
    ) -> None:
        self._source, self._folder, self._rights, self._number = Path(source), Path(folder), rights, number
        self._former, self._same, self._pace = [Path(one) for one in former], {Path(one) for one in same}, limit
        self._made: set[Path] = set()
        self._written: list[tuple[Path, Path]] = []
        self._bytes = 0

    def copy_all(self, rows: Iterator[dict[str, Any]], seconds: float) -> Staged:
        """The time counts from the first file that is missing: however many are there, each call copies some."""
        until = None
        files = size = of_source = copied = 0
        complete = True
        problems: list[reader.Problem] = []
        self._make_folder(self._folder)
        for row in rows:
            path, served = self._folder / row["path"], self._source / row["path"]
            if row["type"] == "folder" or (row["type"] == "link" and served.is_dir()):
                self._make_folder(path)
                continue
            kept = digest_of(str(path))
            if kept is None or (row["type"] == "file" and path.stat().st_size != row["size"]):
                until = until or time.monotonic() + seconds
                if time.monotonic() > until:
                    complete = False
                    continue
                try:
                    kept = self._taken(path, row) or self._copy(served, path, row)
                except (WrongBytesError, FileNotFoundError) as wrong:
                    problems.append({"path": row["path"], "problem": str(wrong)})
                    continue
                copied += 1
            files, size, of_source = files + 1, size + row["size"], of_source + (kept[0] == OF_SOURCE)
        self._name()
        return Staged(files, size, of_source, copied, complete, problems[:MAX_PROBLEMS])

    def discard(self) -> None:
        """Removes the files that it has not named."""
        _discard(str(self._folder), f"{self._number}-")

    def lacks(self, row: dict[str, Any]) -> bool:
        """Whether a file would have to be read to be copied."""
        path = self._folder / row["path"]
        there = digest_of(str(path)) is not None and path.stat().st_size == row["size"]
        return not there and self._held(row) is None

    def _taken(self, path: Path, row: dict[str, Any]) -> tuple[bytes, str] | None:
        """The digest of a file of a former copy that is this one, and is now in both; None where there is none."""
        if (held := self._held(row)) is None:
            return None
        file, kept = held
        self._make_folder(path.parent)
        path.unlink(missing_ok=True)
        os.link(file, path)
        return kept

    def _held(self, row: dict[str, Any]) -> tuple[Path, tuple[bytes, str]] | None:
        wanted = (OF_SOURCE, reader.digest_of(row))
        for folder in self._former:
            file = folder / row["path"]
            kept = digest_of(str(file))
            if kept and (kept == wanted or folder in self._same) and self._is_ours(file.stat(), row["size"]):
                return file, kept
        return None

    def _is_ours(self, about: os.stat_result, size: int) -> bool:
        uid, gid, mode = self._rights
        found = (about.st_size, about.st_uid, about.st_gid, about.st_mode & 0o7777)
        return found == (size, uid, gid, mode & 0o444)

    def _copy(self, served: Path, path: Path, row: dict[str, Any]) -> tuple[bytes, str]:
        """Writes a file under a name that it does not keep: whose digest it has, and which."""
        known = reader.digest_of(row)
        part = self._folder / f"{PART}{self._number}-{len(self._written)}"
        with open(self._inside(served, row), "rb", buffering=0, opener=_no_link) as read, part.open("wb", 0) as written:
            os.posix_fadvise(read.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # FUSE may have to be asked for all, in order
            about = os.fstat(read.fileno())
            wanted = row["size"] if row["type"] == "file" else about.st_size
            if about.st_size != wanted:
                raise WrongBytesError(f"it has {about.st_size} bytes, and the manifest says {wanted}")
            if not known and _is_of_another_time(row, about):
                times = f"it has the time {_time(about.st_mtime)}, and the manifest says {_time(row['mtime'])}"
                raise WrongBytesError(f"{times}: it was written again")
            written.truncate(wanted)  # a tmpfs with huge=within_size gives large pages to what is large
            digest = _copy_bytes(read, written.fileno(), self._pace, reader.algorithm_of(known))
            if written.tell() != wanted or (known and digest != known):
                raise WrongBytesError("its bytes are not those of the manifest")
            kind = OF_SOURCE if known else OF_FIRST_READ
            os.setxattr(written.fileno(), attribute(digest), kind + bytes.fromhex(digest.partition(":")[2]))
            os.fchown(written.fileno(), self._rights.uid, self._rights.gid)
            os.fchmod(written.fileno(), self._rights.mode & 0o444)
            os.utime(written.fileno(), ns=(about.st_atime_ns, about.st_mtime_ns))
        self._written.append((part, path))
        self._bytes += wanted
        if len(self._written) >= BATCH_FILES or self._bytes >= BATCH_BYTES:
            self._name()
        return kind, digest

    def _inside(self, served: Path, row: dict[str, Any]) -> Path:
        """Where a file is read: root follows no link that the manifest does not have, and none out of the dataset."""
        if row["type"] != "link":
            return served
        target = served.resolve()
        if not target.is_relative_to(self._source.resolve()):
            raise WrongBytesError(f"it leads out of the dataset, to {target}")
        return target

    def _name(self) -> None:
        if self._written:
            _sync(self._folder)
        for part, path in self._written:
            self._make_folder(path.parent)
            part.replace(path)
        self._written, self._bytes = [], 0

    def _make_folder(self, path: Path) -> None:
        """A folder, and those that lead to it from the copy's own, with the rights of a dataset."""
        if path in self._made:
            return
        if path != self._folder:
            self._make_folder(path.parent)
        path.mkdir(exist_ok=True)
        _give(str(path), self._rights, 0o555)
        self._made.add(path)


def _is_of_another_time(row: dict[str, Any], about: os.stat_result) -> bool:
    """Whether a file's time is not the manifest's; stores that keep none tell none, and a link has its target's."""
    return row["type"] == "file" and row.get("mtime") not in (None, int(about.st_mtime))


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _give(path: str, rights: Rights, may: int) -> None:
    os.chown(path, rights.uid, rights.gid)
    os.chmod(path, rights.mode & may)  # noqa: PTH101


def _discard(folder: str, of: str = "") -> None:
    """Removes files without a name of their own; of: how the names begin that one process gives them."""
    for left in Path(folder).glob(f"{PART}{of}*"):
        left.unlink()


def _no_link(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise WrongBytesError("it is a link, and the manifest says a file") from None
        raise


def _copy_bytes(read: io.FileIO, written: int, limit: pace.Pace, algorithm: str) -> str:
    """Copies to the end; the digest of it. The OSError of a file that cannot be read names it."""
    digest, buffer = hashlib.new(algorithm, usedforsecurity=False), memoryview(bytearray(BUFFER_BYTES))
    while length := _next_bytes(read, buffer):
        limit.take(length)
        digest.update(buffer[:length])
        left = buffer[:length]
        while left:
            left = left[os.write(written, left) :]
    return f"{digest.name}:{digest.hexdigest()}"


def _next_bytes(read: io.FileIO, buffer: memoryview) -> int:
    try:
        return os.readv(read.fileno(), [buffer])
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(read.name)) from None


def _sync(folder: Path) -> None:
    """Everything that was written to a filesystem is on its medium."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(handle) < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"syncfs of {folder}: {os.strerror(number)}")
    finally:
        os.close(handle)

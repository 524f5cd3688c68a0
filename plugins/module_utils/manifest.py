"""The manifest: what a dataset's source holds, taken from the source itself and never through a mount.

JSON lines: a header, then one object for everything that a reader can name, in the order of the source: `path`, `type`
(file, folder, link, special; in a bucket also key, which is no path), `size`, `mode`, `mtime` (seconds since 1970),
`stamp` (the store's mark of this content: mtime in ns, or an ETag), of a link its `target`, and `digest`. Only files
without `left_out` and `unreadable` are read by check and warm. Memory does not grow with the number of entries.

A digest is a sha256 of what was read, with its `md5` where that was compared with the ETag. Of a source whose ETags are
MD5s, it is the ETag where an object was not read: algorithm `md5`. It is `of` the source, or of none.

The header's `id` is that of the content. `times` tells whether objects were written again with the same ETags.

A file whose size and stamp an earlier manifest of the source has is not read again for its digest, and neither is one
of a manifest that was not finished, so that an interrupted run goes on.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import etags
from ansible_collections.alluxio.fuse.plugins.module_utils.known_digests import Digest, Known, Order, saved_header
from ansible_collections.alluxio.fuse.plugins.module_utils.reader import MANIFEST_VERSION, MD5, SHA256, is_read
from ansible_collections.alluxio.fuse.plugins.module_utils.sizes import Sizes
from ansible_collections.alluxio.fuse.plugins.module_utils.source_names import BROKEN_LINK, LINK_OUT, NOT_UTF8

FILE, FOLDER, LINK, SPECIAL, KEY = "file", "folder", "link", "special", "key"
REASONS = {LINK: "link", SPECIAL: "special file", KEY: "key is no path"}
LARGE_BYTES = 16 << 20  # files from here on are read as large ones
EMPTYING = {NOT_UTF8, BROKEN_LINK, LINK_OUT}
SHOWN = 10  # of the names that cannot be served
EMPTIES = "    A folder with a name that is not UTF-8, or a link to nothing or out of the source, lists as empty."
RECORD_HEAD = 12  # bytes of a TFRecord's length and that length's checksum
BATCH, BATCH_BYTES = 4000, 1 << 30  # entries whose digests are computed together, or fewer that are as large as that
FIRST = 64  # entries of the first batch, by which the rate is known soon; and files of any, for all who read at once
SPOOL_BYTES = 16 << 20  # of a listing in memory; what is more goes to a temporary file


class Entry(NamedTuple):
    """What a reader can name. `mode` and `mtime` are None where the store keeps none; sizes are of files alone."""

    path: str
    type: str
    size: int = 0
    mode: int | None = None
    mtime: int | None = None
    stamp: str = ""
    target: str | None = None
    left_out: str | None = None
    unreadable: str | None = None

    @property
    def is_read(self) -> bool:
        """Whether check and warm read it."""
        return self.type == FILE and not self.left_out and not self.unreadable

    @property
    def ignored(self) -> str | None:
        """Why it is not read though the mount may serve it."""
        return None if self.unreadable else self.left_out or REASONS.get(self.type)


Digests = Callable[[list[Entry], bool], dict[str, Digest]]
Heads = Callable[[str], bytes]
Read = Callable[[int, int, int], None]


class Source(NamedTuple):
    """Where entries come from. digests: with (True) the MD5 of objects whose ETag may be one. order: of a path, by
    which the source is listed: str, or of a folder its parts.
    """

    listed: Iterable[Entry]
    digests: Digests
    heads: Heads
    order: Order


class Draft:
    """A source as it was listed: counted, and kept aside until it is saved."""

    def __init__(self, source: str, entries: Iterable[Entry], limit: int, seed: int = 0) -> None:
        """Go over `entries` once. Digests will be computed of files up to `limit` bytes, else of a seeded sample."""
        self.unreadable: Counter[str] = Counter()
        self.shown: list[Entry] = []
        self.large: list[str] = []
        self._source, self._limit, self._seed = source, limit, seed
        # it lives as long as the draft
        self._spool = tempfile.SpooledTemporaryFile(SPOOL_BYTES, mode="w+", encoding="ascii")  # noqa: SIM115
        self._id = hashlib.sha256(json.dumps([MANIFEST_VERSION, source, limit, seed]).encode())
        self._times = hashlib.sha256()
        self._types: Counter[str] = Counter()
        self._ignored: Counter[str] = Counter()
        self._sizes = Sizes()
        self._kinds = {"small": [0, 0], "large": [0, 0]}
        self._least: tuple[int, str] | None = None
        try:
            for entry in entries:
                self._add(entry)
        finally:
            if isinstance(entries, Generator):
                entries.close()  # who lists a bucket waits for its threads else, however this ends
        self.header = self._header()

    def _add(self, entry: Entry) -> None:
        self._spool.write(json.dumps(entry) + "\n")
        # a folder's time changes with any file that comes and goes beside the dataset, an object's without its content
        self._id.update(json.dumps(entry[:4] + entry[5:]).encode())
        if entry.type == FILE:
            self._times.update(f"{entry.mtime} ".encode())
        self._types[entry.type] += 1
        if entry.unreadable:
            self.unreadable[entry.unreadable] += 1
            self.shown += [entry] if len(self.shown) < SHOWN else []
        elif reason := entry.ignored:
            self._ignored[reason] += 1
        if not entry.is_read:
            return
        kind = "large" if entry.size >= LARGE_BYTES else "small"
        self._kinds[kind][0] += 1
        self._kinds[kind][1] += entry.size
        self._sizes.add(entry.size)
        self._least = min(self._least or (1 << 64, ""), (rank(self._seed, entry.path), entry.path))
        if kind == "large":
            self.large = [*self.large[:1], entry.path]

    @property
    def files(self) -> int:
        """How many files check and warm read."""
        return self._sizes.files

    def _header(self) -> dict[str, Any]:
        total = self._sizes.bytes
        digested = [entry.size for entry in self.sample()] if self.sampled else None
        return {
            "version": MANIFEST_VERSION,
            "source": self._source,
            "files": self.files,
            "bytes": total,
            "large_bytes": LARGE_BYTES,
            **{kind: {"files": files, "bytes": size} for kind, (files, size) in self._kinds.items()},
            "entries": dict(self._types),
            "sizes": self._sizes.rows(),
            "ignored": dict(self._ignored),
            "unreadable": dict(self.unreadable),
            "digested": {
                "files": self.files if digested is None else len(digested),
                "bytes": total if digested is None else sum(digested),
                "seed": self._seed,
                "limit": self._limit,
            },
            "etags": etags.Compared().counts(),
            "coverage": "all" if digested is None else "sample",
            "id": self._id.hexdigest()[:16],
            "times": self._times.hexdigest()[:16],
        }

    @property
    def sampled(self) -> bool:
        """Whether some files are not read for their digests."""
        return self._sizes.bytes > self._limit

    def entries(self) -> Iterator[Entry]:
        """The entries again, in their order."""
        self._spool.seek(0)
        return (Entry(*json.loads(line)) for line in self._spool)

    def sample(self) -> Iterator[Entry]:
        """Files that digests are computed of: all if they fit in the limit, else a choice over the whole set that does.

        One file is in it at least, whatever its size.
        """
        return filter(self._chooser(), self.entries())

    def _chooser(self) -> Callable[[Entry], bool]:
        """Whether an entry is in the sample; asked of every entry once, in their order."""
        total = self._sizes.bytes
        share, left = (1 << 64) * self._limit // max(1, total), self._limit

        def chosen(entry: Entry) -> bool:
            nonlocal left
            place = (rank(self._seed, entry.path), entry.path)
            fits = total <= self._limit or place == self._least or (place[0] < share and entry.size <= left)
            if not (entry.is_read and fits):
                return False
            left -= entry.size
            return True

        return chosen

    def save(self, path: str, source: Source, read: Read | None = None) -> None:
        """Write the manifest at once or not at all, readable by everybody.

        read: told of each batch its files, their bytes, and how many of these bytes were read for digests.
        """
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary, before, draft = (target.with_name(f".{target.name}.{end}") for end in ("tmp", "before", "etags"))
        if temporary.exists() and (not self._is_of(before) or _size(temporary) > _size(before)):
            temporary.replace(before)
        known = Known([before, target], self._source, source.order)
        compared = etags.Compared()
        with temporary.open("w", encoding="ascii") as out:
            out.write(json.dumps(self.header) + "\n")
            for rows in self._digested(source.digests, known, compared, read):
                out.writelines(json.dumps(row) + "\n" for row in rows)
                out.flush()
        if compared.objects:
            self._with_etags(temporary, draft, compared)
        temporary.chmod(0o644)
        temporary.replace(target)
        for left in (before, draft):
            left.unlink(missing_ok=True)

    def _with_etags(self, manifest: Path, draft: Path, compared: etags.Compared) -> None:
        """Write it again: now it is known what ETags are."""
        self.header["etags"] = compared.counts()
        if self.header["digested"]["files"] + self.header["etags"]["files"] == self.files:
            self.header["coverage"] = "all"
        with manifest.open(encoding="ascii") as lines, draft.open("w", encoding="ascii") as out:
            next(lines)
            out.write(json.dumps(self.header) + "\n")
            out.writelines(map(_with_etag, lines) if compared.proven else lines)
        draft.replace(manifest)

    def _is_of(self, path: Path) -> bool:
        """Whether a file is a manifest of this source, finished or not."""
        return (saved_header(str(path)) or {}).get("source") == self._source

    def _digested(
        self, digests: Digests, known: Known, compared: etags.Compared, read: Read | None
    ) -> Iterator[list[dict[str, Any]]]:
        """Rows of every entry with the digest of its file, a batch at a time; what ETags they have is added up."""
        for batch in self._batches():
            wanted = [entry for entry, chosen in batch if chosen]
            found = {one.path: known.digest(one.path, one.size, one.stamp) for one in wanted}
            unknown = [entry for entry in wanted if not self._suffices(found[entry.path], entry)]
            if unknown:
                found |= digests(unknown, self.sampled)
            for entry in (entry for entry, _ in batch if self.sampled and entry.is_read):
                if digest := found.get(entry.path):
                    compared.add(entry.size, entry.stamp, digest.md5)
                else:
                    compared.leave(entry.size, entry.stamp)
            if read and wanted:
                read(len(wanted), sum(entry.size for entry in wanted), sum(entry.size for entry in unknown))
            yield [_row(entry, found.get(entry.path)) for entry, _ in batch]

    def _suffices(self, digest: Digest | None, entry: Entry) -> bool:
        """Whether a file is not read again for its digest."""
        return bool(digest and (digest.md5 or not self.sampled or not etags.md5_of(entry.stamp)))

    def _batches(self) -> Iterator[list[tuple[Entry, bool]]]:
        """Entries whose digests are computed together, the first few soon, and whether each gets one."""
        chosen, batch = self._chooser(), list[tuple[Entry, bool]]()
        files, size, most = 0, 0, FIRST
        for entry in self.entries():
            batch.append((entry, chosen(entry)))
            if batch[-1][1]:
                files, size = files + 1, size + entry.size
            if len(batch) >= most or (files >= FIRST and size >= BATCH_BYTES):
                yield batch
                batch, files, size, most = [], 0, 0, BATCH
        if batch:
            yield batch


def _size(path: Path) -> int:
    """Bytes of a file, none where there is none."""
    return path.stat().st_size if path.exists() else 0


def rank(seed: int, path: str) -> int:
    """A file's place in a random order, from 0 up to 2^64, by seed and path alone."""
    return int.from_bytes(
        hashlib.blake2b(f"{seed}/digest/{path}".encode("utf-8", "surrogateescape")).digest()[:8], "big"
    )


def _row(entry: Entry, digest: Digest | None) -> dict[str, Any]:
    """An entry as the manifest holds it."""
    row = {key: value for key, value in entry._asdict().items() if value is not None}
    if entry.type == FILE:
        row["digest"] = {"of": "none"}
        if digest:
            row["digest"] = {"algorithm": SHA256, "value": digest.sha256, "of": "source"}
            row["digest"] |= {"md5": digest.md5} if digest.md5 else {}
    return row


def _with_etag(line: str) -> str:
    """A row with its ETag as digest, where it has no other, and is of a file that is read."""
    row = json.loads(line)
    md5 = etags.md5_of(row["stamp"])
    if not md5 or not is_read(row) or "value" in row["digest"]:
        return line
    return json.dumps({**row, "digest": {"algorithm": MD5, "value": md5, "of": "source"}}) + "\n"


def unreadable_text(source: str, draft: Draft) -> str:
    """What is said of names that cannot be served: their number, the first of them, and the effect."""
    number = sum(draft.unreadable.values())
    shown = [f"    {entry.path!a}: {entry.unreadable}" for entry in draft.shown]
    more = [f"    and {number - len(shown)} more"] if number > len(shown) else []
    empty = [EMPTIES] if EMPTYING & draft.unreadable.keys() else []
    count = "1 name" if number == 1 else f"{number} names"
    return "\n".join([f"{source}: {count} that Alluxio 2.9.6 cannot serve:", *shown, *more, *empty])


def holds_records(draft: Draft, heads: Heads) -> bool:
    """Whether the first and the last large file begin as TFRecord files do."""
    return bool(draft.large) and all(begins_record(heads(path)) for path in (draft.large[0], draft.large[-1]))


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


def saved_sources(folder: str) -> dict[str, str]:
    """By dataset, the source that its manifest in a folder was made of."""
    headers = {path.stem: saved_header(str(path)) for path in Path(folder).glob("*.jsonl")}
    return {dataset: str(found["source"]) for dataset, found in headers.items() if found and "source" in found}

"""Makes a dataset's manifest where it is not there, or not as its source is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import (
    etags,
    known_digests,
    manifest,
    object_stores,
    objects,
    reader,
    source_folder,
)

SAY_S = 5.0
Said = Callable[[str], None]
REMEDY = (
    "rename or remove them, or write unreadable_names: skip in this dataset's entry of alluxio_datasets:"
    " check and warm then leave them out (docs/support.md, Names and links)"
)


class Refused(Exception):  # noqa: N818 - what the task says
    """Why there is no manifest."""


def made(params: dict[str, Any], *, check: bool, warn: Said, say: Said) -> dict[str, Any]:
    """What module dataset_manifest returns for its options.

    check: whether nothing is to be written. say: shown while it goes on.
    """
    source, path = params["source"], params["path"]
    old = known_digests.saved_header(path)
    if source is None:
        if old is None or old.get("version") != reader.MANIFEST_VERSION:
            wrong = "is no manifest" if old is None else "was made by another version of this bundle"
            raise Refused(f"path: {path} {wrong}; make it first (playbooks/nodes.yml does)")
        return {"changed": False, "manifest": old, "path": path, "keys_from": ""}
    if check and (root := _root(params)) and not Path(root).is_dir():
        return {"changed": True, "manifest": {}, "path": path, "keys_from": ""}  # what this very run would make before
    keys_from, keys = "", {key: params[key] for key in object_stores.KEYS}
    try:
        keys_from = object_stores.keys_from(params["store"])
        begun = time.monotonic()
        opened = _opened(params, keys)
        draft = manifest.Draft(source, opened.listed, params["digest_bytes"], params["seed"])
        _judge(draft, params, warn)
        head = draft.header
        head["records"] = manifest.holds_records(draft, opened.heads)
        changed = old is None or any(old.get(key) != head[key] for key in ("id", "times"))
        if changed and not check:
            progress = Progress(Path(path).stem, head, say)
            progress.listed(time.monotonic() - begun)
            draft.save(path, opened, progress.read)
            if of_etags := etags.said(head["etags"]):
                say(f"{Path(path).stem}: {of_etags}")
        elif old and not changed:
            head |= {key: old[key] for key in ("etags", "coverage") if key in old}
    except Refused:
        raise
    except Exception as error:  # botocore's hierarchy of errors is made at run time
        of_keys = f" (keys from {keys_from})" if keys_from else ""
        text = object_stores.masked(object_stores.said(source, error)[1], keys)
        raise Refused(f"source: {source} cannot be read: {text}{of_keys}") from error
    return {"changed": changed, "manifest": head, "path": path, "keys_from": keys_from}


def _judge(draft: manifest.Draft, params: dict[str, Any], warn: Said) -> None:
    """Refuse a source without files, and names that cannot be served, or warn of them where they are skipped."""
    source = params["source"]
    if draft.unreadable:
        text = manifest.unreadable_text(source, draft)
        if params["unreadable_names"] != "skip":
            raise Refused(f"{text}\n    do:  {REMEDY}")
        warn(f"{text}\n    They are skipped: check and warm leave them out.")
    if not draft.files:
        raise Refused(f"source: {source} holds no file; name the folder or prefix that holds the dataset")


def _opened(params: dict[str, Any], keys: object_stores.Keys) -> manifest.Source:
    source = params["source"]
    if source.startswith(object_stores.SCHEMES):
        return objects.source_of(object_stores.opened(source, params["store"], keys))
    if root := _root(params):
        return source_folder.source_of(root, params["processes"] or len(os.sched_getaffinity(0)))
    raise ValueError("only file:///, s3://, oss://, hdfs://, and nfs:// or pvc:// with a folder are supported")


def _root(params: dict[str, Any]) -> str:
    """The folder in which the source's files are seen; empty of an object store."""
    source: str = params["source"]
    return params["folder"] or (source[len("file://") :] if source.startswith("file:///") else "")


class Progress:
    """Says how far the digests are: soon after they begin, then every few seconds."""

    def __init__(
        self, name: str, header: dict[str, Any], say: Said, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._say, self._clock = name, say, clock
        self._header, self._of = header, header["digested"]
        self._files = self._bytes = self._read = 0
        self._begun = self._said = clock()

    def listed(self, seconds: float) -> None:
        """The source was listed in so many seconds."""
        of, all_files = self._of, self._header["files"]
        self._say(
            f"{self._name}: {all_files:,} files, {self._header['bytes'] / 1e9:,.1f} GB, listed in {seconds:,.0f} s;"
            f" {of['files']:,} of them, {of['bytes'] / 1e9:,.1f} GB, get digests where none is known"
        )

    def read(self, files: int, size: int, read: int) -> None:
        """So many more have theirs; read: bytes of those that no earlier manifest told."""
        self._files, self._bytes, self._read = self._files + files, self._bytes + size, self._read + read
        now, first = self._clock(), self._said == self._begun
        if self._bytes == self._of["bytes"] or not (first or now - self._said >= SAY_S):
            return
        self._said = now
        rate = self._read / (now - self._begun)
        left = f", about {duration((self._of['bytes'] - self._bytes) / rate)} left" if rate else ""
        self._say(
            f"{self._name}: {self._files:,} of {self._of['files']:,} files,"
            f" {self._bytes / 1e9:,.1f} of {self._of['bytes'] / 1e9:,.1f} GB{left}"
        )


def duration(seconds: float) -> str:
    """In seconds, minutes or hours, whichever is short."""
    for unit, factor in (("h", 3600), ("min", 60)):
        if seconds >= 2 * factor:
            return f"{seconds / factor:.0f} {unit}"
    return f"{seconds:.0f} s"

"""Digests that earlier manifests of a source hold, so that a file which has not changed is not read again.

A manifest that was not finished counts, too: an interrupted run goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils.reader import MANIFEST_VERSION, SHA256

Order = Callable[[str], Any]


class Digest(NamedTuple):
    """Of a file that was read, in hexadecimal: its sha256, and its MD5 where that is compared with an ETag."""

    sha256: str
    md5: str = ""


class Known:
    """Asked for files in the order of the source, so that memory does not grow with their number."""

    def __init__(self, manifests: list[Path], source: str, order: Order) -> None:
        """Look into those that there are, and that are of this source and version.

        order: of a path, by which it is listed.
        """
        self._order = order
        headers = {path: saved_header(str(path)) or {} for path in manifests}
        ours = (source, MANIFEST_VERSION)
        self._rows = [_rows(path) for path, one in headers.items() if (one.get("source"), one.get("version")) == ours]
        self._next = [next(rows, None) for rows in self._rows]

    def digest(self, path: str, size: int, stamp: str) -> Digest | None:
        """Of a file that is as it was then; None where no manifest tells, and where the store gives no stamp."""
        place, found = self._order(path), None
        for index, rows in enumerate(self._rows):
            while (row := self._next[index]) and self._order(row["path"]) < place:
                self._next[index] = next(rows, None)
            if row and stamp and (row["path"], row["size"], row["stamp"]) == (path, size, stamp):
                told = Digest(row["digest"]["value"], row["digest"].get("md5", ""))
                found = told if not found or (told.md5 and not found.md5) else found
        return found


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Files of a manifest that were read for their digests, as far as whole lines go."""
    with path.open(encoding="ascii", errors="replace") as lines:
        next(lines, None)
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:
                return
            digest = row.get("digest", {})
            if {"path", "size", "stamp"} <= row.keys() and digest.get("algorithm") == SHA256 and "value" in digest:
                yield row


def saved_header(path: str) -> dict[str, Any] | None:
    """Header of a manifest made before; None if there is none that can be read."""
    try:
        with Path(path).open(encoding="ascii") as lines:
            header: dict[str, Any] = json.loads(next(lines))
            return header
    except (OSError, ValueError, StopIteration):
        return None

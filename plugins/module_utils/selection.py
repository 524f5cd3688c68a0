"""Which files of datasets a user means: folders, files, globs and a list with one path a line, held to the manifests.

A manifest and a list may have millions of lines: both are sorted outside of memory and gone over once, side by side.
"""

from __future__ import annotations

import heapq
import json
import marshal
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import reader

RUN = 50_000  # rows that are sorted in memory at a time
PAGE = 4096  # of a filesystem
READ = 1_000  # of those, rows that are read back at a time
SHOWN = 20  # problems of one kind in a message
WILD = re.compile(r"[*?\[]")


class Dataset(NamedTuple):
    """A dataset whose files can be meant. roots: absolute folders where a node has it. block: bytes of a request."""

    name: str
    manifest: str
    roots: Sequence[str]
    block: int = 16 << 20


class Asked(NamedTuple):
    """What a user said. filelist: a file with one path a line, "" without one; nothing at all is everything."""

    paths: Sequence[str] = ()
    filelist: str = ""
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()


class Share(NamedTuple):
    """The part that one of several nodes takes: each file is one node's, whichever others there are in the list."""

    place: int = 0
    nodes: int = 1

    def has(self, path: str) -> bool:
        """Whether a file is in it."""
        return self.nodes == 1 or zlib.crc32(path.encode("utf-8", "surrogateescape")) % self.nodes == self.place


ALL = Share()
#: Bytes that a file counts as which workers read at a limited rate: a small one costs more than its own. Warm.java too.
LEAST = 256 << 10


class Counted(NamedTuple):
    """Files and bytes that were meant, requests for their blocks, and lines that say again what another one had said.

    held: bytes that they take of a filesystem. paced: what they count as where a rate into workers is limited.
    """

    files: int = 0
    bytes: int = 0
    requests: int = 0
    held: int = 0
    twice: int = 0
    paced: int = 0

    def plus(self, size: int, block: int) -> Counted:
        """With one file more."""
        held = -(-size // PAGE) * PAGE
        return self._replace(
            files=self.files + 1,
            bytes=self.bytes + size,
            requests=self.requests + -(-size // block),
            held=self.held + held,
            paced=self.paced + max(size, LEAST),
        )


class Meant(NamedTuple):
    """A file that was meant; digest: of the manifest, with its algorithm, None where it has none."""

    dataset: str
    path: str
    size: int
    digest: str | None


class RefusedError(ValueError):
    """What cannot be meant, all at once: `problems` is a line for each kind and for each of the first of it."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


class Sorted:
    """Rows in the order of their first fields, of which at most `most` are in memory while they are added."""

    def __init__(self, most: int = RUN) -> None:
        self._most = most
        self._rows: list[tuple[Any, ...]] = []
        self._runs: list[tuple[BinaryIO, int]] = []

    def add(self, row: tuple[Any, ...]) -> None:
        """One more; its fields are text, numbers and None."""
        self._rows.append(row)
        if len(self._rows) >= self._most:
            self._spill()

    def _spill(self) -> None:
        self._rows.sort()
        file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the rows are read
        parts = range(0, len(self._rows), READ)
        for first in parts:
            marshal.dump(self._rows[first : first + READ], file)
        file.seek(0)
        self._runs.append((file, len(parts)))
        self._rows = []

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """All of them, once."""
        self._rows.sort()
        return heapq.merge(self._rows, *(_read_run(*run) for run in self._runs))


def _read_run(file: BinaryIO, parts: int) -> Iterator[tuple[Any, ...]]:
    with file:
        for _ in range(parts):
            yield from marshal.load(file)  # noqa: S302 - written above, and without a name


class Selected:
    """Files that a user means. `rows` goes over them once, after which `counted` and `of_all` are known."""

    def __init__(self, datasets: Sequence[Dataset], asked: Asked, share: Share = ALL, most: int = RUN) -> None:
        self._asked, self._share, self._most = asked, share, most
        self._datasets = datasets
        self._include, self._exclude = _any_of(asked.include), _any_of(asked.exclude)
        self._problems = _Problems()
        self._lines = {dataset.name: Sorted(most) for dataset in datasets}
        self._globs: dict[str, dict[str, re.Pattern[str]]] = {dataset.name: {} for dataset in datasets}
        self._hit: set[str] = set()
        self._whole: set[str] = set()
        self._exact = False
        self.counted = self.of_all = Counted()
        for text in asked.paths:
            self._add(f"paths: {text!r}", text, globs=True)
        if asked.filelist:
            for number, raw in enumerate(_lines(asked.filelist), start=1):
                self._add(number, raw.decode("utf-8", "surrogateescape"), globs=False)
        if not asked.paths and not asked.filelist:
            self._whole = {dataset.name for dataset in datasets}

    def rows(self) -> Iterator[Meant]:
        """Files of this share; at their end RefusedError, if anything was said that is not so."""
        for dataset in self._datasets:
            for path, size, digest in self._of(dataset):
                self.of_all = self.of_all.plus(size, dataset.block)
                if self._share.has(path):
                    self.counted = self.counted.plus(size, dataset.block)
                    yield Meant(dataset.name, path, size, digest)
        for name in self._globs:
            for text in self._globs[name].keys() - self._hit:
                self._problems.add("names no file of the manifest", f"paths: {text!r}")
        if not self.of_all.files and not self._problems:
            self._problems.add("no file is left", "include and exclude leave none of what was named")
        if self._problems:
            raise RefusedError(self._problems.said())

    def _add(self, where: int | str, text: str, *, globs: bool) -> None:
        text = text.rstrip("\r") if not globs else text
        if not text:
            return
        dataset, path, wrong = self._placed(text)
        if wrong:
            self._problems.add(wrong, f"{_place(where)}: {text!a}" if isinstance(where, int) else where)
        elif globs and WILD.search(path):
            self._globs[dataset][text] = pattern(path)
        elif path:
            self._exact = True
            self._lines[dataset].add((_key(path), where if isinstance(where, int) else 0, str(where)))
        else:
            self._whole.add(dataset)

    def _placed(self, text: str) -> tuple[str, str, str]:
        """The dataset and the path in it that a text means, or what is wrong with it."""
        name, below = "", text
        if text.startswith("/"):
            found = [
                (len(root), dataset.name, text[len(root) + 1 :])
                for dataset in self._datasets
                for root in dataset.roots
                if text == root or text.startswith(f"{root}/")
            ]
            if not found:
                return "", "", f"is below none of {', '.join(dataset.roots[0] for dataset in self._datasets)}"
            _, name, below = max(found)
        elif len(self._datasets) > 1:
            names = ", ".join(dataset.name for dataset in self._datasets)
            return "", "", f"does not say of which dataset it is ({names}): write it from /, or name one in datasets"
        else:
            name = self._datasets[0].name
        parts = [part for part in below.split("/") if part not in ("", ".")]
        if ".." in parts:
            return "", "", "leads out of its folder by .."
        if "\0" in below:
            return "", "", "holds a zero byte, which no path does"
        return name, "/".join(parts), ""

    def _of(self, dataset: Dataset) -> Iterator[tuple[str, int, str | None]]:
        whole, globs = dataset.name in self._whole, self._globs[dataset.name]
        for path, size, digest, named in self._named(dataset):
            hits = [text for text, glob in globs.items() if glob.fullmatch(path)]
            self._hit.update(hits)
            if (named or whole or hits) and self._include(path, True) and not self._exclude(path, False):
                yield path, size, digest

    def _named(self, dataset: Dataset) -> Iterator[tuple[str, int, str | None, bool]]:
        """Every file that can be read, and whether a line names it, or a folder that it is in."""
        rows = _manifest_rows(dataset.manifest)
        if not self._exact:
            for _, path, kind, size, digest, why_not in rows:
                if kind == "file" and not why_not:
                    yield path, size, digest, False
            return
        lines = _Lines(iter(self._lines[dataset.name]), self._problems)
        folder = ""
        for key, path, kind, size, digest, why_not in _in_order(rows, self._most):
            said = lines.of(key)
            inside = bool(folder) and key.startswith(folder)
            if lines.folder and not inside:
                folder, inside = lines.folder, True
            if said and kind == "folder" and not inside:
                folder = f"{key}\0"
            elif said and (kind != "file" or why_not) and kind != "folder":
                for where in said:
                    self._problems.add("is not read", f"{_place(where)}: {path!a} is {why_not or kind}")
            if kind == "file" and not why_not:
                yield path, size, digest, bool(said) or inside
        lines.end()
        twice = self.of_all.twice + lines.twice
        self.of_all, self.counted = self.of_all._replace(twice=twice), self.counted._replace(twice=twice)


class _Lines:
    """Lines in the order of the paths that they name, beside a manifest in the same order."""

    def __init__(self, lines: Iterator[tuple[Any, ...]], problems: _Problems) -> None:
        self._lines, self._problems = lines, problems
        self._next = next(lines, None)
        self.twice = 0
        self.folder = ""

    def of(self, key: str) -> list[int | str]:
        """Lines that name exactly this; `folder` is one that leads to it and that the manifest does not list."""
        self.folder = ""
        while self._next and self._next[0] < key:
            if key.startswith(f"{self._next[0]}\0"):
                self.folder = f"{self._next[0]}\0"
            else:
                self._unknown()
            self._take()
        said = []
        while self._next and self._next[0] == key:
            said.append(self._next[1] or self._next[2])
            self._take()
        return said

    def end(self) -> None:
        """What is left names nothing."""
        while self._next:
            self._unknown()
            self._take()

    def _unknown(self) -> None:
        if self._next:
            text = self._next[0].replace("\0", "/")
            where = f"{_place(self._next[1])}: {text!a}" if self._next[1] else self._next[2]
            self._problems.add("names nothing in the manifest", where)

    def _take(self) -> None:
        former, self._next = self._next, next(self._lines, None)
        self.twice += bool(former and self._next and former[0] == self._next[0])


class _Problems:
    """What is wrong, by what it is: how often, and the first places."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[int, list[str]]] = {}

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def add(self, what: str, where: str) -> None:
        """One more of a kind."""
        number, shown = self._kinds.get(what, (0, []))
        self._kinds[what] = (number + 1, [*shown, where] if number < SHOWN else shown)

    def said(self) -> list[str]:
        """All kinds, each with its first places."""
        text = []
        for what, (number, shown) in self._kinds.items():
            more = f" (the first {SHOWN} of {number})" if number > len(shown) else ""
            text += [f"{what}{more}:", *(f"  {where}" for where in shown)]
        return text


def pattern(text: str) -> re.Pattern[str]:
    """A glob as files are compared with it: `*` and `?` stay in a folder, `**` does not; a folder is all below it."""
    made, at = "", 0
    while at < len(text):
        rest = text[at:]
        if rest.startswith("**/"):
            made, at = f"{made}(?:[^/]+/)*", at + 3
        elif rest.startswith("**"):
            made, at = f"{made}.*", at + 2
        elif found := re.match(r"\[(!?)(\]?[^\]/]*)\]", rest):
            inside = found[2].replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^").replace("]", r"\]")
            made, at = f"{made}[{'^/' if found[1] else ''}{inside}]", at + found.end()
        else:
            made, at = made + {"*": "[^/]*", "?": "[^/]"}.get(text[at], re.escape(text[at])), at + 1
    return re.compile(f"(?:{made})(?:/.*)?", re.DOTALL)


def write(path: str, rows: Iterable[Meant]) -> None:
    """Writes rows to a file, for `read`."""
    with Path(path).open("w", encoding="ascii") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def read(path: str) -> Iterator[Meant]:
    """The rows that `write` wrote."""
    with Path(path).open(encoding="ascii") as lines:
        for line in lines:
            yield Meant(*json.loads(line))


def _any_of(globs: Sequence[str]) -> Callable[[str, bool], bool]:
    """Whether a path fits one of some globs, of which those without a slash are compared with each of its names."""
    patterns = [pattern(text.strip("/") if "/" in text.strip("/") else f"**/{text.strip('/')}") for text in globs]

    def fits(path: str, without: bool) -> bool:
        return any(one.fullmatch(path) for one in patterns) if patterns else without

    return fits


def _lines(file: str) -> Iterable[bytes]:
    """Lines as an editor shows them: with the ends of any system, and maybe a mark of UTF-8 first."""
    with Path(file).open("rb") as lines:
        for number, line in enumerate(lines):
            yield (line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line).rstrip(b"\n")


def _manifest_rows(manifest: str) -> Iterator[tuple[str, str, str, int, str | None, str]]:
    """(key, path, kind, size, digest, why it is not read) of everything that a manifest lists."""
    rows = reader.read_manifest(manifest)
    next(rows)
    for row in rows:
        why_not = row.get("unreadable") or row.get("left_out") or ""
        path = row["path"]
        yield _key(path), path, row["type"], row.get("size", 0), reader.digest_of(row), why_not


def _in_order(rows: Iterable[tuple[Any, ...]], most: int) -> Iterator[tuple[Any, ...]]:
    ordered = Sorted(most)
    for row in rows:
        ordered.add(row)
    return iter(ordered)


def _key(path: str) -> str:
    """What paths are sorted by, so that what is in a folder comes right after it."""
    return path.replace("/", "\0")


def _place(where: int | str) -> str:
    return f"line {where}" if isinstance(where, int) else where

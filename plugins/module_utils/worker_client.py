"""What workers hold of files: the image's program `alluxio.image.Warm`, asked of many files in one process."""

from __future__ import annotations

import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple, cast
from urllib.parse import quote

from ansible_collections.alluxio.fuse.plugins.module_utils import reader

COMMAND = ("/opt/alluxio/bin/alluxio", "runClass")
PROGRAM = "alluxio.image.Warm"
#: Names are asked of the master each time: what workers hold changes while this runs.
OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-Dalluxio.user.metadata.cache.enabled=false")
#: Of compilers the one that costs little. Digests want the other one.
SMALL = ("-XX:TieredStopAtLevel=1",)
AHEAD = 1000  # answers that wait to be looked at
TICK_S = 1.0
ALGORITHMS = {reader.SHA256: "SHA-256", reader.MD5: "MD5"}  # as Java calls them
DIFFERS = "and the manifest says"  # in what is said of a file of another size


class File(NamedTuple):
    """A file as Alluxio knows it: a number of ours, its bytes, its path from the root of Alluxio, and by which
    algorithm its digest is wanted.
    """

    number: int
    size: int
    path: str
    algorithm: str = reader.SHA256


class Answer(NamedTuple):
    """What became of a file: bytes that moved, its digest in hexadecimal where it was compared, or why it failed."""

    number: int
    bytes: int = 0
    digest: str = ""
    failed: str = ""


class WorkerClient:
    """One process of the program. verb: load, compare or free; bandwidth: bytes a second, 0 without a limit."""

    def __init__(self, verb: str, threads: int, bandwidth: int, command: Sequence[str] = COMMAND) -> None:
        options = OPTIONS if verb == "compare" else (*OPTIONS, *SMALL)
        arguments = [*command, PROGRAM, *options, verb, str(threads), str(bandwidth)]
        self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._in, self._out = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        self._answers: queue.Queue[bytes | None] = queue.Queue(AHEAD)
        self._ended = threading.Event()

    def ask(self, files: Iterator[File]) -> Iterator[Answer | None]:
        """What became of each file, in any order; None now and then, where nothing is known for a while.

        A process that ends early leaves files without an answer.
        """
        threading.Thread(target=self._write, args=(files,), daemon=True).start()
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            try:
                line = self._answers.get(timeout=TICK_S)
            except queue.Empty:
                yield None
                continue
            if line is None:
                return
            yield parse(line)

    def end(self) -> None:
        """Ends the process, whatever it does; what workers are reading they finish."""
        self._ended.set()
        self._process.kill()
        self._process.wait()

    def _write(self, files: Iterator[File]) -> None:
        try:
            with self._in as stream:
                for file in files:
                    path = quote(file.path, safe="/", errors="surrogateescape")
                    line = f"{file.number}\t{file.size}\t{ALGORITHMS[file.algorithm]}\t{path}\n"
                    stream.write(line.encode("ascii"))
        except (BrokenPipeError, ValueError):
            return  # it was ended

    def _read(self) -> None:
        with self._out as stream:
            for line in stream:
                if not self._put(line):
                    return
        self._put(None)

    def _put(self, line: bytes | None) -> bool:
        while not self._ended.is_set():
            try:
                self._answers.put(line, timeout=TICK_S)
            except queue.Full:
                continue
            return True
        return False


def parse(line: bytes) -> Answer:
    """A line of the program."""
    number, outcome, *rest = line.decode("utf-8", "replace").rstrip("\n").split("\t")
    if outcome == "ok":
        return Answer(int(number), int(rest[0]), rest[1])
    return Answer(int(number), failed=rest[0] or "it failed")

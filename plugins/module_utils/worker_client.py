"""What workers hold of files: the image's program `alluxio.image.Warm`, asked of many files in one process."""

from __future__ import annotations

import fcntl
import os
import selectors
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import IO, NamedTuple, cast
from urllib.parse import quote

from ansible_collections.alluxio.fuse.plugins.module_utils import reader

COMMAND = ("/opt/alluxio/bin/alluxio", "runClass")
PROGRAM = "alluxio.image.Warm"
#: Names are asked of the master each time: what workers hold changes while this runs.
OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-Dalluxio.user.metadata.cache.enabled=false",
)
#: Of compilers the one that costs little. Digests want the other one.
SMALL = ("-XX:TieredStopAtLevel=1",)
F_SETPIPE_SZ = 1031  # `fcntl` has it from Python 3.10 on
AHEAD_BYTES = 1 << 20  # that each pipe holds, so that the program goes on while who asks does something else
READ_BYTES = 1 << 16
TICK_S = 1.0
THREADS = 8  # of the program
IN_A_ROW = 64  # files that fail one after the other: it is not the files
ALGORITHMS = {reader.SHA256: "SHA-256", reader.MD5: "MD5"}  # as Java calls them
DIFFERS = "and the manifest says"  # in what is said of a file of another size
GONE = "does not exist"  # in what Alluxio says of a file that its source has no more


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

    @property
    def is_final(self) -> bool:
        """Whether it fails for the file's own sake: it would another time."""
        return DIFFERS in self.failed or GONE in self.failed


class WorkerClient:
    """One process of the program. verb: load, compare or free; bandwidth: bytes a second, 0 without a limit."""

    def __init__(self, verb: str, threads: int, bandwidth: int, command: Sequence[str] = COMMAND) -> None:
        options = OPTIONS if verb == "compare" else (*OPTIONS, *SMALL)
        arguments = [*command, PROGRAM, *options, verb, str(threads), str(bandwidth)]
        self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._in, self._out = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        for pipe in (self._in, self._out):
            os.set_blocking(pipe.fileno(), False)
            with suppress(PermissionError):  # a user may have too many large ones
                fcntl.fcntl(pipe, F_SETPIPE_SZ, AHEAD_BYTES)

    def ask(self, files: Iterator[File]) -> Iterator[Answer | None]:
        """What became of each file, in any order; None now and then, where nothing is known for a while.

        A process that ends early leaves files without an answer. There is no thread: who asks may fork meanwhile.
        """
        lines, waiting, said, unanswered = map(_line, files), b"", b"", 0
        with selectors.DefaultSelector() as pipes:
            pipes.register(self._out, selectors.EVENT_READ)
            pipes.register(self._in, selectors.EVENT_WRITE)
            while True:
                ready = [key.fileobj for key, _ in pipes.select(TICK_S)]
                if self._in in ready and not (waiting := self._write(waiting)):
                    waiting = next(lines, b"")
                    unanswered += bool(waiting)
                    if not waiting:
                        pipes.unregister(self._in)
                        self._in.close()
                if self._out in ready:
                    more = self._out.read(READ_BYTES)
                    if not more:
                        return
                    *whole, said = (said + more).split(b"\n")
                    unanswered -= len(whole)
                    yield from map(parse, whole)
                if self._in.closed and not unanswered:
                    return  # forks of who asks may keep the pipe open, so that the process goes on
                if not ready:
                    yield None

    def end(self) -> None:
        """Ends the process, whatever it does; what workers are reading they finish."""
        self._process.kill()
        self._process.wait()
        self._in.close()
        self._out.close()

    def _write(self, line: bytes) -> bytes:
        """What is left to be written of a line; nothing, where the process has ended."""
        try:
            return line[self._in.write(line) or 0 :]
        except BrokenPipeError:
            return b""


def _line(file: File) -> bytes:
    path = quote(file.path, safe="/", errors="surrogateescape")
    return f"{file.number}\t{file.size}\t{ALGORITHMS[file.algorithm]}\t{path}\n".encode("ascii")


Client = Callable[[str, int, int], WorkerClient]


def parse(line: bytes) -> Answer:
    """A line of the program."""
    number, outcome, *rest = line.decode("utf-8", "replace").rstrip("\n").split("\t")
    if outcome == "ok":
        return Answer(int(number), int(rest[0]), rest[1])
    return Answer(int(number), failed=rest[0] or "it failed")

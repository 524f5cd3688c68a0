"""A training program as a process of its own, or in a container: started, spoken with, and ended whatever happens."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import reader, system

WAIT_MS = 500
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LIMITS = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
MOST = 10_000  # processes and open files that a training may have in a container
SAID = 5  # last lines of what a program says
Problem = dict[str, str]


class ProgramError(Exception):
    """A program that ended without having done what was ordered, and its last words."""


class Left(BaseException):
    """Who asked for the run is gone: Ansible was interrupted, or its connection broke."""


class Program:
    """A running program."""

    def __init__(self, process: subprocess.Popen[bytes], words: int, told: int, said: Path) -> None:
        self._process, self._words, self._told, self._said, self._text = process, words, told, said, b""

    def go(self) -> None:
        """Let it go on."""
        with suppress(BrokenPipeError):  # what it has said is read by the next `event`
            os.write(self._words, b"g")

    def event(self, *kinds: str) -> dict[str, Any]:
        """The next thing that it tells, which is one of some kinds."""
        while b"\n" not in self._text:
            if not _readable(self._told):
                continue
            part = os.read(self._told, 1 << 20)
            if not part:
                raise ProgramError(self._last_words())
            self._text += part
        line, _, self._text = self._text.partition(b"\n")
        try:
            told = json.loads(line)
        except ValueError:
            told = None
        if isinstance(told, dict) and told.get("event") == "failed":
            raise ProgramError(f"it failed: {told.get('why')}")
        if not isinstance(told, dict) or told.get("event") not in kinds:
            raise ProgramError(f"it said {line[:200]!r} where {' or '.join(kinds)} was to come")
        return told

    def finish(self) -> None:
        """Wait until it has ended by itself."""
        try:
            said = self.event()
        except ProgramError:
            if self._process.wait() == 0:
                return
            raise
        raise ProgramError(f"it said {said} where it was to end")

    def _last_words(self) -> str:
        status = self._process.wait()
        lines = self._said.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-SAID:]
        return f"it ended with status {status}: {' | '.join(lines) or 'it said nothing'}"


def _readable(stream: int) -> bool:
    """Whether a program has said something within a moment; Left, if the caller of this module has ended."""
    wait = select.poll()
    wait.register(stream, select.POLLIN)
    own = sys.stdout.fileno()
    wait.register(own, 0)  # nothing to wait for: only that its reader is gone
    ready = dict(wait.poll(WAIT_MS))
    if ready.get(own, 0) & (select.POLLERR | select.POLLHUP):
        raise Left
    return stream in ready


@contextmanager
def running(command: list[str], said: Path, container: str | None = None) -> Iterator[Program]:
    """A program, until the context ends; then it has ended, and all that it started."""
    theirs_in, words = os.pipe()
    told, theirs_out = os.pipe()
    with said.open("wb") as errors:
        process = subprocess.Popen(command, stdin=theirs_in, stdout=theirs_out, stderr=errors, start_new_session=True)
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Program(process, words, told, said)
    finally:
        if container:
            remove = ["podman", "rm", "--force", "--ignore", "--time", "0", container]
            subprocess.run(remove, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(words)
        os.close(told)


def leave_on_signals() -> None:
    """From now on a signal to end raises Left: Ansible passes on what interrupts it."""
    for number in ENDING:
        signal.signal(number, _leave)


def _leave(*_: Any) -> None:
    for number in ENDING:  # what has to be cleaned up is not interrupted again
        signal.signal(number, signal.SIG_IGN)
    raise Left


def command(program: dict[str, Any], orders: str, folders: Iterable[str], container: str) -> list[str]:
    """The command line of a program with these orders; in an image it sees `folders`, each where it is here.

    program: `path`, `python` or `image`, and `writable`, the folder that it writes to; `launcher`, arguments of python
    by which processes start that train together.
    """
    if not program.get("image"):
        return [program["python"], "-u", *program.get("launcher", ()), program["path"], orders]
    seen = [f"--volume={folder}:{folder}:ro" for folder in folders]
    gpus = ["--device=nvidia.com/gpu=all"] if program.get("gpus") else []
    return [
        *("podman", *_runtime(), "run", "--interactive", "--rm"),
        *(f"--name={container}", "--network=none", "--pull=never"),
        *("--ipc=host", *_limits(), "--security-opt=label=disable", *gpus, *seen),
        *(f"--volume={program['writable']}:{program['writable']}", "--entrypoint=python3"),
        *(program["image"], "-u", *program.get("launcher", ()), program["path"], orders),
    ]


def _runtime() -> list[str]:
    """With cgroups of version 1, podman's usual runtime, crun, starts nothing."""
    return ["--runtime=runc"] if system.cgroup_version() == 1 else []


def _limits() -> list[str]:
    """Limits of a container: ours, since podman's own may be more than this node can give."""
    ours = {name: resource.getrlimit(number)[1] for name, number in LIMITS.items()}
    most = {name: min(hard, MOST) if hard > 0 else MOST for name, hard in ours.items()}
    return [f"--ulimit={name}={hard}:{hard}" for name, hard in most.items()]


def compare(shown: str, wanted: list[reader.Entry]) -> dict[str, Any]:
    """What an epoch has read, a line `digest size path` for each file, against the manifest: {digest, expected_digest,
    compared, wrong, problems}.

    The digests are sha256 over a line of path and digest for each file, in order of paths.
    """
    found: dict[str, tuple[str, int]] = {}
    problems: list[Problem] = []
    for line in shown.splitlines():
        digest, size, path = line.split(" ", 2)
        if path in found:
            problems.append({"path": path, "what": "read twice in one epoch"})
        found[path] = digest, int(size)
    for entry in wanted:
        digest, read = found.get(entry.path, ("", -1))
        if read < 0:
            problems.append({"path": entry.path, "what": "not read"})
        elif read != entry.size:
            problems.append({"path": entry.path, "what": f"{read} of {entry.size} bytes"})
        elif entry.digest and reader.algorithm_of(entry.digest) != reader.algorithm_of(digest):
            problems.append({"path": entry.path, "what": f"its {reader.algorithm_of(entry.digest)} was not told"})
        elif entry.digest not in (None, digest):
            problems.append({"path": entry.path, "what": reader.wrong_digest(entry.digest)})
    known = {entry.path: entry.digest for entry in wanted if entry.digest}
    problems += [{"path": path, "what": "not ordered"} for path in found.keys() - {entry.path for entry in wanted}]
    return {
        "digest": _digest((path, digest) for path, (digest, _) in found.items() if path in known),
        "expected_digest": _digest(known.items()),
        "compared": len(known),
        "wrong": len(problems),
        "problems": problems[: reader.MAX_PROBLEMS],
    }


def _digest(files: Iterable[tuple[str, str]]) -> str:
    whole = hashlib.sha256()
    for path, digest in sorted(files):
        whole.update(f"{path}\0{digest.rpartition(':')[2]}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()

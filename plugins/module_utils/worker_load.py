"""A load of Alluxio: it brings a dataset into the workers once, however many ask for it, and says how far it is."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from typing import Any

POLL_S = 3.0
SILENT_S = 120.0  # a command has ended by then, but for one that lists a store
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


class Load:
    """The load of a dataset, a step at a time. Workers that do not hold it all load what they hold."""

    def __init__(self, cli: Sequence[str], path: str) -> None:
        self._cli, self._path = list(cli), path
        self._submitted, self._asked = False, 0.0

    def step(self) -> tuple[bool, str]:
        """Whether it has ended, and what there is to say. OSError or ValueError where Alluxio does not tell."""
        if not self._submitted:
            self._call(None, "loadMetadata", "-R", self._path)  # a load walks only what has been listed
            self._call(SILENT_S, "load", self._path, "--submit")
            self._submitted = True
        if time.monotonic() < self._asked + POLL_S:
            return False, ""
        self._submitted = False  # where this fails, the master may know of no load any more
        job = parse(self._call(SILENT_S, "load", self._path, "--progress", "--format", "JSON"))
        self._submitted, self._asked = True, time.monotonic()
        files, failed, state = job["mProcessedFileCount"], job["mFailedFileCount"], job["mJobState"]
        if state not in ENDED:
            return False, f"workers load it, {files} files so far"
        how = "" if state == ENDED[0] else f", and the load has {state.lower()}"
        left = f", {failed} files failed" if failed else ""
        store = "; what they do not hold, each node reads from the store" if how or left else ""
        return True, f"workers loaded {files} files{how}{left}{store}"

    def _call(self, limit: float | None, *verb: str) -> str:
        command = [*self._cli, "fs", *verb]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired as late:
            raise OSError(f"alluxio fs {verb[0]} {self._path}: no answer within {limit:.0f} s") from late
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise OSError(f"alluxio fs {verb[0]} {self._path}: {said[-1] if said else done.returncode}")
        return done.stdout


def parse(text: str) -> dict[str, Any]:
    """Progress as Alluxio prints it: a sentence, then one line of JSON. ValueError where there is none."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            job: dict[str, Any] = json.loads(line)
            return job
    raise ValueError(f"alluxio fs load --progress said: {text}")

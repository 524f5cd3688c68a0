"""Keeps the datasets that a node is told to stage: copies what is missing, and heals paths that show a dead mount.

It runs for as long as the node is up, beside FUSE, from a copy of these modules.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils import assignments, compositions, stages

SLICE_S = 5.0  # of copying, before a run of the playbooks is let in
REST_S = 1.0
SCRUB = 100.0  # times what comparing a file took, until the next one: a hundredth of a processor
UNREAD = "it cannot be read; run site.yml again"
WAIT_S = 60.0  # after what went wrong, or is held by readers, as it takes time to find out


class Keeper:
    """What is assigned in a folder; it says of each path once what became of it."""

    def __init__(self, folder: str, seconds: float = SLICE_S) -> None:
        self._folder, self._seconds = folder, seconds
        self._said: dict[str, str] = {}
        self._until: dict[str, float] = {}
        self._scrub: dict[str, float] = {}

    def go_round(self) -> list[str]:
        """Looks once at everything that is assigned; what there is to say."""
        if not Path(self._folder).is_dir():
            return []
        with assignments.alone(self._folder):
            assigned = [one for one in assignments.assigned(self._folder) if self._until.get(one.path, 0) <= _now()]
            lines = {wanted.path: self._keep(wanted) for wanted in assigned}
            lines |= dict.fromkeys(assignments.unread(self._folder), UNREAD)
        new = {path: line for path, line in lines.items() if self._said.get(path) != line}
        self._said |= new
        return [f"{path}: {line}" for path, line in new.items()]

    def _keep(self, wanted: stages.Wanted) -> str:
        try:
            kept = stages.keep(wanted, self._seconds)
            if not kept.changed and not kept.former.kept:
                self._compare_one(wanted)
        except stages.NotMountedError as error:
            return str(error)
        except (OSError, ValueError, RuntimeError, compositions.InUseError) as error:
            self._until[wanted.path] = _now() + WAIT_S
            return str(error)
        if kept.problems:
            self._until[wanted.path] = _now() + WAIT_S
            return "; ".join(f"{one['path']}: {one['problem']}" for one in kept.problems)
        if kept.former.kept:
            self._until[wanted.path] = _now() + WAIT_S
        said = [_staged(wanted, kept), "" if kept.complete else "to be continued", str(kept.former)]
        return ", ".join(filter(None, said))

    def _compare_one(self, wanted: stages.Wanted) -> None:
        begun = _now()
        if begun >= self._scrub.get(wanted.path, 0.0):
            stages.compare_one(wanted)
            self._scrub[wanted.path] = _now() + SCRUB * (_now() - begun)


def _staged(wanted: stages.Wanted, kept: stages.Kept) -> str:
    if not wanted.folder:
        return "FUSE serves it"
    have = kept.staged.get("files", 0)
    whole = kept.complete and not wanted.is_part  # of all files, those, too, that a check leaves out
    return f"all {have} files staged" if whole else f"{have} of {kept.total['files']} files staged"


def _now() -> float:
    return time.monotonic()


def main(folder: str) -> None:
    """Goes on for ever."""
    keeper = Keeper(folder)
    while True:
        for line in keeper.go_round():
            print(line, flush=True)
        time.sleep(REST_S)


if __name__ == "__main__":
    main(sys.argv[1])

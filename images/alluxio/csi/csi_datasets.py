"""The datasets of a release as one node has them: whether each is served here, and in which words it is not."""

from __future__ import annotations

import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import csi_mounts

#: What statfs(2) tells: size of a block; blocks in all, free, free for others than root; inodes in all and free.
STATFS = ("stat", "--file-system", "--format=%S %b %f %a %c %d")
#: Inodes of a filesystem that does not count them, as Alluxio's FUSE: -1 without its sign.
UNCOUNTED = 2**64 - 1


class NotServedError(Exception):
    """A dataset cannot be read here now, and why."""


class Space(NamedTuple):
    """Bytes or inodes of a filesystem."""

    total: int
    used: int
    available: int


@dataclass
class Dataset:
    """A dataset of the release. parent: the folder above its mount point; owner: what .owner says in it."""

    name: str
    parent: Path
    owner: str
    writable: bool
    node: str
    seconds: float = 5
    _asked: subprocess.Popen[str] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def space(self) -> tuple[Space, Space | None]:
        """Bytes and inodes, where they are counted, of what is served here; a NotServedError where nothing is."""
        point = str(self.parent / "data")
        try:
            owner = (self.parent / ".owner").read_text().strip()
        except OSError as error:
            raise self._not(
                f"nothing serves it on node {self.node}: {error.strerror}: {self.parent / '.owner'}. Place the pod on "
                "a node with a FUSE pod of the dataset, or give this node one (fuse.nodeSelector, fuse.tolerations)"
            ) from error
        if owner != self.owner:
            raise self._not(
                f"{self.parent} on node {self.node} belongs to {owner}: give one of them another fuse.mountRoot"
            )
        if point not in csi_mounts.points():
            raise self._not(f"nothing is mounted at {point} on node {self.node} yet: the FUSE pod there says why")
        return self._ask(point)

    def _ask(self, point: str) -> tuple[Space, Space | None]:
        """Asks in a process of its own. One that hangs cannot be ended: it is left, and no other starts beside it."""
        with self._lock:
            if self._asked and self._asked.poll() is None:
                raise self._not(
                    f"its mount on node {self.node} hangs, an earlier question waits: restart its FUSE pod there"
                )
            self._asked = subprocess.Popen(
                [*STATFS, point], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
            )
            try:
                told, wrong = self._asked.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired as error:
                self._asked.kill()
                for pipe in (self._asked.stdout, self._asked.stderr):
                    if pipe:
                        pipe.close()
                raise self._not(
                    f"its mount on node {self.node} did not answer within {self.seconds:.0f} s: "
                    "if that lasts, restart its FUSE pod there"
                ) from error
            if self._asked.returncode != 0:
                raise self._not(
                    f"its mount on node {self.node} is broken: {wrong.strip()}: its FUSE pod there is to come back"
                )
        size, blocks, free, available, inodes, left = map(int, told.split())
        counted = None if inodes == UNCOUNTED else Space(inodes, max(0, inodes - left), left)
        return Space(size * blocks, size * (blocks - free), size * available), counted

    def _not(self, why: str) -> NotServedError:
        return NotServedError(f"dataset {self.name}: {why}")

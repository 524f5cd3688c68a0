"""The mounts of every mount namespace of a node, and which of them show what a given mount shows."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import Mount, parse_mountinfo

PROC = Path("/proc")


class Copies:
    """A few mounts, and what of them is mounted in whatever container.

    numbers: of the mounts, in every namespace, that show them or a part of them. others: of all other mounts.
    """

    def __init__(self, shown: Collection[Mount]) -> None:
        self._shown = shown
        self.numbers: set[str] = set()
        self.others: set[str] = set()
        self.look_again()

    def has(self, number: str) -> bool:
        """Whether a mount is one of the copies; of one that came since, the namespaces are asked again."""
        if number not in self.numbers | self.others:
            self.look_again()
        return number in self.numbers

    def look_again(self) -> None:
        """Adds what was mounted since."""
        for _, mount in every_mount():
            ours = any(_shows(mount, one) for one in self._shown)
            (self.numbers if ours else self.others).add(mount["number"])


def processes() -> list[Path]:
    """The folders of all processes, the oldest numbers first."""
    return sorted(PROC.glob("[0-9]*"), key=lambda path: int(path.name))


def namespace_of(process: Path) -> str:
    """The name of the mount namespace of a process; an OSError where it has none, as a thread of the kernel."""
    return os.readlink(process / "ns/mnt")  # noqa: PTH115 (a link that leads nowhere)


def number_of(info: Path) -> str:
    """The number of the mount that a file was opened through, of /proc/…/fdinfo/N."""
    fields = dict(line.split(":\t") for line in info.read_text().splitlines()[:4] if ":\t" in line)
    return fields.get("mnt_id", "").strip()


def every_mount() -> Iterable[tuple[Path, Mount]]:
    """The mounts of every mount namespace that has a process, each with the first one of these."""
    seen = set()
    for process in processes():
        try:
            namespace = namespace_of(process)
            if namespace not in seen:
                text = (process / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
                yield from ((process, mount) for mount in parse_mountinfo(text))
                seen.add(namespace)
        except OSError:  # ended meanwhile, or is a thread of the kernel
            continue


def _shows(mount: Mount, other: Mount) -> bool:
    """Whether a mount shows the filesystem of another one, from the same folder or one below it."""
    return mount["device"] == other["device"] and f"{mount['root']}/".startswith(f"{other['root'].rstrip('/')}/")

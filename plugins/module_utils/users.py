"""Who works on a node: processes with files of a mount open, and GPUs that compute."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.mounts import HUNG, Mount, in_child, mount_at

BUSY_PERCENT = 5  # of a GPU's time, above which it counts as busy
QUERY = ["nvidia-smi", "--query-gpu=index,utilization.gpu", "--format=csv,noheader,nounits"]
TIMEOUT_S = 10.0
EVERYBODY_S = 0.25  # between two looks at every process
CLOSELY_S = 0.001  # between two looks at those that read: a small file is open for less than that


def readers_at(path: str, mounts: list[Mount], seconds: float = 0) -> list[str]:
    """Processes that have a file open or mapped of the mount at `path`, or of a FUSE mount below it.

    seconds: how long to look, as who opens a file only now and then is a reader, too; all that were seen are told.
    Meanwhile those that read anything, from wherever, are watched closely.
    """
    at, below = mount_at(mounts, path), f"{path.rstrip('/')}/"
    inside = [mount for mount in mounts if mount["type"].startswith("fuse") and mount["point"].startswith(below)]
    devices = {mount["device"] for mount in ([at] if at else []) + inside}
    deadline = time.monotonic() + seconds
    found: dict[str, None] = {}
    calls: dict[Path, int] = {}
    while devices:
        look = _Look(devices)
        found |= dict.fromkeys(look.users(_processes()))
        if time.monotonic() >= deadline:
            break
        before, calls = calls, _calls_of_read()
        reading = [process for process, count in calls.items() if count > before.get(process, count)]
        until = min(deadline, time.monotonic() + EVERYBODY_S)
        while time.monotonic() < until:
            found |= dict.fromkeys(look.users(reading, mapped=False))
            time.sleep(CLOSELY_S)
    return list(found)


def readers_of(device: str) -> list[str]:
    """Processes, in whatever container, that have a file open or mapped of the filesystem `device` ("MAJ:MIN")."""
    return list(_Look({device}).users(_processes()))


class _Look:
    """One look at who uses some filesystems.

    Files are told by the mount that the kernel names for them: a path is another one in a container, and asking the
    file itself would hang on a mount that is dead.
    """

    def __init__(self, devices: set[str]) -> None:
        self._devices = devices
        self._in_maps = {"{:02x}:{:02x}".format(*map(int, device.split(":"))) for device in devices}
        self._mounts: dict[str, set[str]] = {}

    def users(self, processes: Iterable[Path], *, mapped: bool = True) -> Iterator[str]:
        """Those of `processes` (folders of /proc) that have a file open or, where `mapped`, only mapped."""
        for process in processes:
            try:
                if self._opened(process) or (mapped and self._mapped(process)):
                    yield f"{(process / 'comm').read_text().strip()} ({process.name})"
            except OSError:  # ended meanwhile, or is a thread of the kernel
                continue

    def _opened(self, process: Path) -> bool:
        space = os.readlink(process / "ns/mnt")  # noqa: PTH115 (a link that leads nowhere)
        if space not in self._mounts:
            lines = map(str.split, (process / "mountinfo").read_text().splitlines())
            self._mounts[space] = {number for number, _, device, *_ in lines if device in self._devices}
        mounts = self._mounts[space]
        return bool(mounts) and any(_mount_id(info) in mounts for info in (process / "fdinfo").iterdir())

    def _mapped(self, process: Path) -> bool:
        """Whether a mapping outlives its file descriptor, as where tensors are read."""
        return any(line.split(maxsplit=4)[3] in self._in_maps for line in (process / "maps").read_text().splitlines())


def _processes() -> list[Path]:
    return sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name))


def _calls_of_read() -> dict[Path, int]:
    """How often each process has read anything."""
    calls = {}
    for process in _processes():
        try:
            fields = dict(line.split(": ") for line in (process / "io").read_text().splitlines())
        except OSError:
            continue
        calls[process] = int(fields["syscr"])
    return calls


def _mount_id(info: Path) -> str:
    fields = dict(line.split(":\t") for line in info.read_text().splitlines()[:4] if ":\t" in line)
    return fields.get("mnt_id", "").strip()


def parse_utilisation(text: str) -> list[str]:
    """GPUs that are at work, of nvidia-smi's CSV answer to QUERY."""
    busy = []
    for line in text.splitlines():
        index, _, percent = (part.strip() for part in line.partition(","))
        if percent.isdigit() and int(percent) > BUSY_PERCENT:
            busy.append(f"GPU {index} ({percent}%)")
    return busy


def busy_gpus() -> list[str]:
    """GPUs that are at work; none where nobody can tell."""
    answer = in_child(_ask_smi, TIMEOUT_S)
    return [] if answer in (None, HUNG) else parse_utilisation(answer)


def _ask_smi() -> str | None:
    try:
        return subprocess.run(QUERY, stdout=subprocess.PIPE, check=True, text=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None

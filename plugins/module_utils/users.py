"""Who works on a node: processes with files of a mount open, and GPUs that compute."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.mounts import HUNG, Mount, in_child
from ansible_collections.alluxio.fuse.plugins.module_utils.opens import openers

BUSY_PERCENT = 5  # of a GPU's time, above which it counts as busy
QUERY = ["nvidia-smi", "--query-gpu=index,utilization.gpu", "--format=csv,noheader,nounits"]
TIMEOUT_S = 10.0


def readers_at(path: str, mounts: list[Mount], seconds: float = 0) -> list[str]:
    """Processes that have a file open or mapped of the mount at `path`, or of a FUSE mount below it.

    seconds: how long to wait for those that open one, as a small file is open for some microseconds; where the kernel
    does not tell (OSError), or the mount is hung, there are those of the look before and the one after.
    """
    below = f"{path.rstrip('/')}/"
    found = [one for one in mounts if one["type"].startswith("fuse") and f"{one['point']}/".startswith(below)]
    if not found:
        return []
    devices = {mount["device"] for mount in found}
    readers = dict.fromkeys(readers_of(*devices))
    if seconds:
        readers |= dict.fromkeys(_opening([mount["point"] for mount in found], seconds))
        readers |= dict.fromkeys(readers_of(*devices))
    return list(readers)


def _opening(points: list[str], seconds: float) -> list[str]:
    try:
        said = in_child(lambda: openers(points, seconds), seconds + TIMEOUT_S)
    except OSError:
        return []
    return [] if said == HUNG else list(said)


def readers_of(*devices: str) -> list[str]:
    """Processes, in whatever container, that have a file open or mapped of the filesystems `devices` ("MAJ:MIN").

    Files are told by the mount that the kernel names for them: a path is another one in a container, and asking the
    file itself would hang on a mount that is dead.
    """
    known: dict[str, set[str]] = {}
    found = []
    for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            space = os.readlink(process / "ns/mnt")  # noqa: PTH115 (a link that leads nowhere)
            if space not in known:
                known[space] = _mounts_on(devices, (process / "mountinfo").read_text())
            if _opened(process, known[space]) or _mapped(process, devices):
                found.append(f"{(process / 'comm').read_text().strip()} ({process.name})")
        except OSError:  # ended meanwhile, or is a thread of the kernel
            continue
    return found


def _mounts_on(devices: Collection[str], mountinfo: str) -> set[str]:
    """Numbers of the mounts of `devices`."""
    return {number for number, _, found, *_ in map(str.split, mountinfo.splitlines()) if found in devices}


def _opened(process: Path, mounts: set[str]) -> bool:
    return bool(mounts) and any(_mount_id(info) in mounts for info in (process / "fdinfo").iterdir())


def _mapped(process: Path, devices: Collection[str]) -> bool:
    """Whether a mapping outlives its file descriptor, as where tensors are read."""
    wanted = {"{:02x}:{:02x}".format(*map(int, device.split(":"))) for device in devices}
    return any(line.split(maxsplit=4)[3] in wanted for line in (process / "maps").read_text().splitlines())


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

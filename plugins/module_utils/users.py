"""Who works on a node: processes with files of a mount open, and GPUs that compute."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.mounts import HUNG, Mount, in_child, mount_at

BUSY_PERCENT = 5  # of a GPU's time, above which it counts as busy
PAUSE_S = 0.1  # between two looks: a reader has no file open while it computes
QUERY = ["nvidia-smi", "--query-gpu=index,utilization.gpu", "--format=csv,noheader,nounits"]
TIMEOUT_S = 10.0


def readers_at(path: str, mounts: list[Mount], seconds: float = 0) -> list[str]:
    """Processes with a file open of the mount at `path`, or of a FUSE mount below it.

    seconds: how long to look, as who opens a file only now and then is a reader, too; all that were seen are told.
    """
    at, below = mount_at(mounts, path), f"{path.rstrip('/')}/"
    inside = [mount for mount in mounts if mount["type"].startswith("fuse") and mount["point"].startswith(below)]
    devices = {mount["device"] for mount in ([at] if at else []) + inside}
    deadline = time.monotonic() + seconds
    found: dict[str, None] = {}
    while devices:
        found |= dict.fromkeys(reader for device in sorted(devices) for reader in readers_of(device))
        if time.monotonic() >= deadline:
            break
        time.sleep(PAUSE_S)
    return list(found)


def readers_of(device: str, proc: str = "/proc") -> list[str]:
    """Processes, in whatever container, with a file open on the filesystem `device` ("MAJ:MIN").

    Files are told by the mount that the kernel names for them: a path is another one in a container, and asking the
    file itself would hang on a mount that is dead.
    """
    known: dict[str, set[str]] = {}
    found = []
    for folder in sorted(Path(proc).glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            space = os.readlink(folder / "ns/mnt")  # noqa: PTH115 (a link that leads nowhere)
            if space not in known:
                known[space] = _mounts_on(device, (folder / "mountinfo").read_text())
            if known[space] and any(_mount_id(info) in known[space] for info in (folder / "fdinfo").iterdir()):
                found.append(f"{(folder / 'comm').read_text().strip()} ({folder.name})")
        except OSError:  # ended meanwhile, or is a thread of the kernel
            continue
    return found


def _mounts_on(device: str, mountinfo: str) -> set[str]:
    """Numbers of the mounts of `device`."""
    return {number for number, _, found, *_ in map(str.split, mountinfo.splitlines()) if found == device}


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

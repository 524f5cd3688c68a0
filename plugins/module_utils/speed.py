"""How fast the disks of caches are: a short fio, remembered, so that it is run once for each disk."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import steps
from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import Mount, mount_of
from ansible_collections.alluxio.fuse.plugins.module_utils.system import SYSTEM_PATH, TOOLS

FILE = "media.json"
SECONDS = 2
MIB = 2**20
SIZE = 256 * MIB
SLOWEST = {"ssd": 100, "hdd": 20}  # MB/s below which a disk is broken, throttled, or not what it was said to be
Medium = dict[str, Any]


def load(state_dir: str) -> dict[str, dict[str, Any]]:
    """{disk: {read_mb_s, write_mb_s, path}} as remembered."""
    try:
        return dict(json.loads(Path(state_dir, FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def save(state_dir: str, speeds: dict[str, dict[str, Any]]) -> None:
    """Remember them; a crash leaves the old file or the new one."""
    part = Path(state_dir, f".{FILE}.part")
    part.write_text(json.dumps(speeds, indent=2) + "\n", encoding="utf-8")
    part.chmod(0o644)
    part.replace(Path(state_dir, FILE))


def disks(media: list[Medium], mounts: list[Mount]) -> dict[str, Medium]:
    """{disk: medium} to measure: one folder for each device of ours, and for each filesystem that folders lie on."""
    devices = [medium for medium in media if medium["kind"] == "device"]
    found: dict[str, Medium] = {device["device"]: device for device in devices}
    for medium in media:
        on_device = any(f"{medium['path']}/".startswith(f"{device['path']}/") for device in devices)
        if medium["kind"] in ("directory", "filesystem") and not on_device:
            found.setdefault(mount_of(mounts, medium["path"])["point"], medium)
    return found


def fio() -> str | None:
    """Where fio is, if it is."""
    return shutil.which("fio", path=SYSTEM_PATH)


def measure(folder: str) -> dict[str, Any]:
    """{read_mb_s, write_mb_s} past the page cache, of a file that is gone afterwards; a RuntimeError says why not.

    The folder may be another user's, so the file is in a folder of root's own, entered by its handle.
    """
    tool = fio()
    parent, name = steps.folder(folder), f".speed-{secrets.token_hex(8)}"
    try:
        room = os.fstatvfs(parent)
        size = min(SIZE, room.f_bavail * room.f_frsize // 4) // MIB * MIB
        if tool is None or size == 0:
            raise RuntimeError("there is no fio" if tool is None else "there is no room for a file of 1 MiB")
        os.mkdir(name, 0o700, dir_fd=parent)
        inside = os.open(name, steps.OPEN, dir_fd=parent)
        try:
            return {f"{way}_mb_s": _run(tool, way, size, inside) for way in ("write", "read")}
        finally:
            steps.empty(inside)
            os.close(inside)
            os.rmdir(name, dir_fd=parent)
    finally:
        os.close(parent)


def _run(tool: str, way: str, size: int, inside: int) -> int:
    """MB/s of one way, in the folder that is open."""
    command = [
        *(tool, "--name=speed", "--filename=speed", f"--size={size}", f"--rw={way}", "--bs=1M", "--direct=1"),
        *("--ioengine=libaio", "--iodepth=16", f"--runtime={SECONDS}", "--time_based", "--output-format=json"),
    ]
    where = f"/proc/self/fd/{inside}"
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=TOOLS, cwd=where)
    if done.returncode != 0:
        raise RuntimeError(f"fio: {(done.stderr or done.stdout).strip()[-200:]}")
    answer = json.loads(done.stdout[done.stdout.index("{") :])
    return round(float(answer["jobs"][0][way]["bw_bytes"]) / 1e6)


def trusted(speeds: dict[str, dict[str, Any]], wanted: dict[str, Medium]) -> dict[str, dict[str, Any]]:
    """Those to remember: a disk that is refused may be repaired."""
    refused = findings(speeds, wanted)
    return {disk: told for disk, told in speeds.items() if disk not in refused}


def findings(speeds: dict[str, dict[str, Any]], wanted: dict[str, Medium]) -> dict[str, str]:
    """{disk: refusal} of each that is absurdly slow for what it was said to be."""
    found = {}
    for disk, medium in wanted.items():
        read, least = speeds.get(disk, {}).get("read_mb_s"), SLOWEST.get(medium["medium"], 0)
        if read is not None and read < least:
            found[disk] = (
                f"{disk}: {read} MB/s; why: an {medium['medium']} reads at least {least} MB/s, so this one is broken,"
                f" throttled or something else; do: repair it (smartctl, dmesg) and run again, which measures it again,"
                " name another, or say hdd"
            )
    return found

"""FUSE processes beside that of a mount, made from it, so that other options can be read side by side with its own.

A twin runs in the namespaces of the process that it is made from: the same image, network and keys, but a client cache,
a mount point and counters of its own. It ends by itself after a while, whatever becomes of who asked for it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import fuse_connection, mount_table
from ansible_collections.alluxio.fuse.plugins.module_utils.system import SYSTEM_PATH, TOOLS

PREFIX = "tune-"  # of mount points, beside that of the origin, and of folders in its client cache
PORT_STEP = 100  # between the counters of a process and of its first twin
READY_S = 60.0
GONE_S = 20.0
LAST_WORDS = 1500  # characters of the log of one that did not mount
NAMESPACES = ("--mount", "--pid", "--net", "--ipc", "--uts")
SHOWS_COUNTERS = "alluxio.fuse.web.enabled"
COUNTERS = "alluxio.fuse.web.port"
COUNTERS_DEFAULT = 49999
CACHE = "alluxio.user.client.cache.dirs"
CACHE_SIZE = "alluxio.user.client.cache.size"
CONF_DIR = "-Dalluxio.conf.dir="

# {number, flags, properties, mount_options, environment, settings: of the kernel's side, cache_bytes, in_memory};
# flags, properties and environment say only what differs from the origin
Twin = Mapping[str, Any]


class NotMountedError(Exception):
    """A twin that does not serve; the message has its last words."""


def process_of(point: str) -> int:
    """The process that serves a mount point; a ValueError where none does."""
    for process in Path("/proc").glob("[0-9]*"):
        if _serves(process, point):
            return int(process.name)
    raise ValueError(f"no FUSE process serves {point}: playbooks/status.yml tells what does")


def start(point: str, twin: Twin, log: Path, seconds: int) -> dict[str, Any]:
    """Mounts a twin of the process at `point` for `seconds` at most: {mount_point, port: of its counters, or None}."""
    origin = process_of(point)
    words = _words(Path(f"/proc/{origin}/cmdline"))
    own = f"{Path(point).parent}/{PREFIX}{twin['number']}"
    properties = _own_properties(_site(origin, words), twin)
    if CACHE in properties:
        _make_cache(origin, properties[CACHE], twin)
    Path(own).mkdir()
    inherited = dict(word.partition("=")[::2] for word in _words(Path(f"/proc/{origin}/environ")))
    with log.open("w", encoding="utf-8") as said:
        process = subprocess.Popen(
            _inside(origin, "timeout", "--kill-after=10", str(seconds), *command(words, twin, own, properties)),
            env={"PATH": SYSTEM_PATH, **inherited, **twin["environment"]},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + READY_S
    while mount_table.mount_point_state(mount_table.read_mounts(), own)["state"] != "mounted":
        if process.poll() is not None or time.monotonic() > deadline:
            raise NotMountedError(_last_words(log.read_text(encoding="utf-8", errors="replace")))
        time.sleep(0.2)
    with fuse_connection.control() as connections:
        fuse_connection.write_settings(fuse_connection.device_of(own), twin["settings"], connections)
    return {"mount_point": own, "port": properties.get(COUNTERS)}


def end_all(point: str) -> list[str]:
    """Ends the twins of the process at `point`, and takes away what they had; the mount points of those that were."""
    found = sorted(str(path) for path in Path(point).parent.glob(f"{PREFIX}*"))
    for own in found:
        _end(own)
    if found:
        _empty_cache(point)
    return found


def command(words: list[str], twin: Twin, point: str, own: Mapping[str, Any]) -> list[str]:
    """The command line `words` of a FUSE process as a twin has it; of two options alike a JVM takes the last one."""
    at = words.index("-cp")
    arguments = words[at:]
    arguments[arguments.index("-m") + 1] = point
    if "-o" in arguments:
        place = arguments.index("-o")
        del arguments[place : place + 2]
    if twin["mount_options"]:
        arguments += ["-o", ",".join(twin["mount_options"])]
    properties = [f"-D{key}={value}" for key, value in {**twin["properties"], **own}.items()]
    return [*words[:at], *twin["flags"], *properties, *arguments]


def _serves(process: Path, point: str) -> bool:
    try:
        words = _words(process / "cmdline")
    except OSError:  # ended meanwhile
        return False
    return words[0].endswith("java") and "-m" in words and words[words.index("-m") + 1] == point


def _words(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\0").split("\0")


def _site(origin: int, words: list[str]) -> dict[str, str]:
    """Of alluxio-site.properties, as the process has it, what says where its counters and its client cache are."""
    folder = next(word[len(CONF_DIR) :] for word in words if word.startswith(CONF_DIR))
    text = Path(f"/proc/{origin}/root{folder}/alluxio-site.properties").read_text(encoding="utf-8")
    pairs = dict(line.partition("=")[::2] for line in text.splitlines())
    return {key: pairs[key].strip() for key in (SHOWS_COUNTERS, COUNTERS, CACHE) if key in pairs}


def _own_properties(site: Mapping[str, str], twin: Twin) -> dict[str, Any]:
    """What no two processes may share."""
    own: dict[str, Any] = {}
    if site.get(SHOWS_COUNTERS) == "true":
        own[COUNTERS] = int(site.get(COUNTERS, COUNTERS_DEFAULT)) + PORT_STEP + twin["number"]
    if CACHE in site:
        own |= {CACHE: f"{site[CACHE]}/{PREFIX}{twin['number']}", CACHE_SIZE: twin["cache_bytes"]}
    return own


def _last_words(log: str) -> str:
    """The end of a log, without what the collector says all the time."""
    return "\n".join(line for line in log.splitlines() if " GC(" not in line)[-LAST_WORDS:].strip()


def _make_cache(origin: int, folder: str, twin: Twin) -> None:
    _run(_inside(origin, "mkdir", folder), check=True)
    if twin["in_memory"]:
        size = f"size={twin['cache_bytes'] * 5 // 4}"
        _run(_inside(origin, "mount", "-t", "tmpfs", "-o", size, PREFIX, folder), check=True)


def _end(own: str) -> None:
    try:
        process = process_of(own)
        os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + GONE_S
        while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        if Path(f"/proc/{process}").exists():
            os.kill(process, signal.SIGKILL)
    except (ValueError, ProcessLookupError):
        pass
    if mount_table.mount_at(mount_table.read_mounts(), own):
        _run(["umount", "--lazy", own])
    Path(own).rmdir()


def _empty_cache(point: str) -> None:
    try:
        origin = process_of(point)
    except ValueError:  # its namespaces are gone, and what was mounted in them
        return
    if folder := _site(origin, _words(Path(f"/proc/{origin}/cmdline"))).get(CACHE):
        script = f'umount -q "$1"/{PREFIX}*; rm -rf -- "$1"/{PREFIX}*'
        _run(_inside(origin, "sh", "-c", script, "sh", folder))


def _inside(origin: int, *words: str) -> list[str]:
    """The command line that runs another one where the process `origin` is."""
    tool = shutil.which("nsenter", path=SYSTEM_PATH) or "nsenter"
    return [tool, "--target", str(origin), *NAMESPACES, "--wd", *words]


def _run(words: list[str], check: bool = False) -> None:
    subprocess.run(words, check=check, capture_output=True, env=TOOLS)

"""What a node tells of itself and of its services, each thing by itself: what cannot be told keeps nothing else back.

No file or folder of a FUSE mount is touched.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import (
    counters,
    filesystems,
    fuse_connection,
    mount_table,
    ownership,
    system,
)

COMMAND_S = 20.0
ANSWER_S = 3.0
MOST_BYTES = 2**20  # of one part, counted from its end

Part = dict[str, Any]
Work = tuple[str, Callable[[], str]]


def gather(
    commands: list[dict[str, Any]], files: list[dict[str, str]], addresses: list[dict[str, str]], node: bool
) -> list[Part]:
    """Parts {path, text, why, cut}; why: what kept it from being got, cut: whether its beginning is left out.

    commands: {path, argv}, files: {path, file}, addresses: {path, address "host:port", page}. node: whether the node
    itself is looked at, too.
    """
    work: list[Work] = [(one["path"], lambda one=one: run(one["argv"])) for one in commands]  # type: ignore[misc]
    work += [(one["path"], lambda one=one: read(one["file"])) for one in files]  # type: ignore[misc]
    work += [(one["path"], lambda one=one: ask(one["address"], one["page"])) for one in addresses]  # type: ignore[misc]
    if node:
        work += [("node.json", _json(about_node)), ("processes.json", _json(processes))]
    with ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(part, work))


def part(work: Work) -> Part:
    """What the work told, or why it could not."""
    path, tell = work
    try:
        text, cut = ending(tell())
    except (OSError, HTTPException, ValueError, KeyError, subprocess.SubprocessError) as error:
        return {"path": path, "text": "", "why": f"{getattr(error, 'reason', error)}", "cut": False}
    return {"path": path, "text": text, "why": "", "cut": cut}


def ending(text: str, most: int = MOST_BYTES) -> tuple[str, bool]:
    """The last whole lines within so many bytes, and whether others are left out; half a line may hold half a key."""
    kept = text.encode()
    if len(kept) <= most:
        return text, False
    return kept[-most:].partition(b"\n")[2].decode(errors="replace"), True


def run(argv: list[str]) -> str:
    """What a command says, on either stream; OSError where it is not there, ends with an error, or does not end."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **system.TOOLS},
    )
    try:
        said = process.communicate(timeout=COMMAND_S)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()  # and left behind: one that hangs in the kernel cannot be waited for
        raise OSError(f"{argv[0]} has not ended within {COMMAND_S:g} s") from None
    if process.returncode:
        raise OSError(f"{argv[0]} ended with {process.returncode}: {' '.join(said.split())[-300:]}")
    return said


def read(file: str) -> str:
    """The text of a file."""
    return Path(file).read_text(encoding="utf-8", errors="replace")


def ask(address: str, page: str) -> str:
    """JSON that a process of Alluxio shows."""
    return json.dumps(counters.fetch(address, ANSWER_S, page))


def about_node() -> dict[str, Any]:
    """System, local filesystems with what is free, all mounts, and how many requests wait in each FUSE connection."""
    seen = mount_table.read_mounts()
    with fuse_connection.control() as connections:
        waiting = {one.name: read(str(one / "waiting")).strip() for one in sorted(connections.iterdir())}
    return {
        "system": system.read_system(),
        "filesystems": filesystems.read_filesystems(seen, ownership.empty("")),
        "mounts": seen,
        "fuse_connections": {number: int(count) for number, count in waiting.items()},
    }


def processes(proc: str = "/proc") -> list[dict[str, Any]]:
    """[{pid, command (with its flags), status, limits, cgroup, open_files}] of Alluxio's, in whatever container."""
    found = []
    for folder in sorted(Path(proc).glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            command = read(str(folder / "cmdline")).rstrip("\0").split("\0")
            if not command[0].endswith("java") or not any("alluxio" in word for word in command):
                continue
            found.append(
                {
                    "pid": int(folder.name),
                    "command": command,
                    "status": read(str(folder / "status")).splitlines(),
                    "limits": read(str(folder / "limits")).splitlines(),
                    "cgroup": read(str(folder / "cgroup")).splitlines(),
                    "open_files": sum(1 for _ in (folder / "fd").iterdir()),
                }
            )
        except OSError:  # ended meanwhile
            continue
    return found


def _json(look: Callable[[], Any]) -> Callable[[], str]:
    return lambda: json.dumps(look())

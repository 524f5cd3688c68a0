"""Units of systemd: what their main process may open, and who answers there."""

from __future__ import annotations

import re
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from ansible.module_utils.urls import open_url
from ansible_collections.alluxio.fuse.plugins.module_utils import system

ACCEPTS = 0x10000  # in the flags of /proc/net/unix: the socket listens


def show(unit: str, *properties: str) -> dict[str, str]:
    """What `systemctl show` says of a unit; nothing where systemd does not answer."""
    command = ["systemctl", "show", "--property", ",".join(properties), unit]
    said = subprocess.run(command, capture_output=True, text=True, check=False, env=system.TOOLS).stdout
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def main_process(unit: str) -> int | None:
    """The process of a unit that runs; None where it does not."""
    about = show(unit, "ActiveState", "MainPID")
    running = about.get("ActiveState") == "active" and about.get("MainPID", "0") != "0"
    return int(about["MainPID"]) if running else None


def parse_files(limits: str) -> int | None:
    """The hard limit of open files in /proc/PID/limits; None where the process has ended."""
    found = re.search(r"^Max open files\s+\S+\s+(\S+)", limits, re.MULTILINE)
    if not found:
        return None
    return system.UNLIMITED if found[1] == "unlimited" else int(found[1])


def open_files(unit: str) -> int | None:
    """How many files the main process of a unit, and the containers that inherit from it, may open; None: none runs."""
    process = main_process(unit) if Path("/run/systemd/system").is_dir() else None
    return parse_files(system.text(f"/proc/{process}/limits")) if process else None


def parse_listening(table: str, inodes: set[str]) -> list[str]:
    """Paths of the sockets in /proc/net/unix that listen, of those with these inodes."""
    rows = [line.split() for line in table.splitlines()[1:]]
    named = [row for row in rows if len(row) > 7 and row[7].startswith("/")]
    return sorted({row[7] for row in named if row[6] in inodes and int(row[3], 16) & ACCEPTS})


def listening(process: int) -> list[str]:
    """Unix sockets that a process listens on."""
    links = []
    with suppress(OSError):  # it has ended
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):  # it was closed meanwhile
                links.append(str(entry.readlink()))
    inodes = {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:[")}
    return parse_listening(system.text("/proc/net/unix"), inodes)


def answering(unit: str, urls: list[str]) -> set[str]:
    """What answers now: sockets of the unit's main process, and those of `urls` that give status 200."""
    process = main_process(unit)
    return {path for path in (listening(process) if process else []) if _connects(path)} | {
        url for url in urls if _healthy(url)
    }


def _connects(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(path)
        except OSError:
            return False
    return True


def _healthy(url: str) -> bool:
    try:
        return bool(open_url(url, timeout=5, use_proxy=False).getcode() == 200)
    except OSError:  # what urllib raises is one, too
        return False

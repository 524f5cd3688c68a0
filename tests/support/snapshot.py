#!/usr/bin/env python3
"""What a node is like, to compare before and after: files, mounts, units, processes, packages and kernel settings.

usage: snapshot.py take > a.json
       snapshot.py compare a.json b.json

`take` runs on the node itself with Python's standard library only. `compare` prints every difference that
tests/nodes/unchanged.yml does not except, and exits 1 if there is one. Packages stay after a removal: those that came
and the files that they own are no difference; those that went, or changed, are.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

TREES = ("/etc", "/var/lib", "/run", "/mnt")
SETTINGS = ("/proc/sys/fs/file-max", "/proc/sys/fs/nr_open", "/proc/sys/vm/max_map_count", "/proc/sys/vm/swappiness")
EXCEPTIONS = Path(__file__).parent.parent / "nodes" / "unchanged.yml"
Snapshot = dict[str, dict[str, str]]


def take() -> Snapshot:
    """The node as it is now: {section: {what: how}}."""
    points = {line.split(" ")[4]: line.split(" - ")[1].split(" ")[0] for line in _lines("/proc/self/mountinfo")}
    files: dict[str, str] = {}
    for tree in TREES:
        _walk(tree, set(points), files)
    return {
        "files": files,
        "mounts": points,
        "units": _units(),
        "processes": _processes(),
        "packages": _packages(),
        "packaged": _packaged(),
        "settings": {**{path: "".join(_lines(path)) for path in SETTINGS}, **_read_ahead()},
    }


def compare(before: Snapshot, after: Snapshot, exceptions: dict[str, list[str]]) -> list[str]:
    """Differences, one line each, that no exception of their section covers."""
    found = []
    came = after["packages"].keys() - before["packages"].keys()
    expected = {path for path, package in after["packaged"].items() if package in came} | came
    for section in before.keys() - {"packaged"}:
        patterns = [re.compile(pattern) for pattern in exceptions.get(section, [])]
        for what in sorted(before[section].keys() | after[section].keys()):
            old, new = before[section].get(what), after[section].get(what)
            if old is None and what in expected:
                continue
            if old != new and not any(pattern.fullmatch(what) for pattern in patterns):
                found.append(f"{section}: {what}: {old or 'absent'} -> {new or 'absent'}")
    return sorted(found)


def changes(before: Snapshot) -> list[str]:
    """What is different on this machine from what it was, but for what is excepted."""
    return compare(before, take(), read_exceptions())


def read_exceptions(path: Path = EXCEPTIONS) -> dict[str, list[str]]:
    """{section: [patterns]} of the committed list: a YAML of `section:` lines and `- 'pattern'  # why` below them."""
    exceptions: dict[str, list[str]] = {}
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"(\w+):", line):
            section = heading.group(1)
            exceptions[section] = []
        elif entry := re.match(r"  - '(.*?)'", line):
            exceptions[section].append(entry.group(1))
    return exceptions


def _walk(tree: str, points: set[str], files: dict[str, str]) -> None:
    try:
        entries = sorted(os.scandir(tree), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.path in points:  # its own section; a dead mount must not be touched
            continue
        try:
            about = entry.stat(follow_symlinks=False)
            files[entry.path] = _describe(entry.path, about)
        except OSError:
            continue  # gone meanwhile
        if stat.S_ISDIR(about.st_mode):
            _walk(entry.path, points, files)


def _describe(path: str, about: os.stat_result) -> str:
    text = f"{stat.filemode(about.st_mode)} {about.st_uid}:{about.st_gid}"
    if stat.S_ISLNK(about.st_mode):
        return f"{text} {Path(path).readlink()}"
    if stat.S_ISREG(about.st_mode) and path.startswith("/etc"):
        return f"{text} {hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]}"
    return text


def _units() -> dict[str, str]:
    if not Path("/run/systemd/system").is_dir():
        return {}
    answer = _run("systemctl", "list-units", "--all", "--plain", "--no-legend", "--full")
    rows = [line.split(None, 4) for line in answer.splitlines()]
    return {row[0]: f"{row[1]} {row[2]}" for row in rows if len(row) >= 4}


def _processes() -> dict[str, str]:
    names: dict[str, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        lines = _lines(str(folder / "comm"))
        if lines and "".join(_lines(str(folder / "cmdline"))):  # threads of the kernel have no command line
            names[lines[0]] = names.get(lines[0], 0) + 1
    return {name: str(count) for name, count in names.items()}


def _packages() -> dict[str, str]:
    answer = _run("dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status} ${Version}\n")
    rows = [line.split(" ", 1) for line in answer.splitlines()]
    return {row[0]: row[1] for row in rows}


def _packaged() -> dict[str, str]:
    """Files and folders in TREES that a package owns, by its name."""
    owned = {}
    for listing in Path("/var/lib/dpkg/info").glob("*.list"):
        for path in _lines(str(listing)):
            if path.startswith(TREES):
                owned[path] = listing.stem.split(":")[0]
    return owned


def _read_ahead() -> dict[str, str]:
    return {str(path): "".join(_lines(str(path))) for path in Path("/sys/block").glob("*/queue/read_ahead_kb")}


def _run(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def main(arguments: list[str]) -> int:
    """Take or compare."""
    if arguments == ["take"]:
        json.dump(take(), sys.stdout, indent=1, sort_keys=True)
        return 0
    if len(arguments) == 3 and arguments[0] == "compare":
        before, after = (json.loads(Path(path).read_text(encoding="utf-8")) for path in arguments[1:])
        differences = compare(before, after, read_exceptions())
        print("\n".join(differences) or "as before")
        return int(bool(differences))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

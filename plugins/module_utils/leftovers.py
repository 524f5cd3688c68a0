"""Alluxio on a node that no deployment of this bundle answers for: processes, mounts and units."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils import network, ownership, system
from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import Mount, mount_point_state

MAIN_CLASS = re.compile(r"^alluxio(?!\.cli\.)(\.[a-z]+)+\.[A-Z]\w*$")
UNIT_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
RECORDS = "/var/lib"
PODS = "/var/lib/kubelet/"
JAVA = "java"
#: Options of the java launcher that take the next word as their value.
JAVA_VALUES = frozenset(
    {
        *("-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules"),
        *("--limit-modules", "--add-exports", "--add-opens", "--add-reads", "--patch-module", "--enable-native-access"),
        "--source",
    }
)
Leftover = dict[str, str]


def read_leftovers(mounts: list[Mount], ours: list[str]) -> list[Leftover]:
    """[{kind, name, state}] of Alluxio's processes, mounts and units that no ownership record on the node names.

    kind process: `state` is where it runs; mount: its state; unit: installed. Mount points in `ours` are left out.
    """
    claimed = read_claims()
    others = [mount for mount in mounts if mount["point"] not in ours and not mount["point"].startswith(PODS)]
    return [*_processes(claimed), *_mounts(others, claimed), *_units(claimed)]


def read_claims(root: str = RECORDS) -> set[tuple[str, str]]:
    """(kind, id) of everything that deployments of this bundle, this one and others, made on the node."""
    claims: set[tuple[str, str]] = set()
    for path in Path(root).glob(f"*/{ownership.FILE}"):
        try:
            items = json.loads(path.read_text(encoding="utf-8"))["items"]
            claims |= {(item["kind"], item["id"]) for item in items}
        except (OSError, ValueError, KeyError, TypeError):
            continue  # no record: whoever acts on it says so
    return claims


def main_class(command: str) -> str | None:
    """The service of Alluxio that a command line of `java` starts; its command line tools come and go."""
    words = iter(command.split("\0")[1:])
    for word in words:
        if word in JAVA_VALUES:
            next(words, None)
        elif not word.startswith("-"):
            return word if MAIN_CLASS.match(word) else None
    return None


def executes_java(folder: Path) -> bool:
    """Whether a process, by its folder in /proc, executes `java`. The program of another user may be hidden."""
    program = _link(folder / "exe") or system.text(folder / "comm").strip()
    return program.removesuffix(" (deleted)").rpartition("/")[2] == JAVA


def _processes(claimed: set[tuple[str, str]]) -> list[Leftover]:
    """JVMs of Alluxio in the node's own network. Pods have one of their own, or belong to a cluster."""
    here, found = _link(Path("/proc/self/ns/net")), []
    for folder in sorted(Path("/proc").glob("[0-9]*")):
        started = executes_java(folder) and main_class(system.text(folder / "cmdline"))
        if not started or _link(folder / "ns/net") != here:
            continue
        groups = system.text(folder / "cgroup")
        container = network._container(folder)
        unit = re.search(r"/([^/]+\.service)$", groups, re.MULTILINE)
        ours = ("container", container) in claimed or bool(unit and ("unit", unit.group(1)) in claimed)
        if not ours and "kubepods" not in groups:
            where = f"container {container}" if container else unit.group(1) if unit else f"process {folder.name}"
            found.append({"kind": "process", "name": started, "state": where})
    return found


def _mounts(mounts: list[Mount], claimed: set[tuple[str, str]]) -> list[Leftover]:
    found = []
    for mount in mounts:
        alluxio = mount["type"].startswith("fuse") and "alluxio" in f"{mount['type']} {mount['source']}".lower()
        if alluxio and not any((kind, mount["point"]) in claimed for kind in ("directory", "mount")):
            state = mount_point_state(mounts, mount["point"])["state"] or ""
            found.append({"kind": "mount", "name": mount["point"], "state": state})
    return found


def _units(claimed: set[tuple[str, str]]) -> list[Leftover]:
    files = {path.name for folder in UNIT_FOLDERS for path in Path(folder).glob("*alluxio*.service")}
    foreign = sorted(name for name in files if ("unit", name) not in claimed)
    return [{"kind": "unit", "name": name, "state": "installed"} for name in foreign]


def _link(path: Path) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 - Path.readlink follows nothing either, and wants a path back
    except OSError:
        return None

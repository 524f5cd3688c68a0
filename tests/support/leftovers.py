"""What an interrupted test run left, removed before the next one begins.

A test process records what it makes before it makes it: a line of JSON, {kind, about}, in a file of its own. Processes
and containers need no record: each carries the label of the test process that started it, processes in their
environment. `remove` undoes what belongs to test processes that have ended, and leaves alone what a running one made.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bundle import CHECKOUT, LABEL, playbook, succeed

RECORDS = Path("/var/tmp/alluxio-fuse-tests")
#: Helpers of containers have the label of the process that called podman, and end with their containers.
KEPT_COMMANDS = ("conmon", "aardvark-dns")
#: A killed process that waits for a mount ends when the mount is gone.
KILL_WAIT_S, END_WAIT_S = 5, 120
#: Where nodes of the tests keep the images of their disks; a loop device outlives the node that attached it.
DISKS = "/srv/disks"


def label_processes() -> None:
    """Label this process as the owner of what it starts from now on; a child's own label says who its owner is."""
    os.environ[LABEL] = owner_of(os.getpid())


def owner_of(pid: int) -> str:
    """A process, by its number and the moment of its start: numbers are used again."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return f"{pid}-{fields[19]}"


@contextmanager
def recorded(kind: str, about: Any) -> Iterator[None]:
    """A thing of a kind of `UNDO`, which is undone when the context ends; what could not be undone stays recorded."""
    path = RECORDS / f"{owner_of(os.getpid())}.jsonl"
    RECORDS.mkdir(mode=0o700, exist_ok=True)
    line = json.dumps({"kind": kind, "about": about}) + "\n"
    with path.open("a") as record:
        record.write(line)
    try:
        yield
    finally:
        UNDO[kind](about)
        lines = path.read_text().splitlines(keepends=True)
        lines.reverse()
        lines.remove(line)
        path.write_text("".join(reversed(lines)))
        if not lines:
            path.unlink()


@contextmanager
def folder(path: Path) -> Iterator[Path]:
    """A new, empty folder until the context ends."""
    with recorded("folder", str(path)):
        remove_folder(str(path))
        path.mkdir(parents=True)
        yield path


@contextmanager
def mounted(point: Path, *how: str | Path) -> Iterator[None]:
    """A mount, as `mount HOW POINT` makes it, until the context ends."""
    with recorded("mount", str(point)):
        subprocess.run(["mount", *map(str, how), str(point)], check=True)
        yield


def mount_points() -> list[str]:
    """Where something is mounted, in the order of mounting."""
    listed = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split(" ")[4].encode().decode("unicode_escape") for line in listed]


def unmount(point: str) -> None:
    """Take away the topmost mount at a mount point; what is in use goes when it is closed."""
    if point in mount_points():
        subprocess.run(["umount", "--lazy", point], check=True)


def remove_folder(path: str) -> None:
    """Delete a folder, after what is mounted in it."""
    for point in reversed([one for one in mount_points() if one.startswith(f"{path}/")]):
        unmount(point)
    if Path(path).exists():
        shutil.rmtree(path)


@contextmanager
def deployment(variables: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Room for a deployment of these variables, which is torn down when the context ends."""
    with recorded("deployment", variables):
        remove_deployment(variables)
        yield variables


def remove_deployment(variables: dict[str, Any]) -> None:
    """Tear a deployment down by its ownership record, whatever reads through it: its readers are the tests'."""
    if Path(f"/var/lib/{variables['alluxio_name']}").exists():
        succeed(playbook("playbooks/teardown.yml", **variables, alluxio_under_readers=True))


def run(command: list[str]) -> None:
    """A command of the project that removes what another one made."""
    subprocess.run(command, cwd=CHECKOUT, check=True)


UNDO: dict[str, Callable[[Any], None]] = {
    "mount": unmount,
    "folder": remove_folder,
    "deployment": remove_deployment,
    "command": run,
}


def remove() -> list[str]:
    """Undo what test processes that have ended left, and say what it was."""
    RECORDS.mkdir(mode=0o700, exist_ok=True)
    with (RECORDS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        removed = [f"process {name}" for name in kill_processes(KILL_WAIT_S)]
        for path in sorted(RECORDS.glob("*.jsonl"), key=lambda one: one.stat().st_mtime, reverse=True):
            if alive(path.stem):
                continue
            for line in reversed(path.read_text().splitlines()):
                entry = json.loads(line)
                about = entry["about"]
                removed.append(f"{entry['kind']} {about['alluxio_name'] if isinstance(about, dict) else about}")
                UNDO[entry["kind"]](about)
            path.unlink()
        removed += [f"container {name}" for name in remove_containers()]
        kill_processes(END_WAIT_S)
        assert not left_processes(), f"leftovers: killed, and still there: {left_processes()}"
    return removed


def alive(owner: str) -> bool:
    """Whether the test process of a label runs."""
    try:
        return owner_of(int(owner.partition("-")[0])) == owner
    except (OSError, ValueError):
        return False


def kill_processes(limit: float) -> list[str]:
    """Kill what ended test processes started, and wait until it has ended, or for as many seconds."""
    killed: dict[str, None] = {}
    deadline = time.monotonic() + limit
    while (found := left_processes()) and time.monotonic() < deadline:
        for pid, name in found.items():
            killed[f"{name} ({pid})"] = None
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
    return list(killed)


def left_processes() -> dict[int, str]:
    """Running processes with the label of an ended test process: their names by number."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            environment = (path / "environ").read_bytes()
            name = (path / "comm").read_text().strip()
        except OSError:
            continue
        labels = [one for one in environment.split(b"\0") if one.startswith(f"{LABEL}=".encode())]
        if labels and name not in KEPT_COMMANDS and not alive(labels[0].decode().partition("=")[2]):
            found[int(path.name)] = name
    return found


def remove_containers() -> list[str]:
    """Remove the containers that ended test processes started, and detach the disks of nodes among them."""
    if not shutil.which("podman"):
        return []
    listing = ["podman", "ps", "--all", "--filter", f"label={LABEL}", "--format", "json"]
    listed = json.loads(subprocess.run(listing, capture_output=True, text=True, check=True).stdout or "[]")
    names = [one["Names"][0] for one in listed if not alive(one["Labels"][LABEL])]
    for name in names:
        attached = f"for disk in {DISKS}/*; do losetup --noheadings --output NAME --associated $disk; done"
        detach = f"{attached} | xargs --no-run-if-empty losetup --detach"
        subprocess.run(["podman", "exec", name, "sh", "-c", detach], capture_output=True, check=False)
        subprocess.run(["podman", "rm", "--force", "--time", "0", "--volumes", name], capture_output=True, check=True)
    return names


if __name__ == "__main__":
    print("\n".join(remove()) or "nothing was left")

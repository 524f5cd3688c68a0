"""The kernel's side of a FUSE mount: how many requests wait, and the switch that ends it. Never touches the mount."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.system import TOOLS

CONTROL = Path("/sys/fs/fuse/connections")


@contextmanager
def control() -> Iterator[Path]:
    """The folder of all FUSE connections; mounted elsewhere for as long as it is needed where it is not mounted."""
    if not CONTROL.is_dir() or any(CONTROL.iterdir()):  # without FUSE in the kernel there is none to be seen
        yield CONTROL
        return
    with tempfile.TemporaryDirectory() as folder:
        _run("mount", "-t", "fusectl", "none", folder)
        try:
            yield Path(folder)
        finally:
            _run("umount", folder)


def waiting(device: str, connections: Path) -> int | None:
    """Requests that the FUSE process has not answered yet; None where the kernel has no such connection any more."""
    try:
        return int((connections / _number(device) / "waiting").read_text())
    except FileNotFoundError:
        return None


def abort(device: str, connections: Path) -> None:
    """Ends the connection: whoever waits for it gets ENOTCONN, as does whoever reads from the mount afterwards."""
    (connections / _number(device) / "abort").write_text("1")


def _number(device: str) -> str:
    """The connection's name of a mount's device "MAJ:MIN": the number of the device in the kernel."""
    major, minor = map(int, device.split(":"))
    return str((major << 20) | minor)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, env=TOOLS)

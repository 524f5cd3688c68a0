"""The kernel's side of a FUSE mount: requests that wait, settings, the switch that ends it. Never touches the mount."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table
from ansible_collections.alluxio.fuse.plugins.module_utils.system import TOOLS

CONTROL = Path("/sys/fs/fuse/connections")
DISKS = Path("/sys/class/bdi")
SOURCE = "alluxio-fuse"  # what AlluxioFuse calls its filesystem
MOUNT_SETTINGS = ("read_ahead_kb", "max_background", "congestion_threshold")
MountSettings = dict[str, int]


@contextmanager
def control(*, only_look: bool = False) -> Iterator[Path]:
    """The folder of all FUSE connections; mounted elsewhere for as long as it is needed where it is not mounted.

    only_look: in a pod that may not mount, connections are not seen, and nothing fails.
    """
    if not CONTROL.is_dir() or any(CONTROL.iterdir()):  # without FUSE in the kernel there is none to be seen
        yield CONTROL
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            _run("mount", "-t", "fusectl", "none", folder)
        except subprocess.CalledProcessError:
            if not only_look:
                raise
            yield CONTROL
            return
        try:
            yield Path(folder)
        finally:
            _run("umount", folder)


def device_of(point: str) -> str:
    """The device "MAJ:MIN" of Alluxio's mount at a place; a ValueError where there is none, or a mount of others."""
    mount = mount_table.mount_at(mount_table.read_mounts(), point)
    if mount is None:
        raise ValueError(f"nothing is mounted at {point}: playbooks/status.yml tells what serves")
    if not mount["type"].startswith("fuse") or mount["source"] != SOURCE:
        raise ValueError(f"{point}: a {mount['type']} of {mount['source']} is mounted there, and it is left alone")
    return str(mount["device"])


def waiting(device: str, connections: Path) -> int | None:
    """Requests that the FUSE process has not answered yet; None where the kernel has no such connection any more."""
    try:
        return int((connections / _number(device) / "waiting").read_text())
    except FileNotFoundError:
        return None


def abort(device: str, connections: Path) -> None:
    """Ends the connection: whoever waits for it gets ENOTCONN, as does whoever reads from the mount afterwards."""
    (connections / _number(device) / "abort").write_text("1")


def read_settings(device: str, connections: Path, disks: Path = DISKS) -> MountSettings:
    """{read_ahead_kb, max_background, congestion_threshold} as the kernel has them now."""
    files = _files(device, connections, disks)
    if not files["max_background"].exists():
        raise ValueError("the FUSE process of the mount is gone: playbooks/status.yml tells what serves")
    return {key: int(path.read_text()) for key, path in files.items()}


def write_settings(device: str, wanted: MountSettings, connections: Path, disks: Path = DISKS) -> None:
    """Files that are open already keep their read-ahead."""
    files = _files(device, connections, disks)
    for key, amount in wanted.items():
        files[key].write_text(str(amount))


@contextmanager
def for_now(device: str, wanted: MountSettings, connections: Path, disks: Path = DISKS) -> Iterator[None]:
    """Other settings for as long as it takes, those of before afterwards, also when the process is told to end."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    ended = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    before = read_settings(device, connections, disks)
    try:
        write_settings(device, wanted, connections, disks)
        yield
    finally:
        write_settings(device, before, connections, disks)
        for number, handler in ended.items():
            signal.signal(number, handler)


def _files(device: str, connections: Path, disks: Path) -> dict[str, Path]:
    connection = connections / _number(device)
    return {
        "read_ahead_kb": disks / device / "read_ahead_kb",
        "max_background": connection / "max_background",
        "congestion_threshold": connection / "congestion_threshold",
    }


def _number(device: str) -> str:
    """The connection's name of a mount's device "MAJ:MIN": the number of the device in the kernel."""
    major, minor = map(int, device.split(":"))
    return str((major << 20) | minor)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, env=TOOLS)

"""Network interfaces and listening sockets of a node, without a tool to run."""

from __future__ import annotations

import array
import fcntl
import ipaddress
import re
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import system

SIOCGIFCONF = 0x8912
IFREQ = 40
LISTEN = "0A"


def read_interfaces() -> list[dict[str, Any]]:
    """[{name, addresses [..], speed_mbps}] of interfaces with an address; speed None if the driver says none."""
    addresses: dict[str, list[str]] = {}
    for name, address in _ipv4() + parse_if_inet6(system.text("/proc/net/if_inet6")):
        addresses.setdefault(name, []).append(address)
    interfaces = []
    for name in sorted(addresses):
        speed = system.text(f"/sys/class/net/{name}/speed").strip()
        interfaces.append(
            {"name": name, "addresses": addresses[name], "speed_mbps": int(speed) if speed.isdigit() else None}
        )
    return interfaces


def parse_if_inet6(text: str) -> list[Any]:
    """(interface, address) pairs of /proc/net/if_inet6."""
    rows = [line.split() for line in text.splitlines()]
    return [(row[5], str(ipaddress.IPv6Address(bytes.fromhex(row[0])))) for row in rows]


def parse_listeners(text: str) -> list[dict[str, Any]]:
    """[{address, port, inode}] of the sockets in state LISTEN of a /proc/net/tcp or tcp6 text."""
    listeners = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if fields[3] == LISTEN:
            raw, port = fields[1].split(":")
            words = [struct.pack("=I", int(raw[at : at + 8], 16)) for at in range(0, len(raw), 8)]
            address = str(ipaddress.ip_address(b"".join(words)))
            listeners.append({"address": address, "port": int(port, 16), "inode": int(fields[9])})
    return listeners


def read_listeners(ports: set[int]) -> list[dict[str, Any]]:
    """[{address, port, process}]: all listening TCP sockets; the process is named for `ports` only (others: None).

    A process in a podman container goes by the container's name, any other by its command.
    """
    sockets = parse_listeners(system.text("/proc/net/tcp")) + parse_listeners(system.text("/proc/net/tcp6"))
    wanted = {entry["inode"] for entry in sockets if entry["port"] in ports}
    owners = _owners(wanted) if wanted else {}
    found = [{"address": s["address"], "port": s["port"], "process": owners.get(s["inode"])} for s in sockets]
    return sorted(found, key=lambda entry: (entry["port"], entry["address"]))


def _owners(inodes: set[int]) -> dict[int, str]:
    owners: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        for inode in _sockets(folder) & inodes:
            owners[inode] = _container(folder) or system.text(folder / "comm").strip()
    return owners


def _sockets(folder: Path) -> set[int]:
    """Inodes of the sockets that a process has open; none if it is another user's, or gone."""
    found = set()
    try:
        for handle in (folder / "fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                link = str(handle.readlink())
                if link.startswith("socket:["):
                    found.add(int(link[8:-1]))
    except OSError:
        pass
    return found


def _container(folder: Path) -> str | None:
    """The name that conmon, podman's watcher, was given for the container this process runs in."""
    while True:
        arguments = system.text(folder / "cmdline").split("\0")
        if arguments[0].endswith("conmon") and "-n" in arguments:
            return arguments[arguments.index("-n") + 1]
        parent = re.search(r"^PPid:\s*(\d+)", system.text(folder / "status"), re.MULTILINE)
        if parent is None or int(parent.group(1)) <= 1:
            return None
        folder = folder.parent / parent.group(1)


def _ipv4() -> list[Any]:
    buffer = array.array("B", bytes(IFREQ * 256))
    address, length = buffer.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        answer = fcntl.ioctl(sock.fileno(), SIOCGIFCONF, struct.pack("iL", length, address))
    used = struct.unpack("iL", answer)[0]
    raw = buffer.tobytes()[:used]
    pairs = []
    for at in range(0, used, IFREQ):
        label = raw[at : at + 16].split(b"\0", 1)[0].decode()
        pairs.append((label.split(":")[0], socket.inet_ntoa(raw[at + 20 : at + 24])))
    return pairs

"""Ports of the services."""

from collections.abc import Collection
from typing import Final
from zlib import crc32

from alluxio_fuse.plan.values import rule

PORTS: Final = {
    "master": {"rpc": 19998, "web": 19999, "raft": 19200},
    "job_master": {"rpc": 20001, "web": 20002, "raft": 20003},
    "worker": {"rpc": 29999, "web": 30000},
    "job_worker": {"rpc": 30001, "data": 30002, "web": 30003},
}
# Not Alluxio's 49999: Linux hands out 32768 to 60999 to outgoing connections (ip_local_port_range), and a FUSE that
# starts again while one of them has its port ends.
FUSE_WEB: Final = 28300
FUSE_PORTS: Final = 100  # as many datasets as a host can mount


@rule("Alluxio's own ports, plus alluxio_port_offset")
def ports(service: str, offset: int, quorum: bool) -> tuple[dict[str, int], str]:
    """Ports that a service listens on."""
    own = {name: port + offset for name, port in PORTS[service].items() if name != "raft" or quorum}
    return own, f"offset {offset}" if offset else "Alluxio's own"


@rule("one metrics port for each mount, by the dataset's name: it stays when other datasets come and go")
def fuse_ports(name: str, names: Collection[str], offset: int, upstream: bool) -> tuple[dict[str, int], str]:
    """Metrics port of one FUSE process among those of the datasets `names`; none with Alluxio's own defaults."""
    if upstream:
        return {}, "Alluxio's own default: no endpoint"
    return {"web": web_ports(names, offset)[name]}, f"from {FUSE_WEB + offset} on, by the name"


def web_ports(names: Collection[str], offset: int) -> dict[str, int]:
    """Metrics ports by dataset. Where two names fall together, the later in the alphabet takes the next free port."""
    taken: dict[int, str] = {}
    for name in sorted(names)[:FUSE_PORTS]:
        place = crc32(name.encode()) % FUSE_PORTS
        while place in taken:
            place = (place + 1) % FUSE_PORTS
        taken[place] = name
    return {name: FUSE_WEB + offset + place for place, name in taken.items()}

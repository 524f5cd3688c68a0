"""Ports of the services."""

from typing import Final

from alluxio_fuse.plan.values import rule

PORTS: Final = {
    "master": {"rpc": 19998, "web": 19999, "raft": 19200},
    "job_master": {"rpc": 20001, "web": 20002, "raft": 20003},
    "worker": {"rpc": 29999, "web": 30000},
    "job_worker": {"rpc": 30001, "data": 30002, "web": 30003},
}
FUSE_WEB: Final = 49999


@rule("Alluxio's own ports, plus alluxio_port_offset")
def ports(service: str, offset: int, quorum: bool) -> tuple[dict[str, int], str]:
    """Ports that a service listens on."""
    own = {name: port + offset for name, port in PORTS[service].items() if name != "raft" or quorum}
    return own, f"offset {offset}" if offset else "Alluxio's own"


@rule("one metrics port for each mount")
def fuse_ports(index: int, offset: int, upstream: bool) -> tuple[dict[str, int], str]:
    """Metrics port of one FUSE process; none with Alluxio's own defaults."""
    if upstream:
        return {}, "Alluxio's own default: no endpoint"
    return {"web": FUSE_WEB + offset + index}, f"dataset {index} of this fleet"

"""Staged datasets on platform host: one whole and one in part, what is where on the node, and what readers see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bundle import CHECKOUT
from on_host import NODE, inside, podman
from readers import READING
from staged import DEPLOYED as STAGES
from staged import PART, WHOLE, Groups, groups

STAGE = {WHOLE: "require", PART: "auto"}
#: The node's memory holds one of the sets, and of the other the small files and some of the large ones.
TIERS = [{"medium": "memory", "budget": "140Mi"}]
DEPLOYED = [f"playbooks/{stage}.yml" for stage in STAGES]
UNIT, READERS = "alluxio-fuse", "/srv/readers"
PARTS = ("fuse-whole", "fuse-part", "stage")


def path(dataset: str) -> str:
    return f"/mnt/alluxio-fuse/{dataset}/data"


def mount_type(point: str) -> str:
    """What is mounted at a path last."""
    return inside(f"findmnt --noheadings --output FSTYPE {point} | tail --lines 1")


def staged(dataset: str) -> set[str]:
    """Files of which the node has a copy."""
    found = inside(f"cd /var/lib/alluxio-fuse/stage/{dataset} && find . -path '*/files/*' -type f").splitlines()
    return {name.partition("/files/")[2] for name in found}


def main_pid(unit: str) -> str:
    return inside(f"systemctl show --property MainPID --value {unit}")


def started() -> dict[str, str]:
    """When each unit that serves the datasets was started."""
    show = "systemctl show --property ExecMainStartTimestampMonotonic --value"
    return {part: inside(f"{show} {UNIT}-{part}") for part in PARTS}


@contextmanager
def read(folder: Path, expected: Mapping[str, str], table: str) -> Iterator[Groups]:
    """Processes on the node read until the context ends. Their tables are printed then, and kept in runs/.

    expected: digests by file; table: its name.
    """

    def brought(file: Path) -> str:
        there = f"{READERS}/{file.parent.name}-{file.name}"
        podman("cp", str(file), f"{NODE}:{there}")
        return there

    def command(dataset: str, digests: Path) -> list[str]:
        return ["podman", "exec", NODE, "python3", brought(READING), path(dataset), brought(digests)]

    inside(f"mkdir {READERS}")
    try:
        with groups(folder, expected, staged(PART), command, started) as found:
            yield found
    finally:
        inside(f"pkill --full reading[.]py; rm -r {READERS}")
    (CHECKOUT / f"runs/{table}.md").write_text(f"{found.tables()}\n")
    print(f"\n{found.tables()}")

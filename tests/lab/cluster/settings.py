"""Where the lab is and what its parts are called."""

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
LAB = ROOT / ".lab"
KUBECONFIG = LAB / "kubeconfig"

NAME = "alluxio-fuse-lab"
NETWORK = "10.231.0"
POD_NET = "10.244"
SERVICE_NET = "10.96.0.0/16"
DNS = "10.96.0.10"
#: Where every node sees the same filesystem: the folder of the sample, read-only.
SHARED = "/srv/shared"
STORE = "lab-store"
STORE_ADDRESS = f"{NETWORK}.9"

#: Files and processes that a container may have: podman asks for more than this machine can give.
LIMITS = ("--ulimit", "nofile=16384:16384", "--ulimit", "nproc=10000:10000")
#: Kernel settings that a kubelet writes; they are the host's.
KERNEL = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops")


One, Other = TypeVar("One"), TypeVar("Other")


@dataclass(frozen=True)
class Node:
    """A node, by its number: 0 is the control node."""

    index: int

    @property
    def name(self) -> str:
        """Host name, container name and name in the cluster."""
        return f"lab-gpu{self.index}" if self.index else "lab-control"

    @property
    def address(self) -> str:
        """Its fixed address."""
        return f"{NETWORK}.{10 + self.index}"

    @property
    def folder(self) -> Path:
        """What the node sees as /etc/kubernetes."""
        return LAB / "nodes" / self.name


CONTROL = Node(0)
API_SERVER = f"{CONTROL.address}:6443"


def run(*command: str | Path, text: str | None = None) -> str:
    """The output of a command; one that fails raises with what it said."""
    done = subprocess.run([str(one) for one in command], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"lab: {' '.join(str(one) for one in command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def as_root(command: Sequence[str | Path]) -> list[str | Path]:
    """The command, by sudo for those who are not root."""
    return [*([] if os.geteuid() == 0 else ["sudo"]), *command]


def podman(*arguments: str | Path) -> str:
    """The output of a podman command of root's."""
    return run(*as_root(["podman", *arguments]))


def nodes() -> list[Node]:
    """Nodes that exist, running or not."""
    names = podman("ps", "--all", "--filter", f"label={NAME}={ROOT}", "--format", "{{.Names}}").split()
    return [Node(index) for index in range(10) if Node(index).name in names]


def pool_map(work: Callable[[One], Other], items: Iterable[One]) -> list[Other]:
    """The work's results, done for all items at once."""
    with ThreadPoolExecutor(max_workers=16) as pool:
        return list(pool.map(work, items))

"""A guest of tests/lab/guest/up: a node with a kernel of its own, reached by ssh."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bundle import ANSIBLE_PLAYBOOK, CHECKOUT, Run

SERVER = "host.guest"  # this machine, seen from the guest
QUIET = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR")


@dataclass(frozen=True)
class Guest:
    """A running guest; folder: of its disk, and of what playbooks are told."""

    folder: Path
    port: int
    key: Path

    @property
    def reach(self) -> list[str]:
        """What a command begins with that runs in it, as root."""
        return ["ssh", *QUIET, "-i", str(self.key), "-p", str(self.port), "root@127.0.0.1"]

    def ran(self, command: str, limit: float = 600, **given: Any) -> subprocess.CompletedProcess[str]:
        """A command in it, as root."""
        return subprocess.run(
            [*self.reach, command], capture_output=True, text=True, check=False, timeout=limit, **given
        )

    def said(self, command: str, limit: float = 600, **given: Any) -> str:
        """What a command that must succeed says."""
        done = self.ran(command, limit, **given)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def digests(self, folder: str) -> dict[str, str]:
        """SHA-256 of every file below a folder."""
        lines = self.said(f"cd {folder} && find . -type f -print0 | xargs -0 sha256sum").splitlines()
        return {line[66:].removeprefix("./"): line[:64] for line in lines}

    def waiting(self) -> list[str]:
        """Processes that the kernel does not let go of."""
        return [
            line for line in self.said("ps -eo stat=,args=").splitlines() if line.startswith("D") and "[" not in line
        ]

    def snapshot(self, path: Path) -> Path:
        """What it has, as `tests/support/snapshot.py` takes it."""
        tool = Path(__file__).with_name("snapshot.py").read_text()
        path.write_text(self.said("python3 - take", input=tool))
        return path

    def play(self, playbook: str, *arguments: str, limit: float = 1800, **said: Any) -> Run:
        """A playbook on it, with extra variables."""
        extra = self.folder / "extra.json"
        reached = {"ansible_port": self.port, "ansible_ssh_private_key_file": str(self.key)}
        extra.write_text(json.dumps(reached | said))
        command = [str(ANSIBLE_PLAYBOOK), "-i", "tests/nodes/guest", "-e", f"@{extra}", playbook, *arguments]
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        quiet = {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"}
        done = subprocess.run(
            command, cwd=CHECKOUT, env={**os.environ, **quiet}, text=True, check=False, timeout=limit, **pipes
        )
        return Run(done.returncode, done.stdout)


def differences(before: Path, after: Path) -> str:
    """How two snapshots differ."""
    tool = [sys.executable, str(Path(__file__).with_name("snapshot.py")), "compare", str(before), str(after)]
    compared = subprocess.run(tool, capture_output=True, text=True, check=False)
    return "" if compared.returncode == 0 else compared.stdout + compared.stderr


@contextmanager
def guest(folder: Path) -> Iterator[Guest]:
    """A guest with an untouched disk."""
    made = subprocess.run(["tests/lab/guest/build"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        subprocess.run(["tests/lab/guest/up", str(folder), str(port)], cwd=CHECKOUT, check=True)
        yield Guest(folder, port, Path(made.stdout.strip()) / "key")
    finally:
        if (folder / "pid").exists():
            subprocess.run(["kill", "-9", (folder / "pid").read_text().strip()], check=False)
        (folder / "disk.qcow2").unlink(missing_ok=True)

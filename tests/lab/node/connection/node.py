"""Reaches a node of tests/lab/node/up: one process per task, where the connection of containers.podman starts seven."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: node
short_description: a node of tests/lab/node/up
description:
  - Runs commands in the node's container through runc, by the id that C(up) wrote down.
extends_documentation_fragment: [connection_pipelining]
options:
  remote_addr:
    description: Name of the node's container.
    default: inventory_hostname
    vars:
      - name: inventory_hostname
      - name: ansible_host
"""

IDS = Path("/run/alluxio-fuse-nodes")
ROOT = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]


class Connection(ConnectionBase):
    """The node's own namespaces and cgroup, as `podman exec` gives them."""

    transport = "node"
    has_pipelining = True

    def _connect(self) -> Connection:
        self._connected = True
        return self

    def close(self) -> None:
        """Nothing is kept open."""
        self._connected = False

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        """Run a command in the node."""
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        done = self._run(cmd, input=in_data or b"")
        return done.returncode, done.stdout, done.stderr

    def put_file(self, in_path: str, out_path: str) -> None:
        """Copy a file into the node."""
        super().put_file(in_path, out_path)
        self._must(f"cat > {shlex.quote(out_path)}", input=Path(in_path).read_bytes())

    def fetch_file(self, in_path: str, out_path: str) -> None:
        """Copy a file from the node."""
        super().fetch_file(in_path, out_path)
        Path(out_path).write_bytes(self._must(f"cat {shlex.quote(in_path)}", input=b""))

    def _must(self, command: str, **given: Any) -> bytes:
        done = self._run(command, **given)
        if done.returncode != 0:
            raise AnsibleConnectionFailure(f"{command}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def _run(self, command: str, **given: Any) -> subprocess.CompletedProcess[bytes]:
        runc = ["runc", "exec", "--cwd", "/", self._id(), "/bin/sh", "-c", command]
        return subprocess.run([*ROOT, *runc], capture_output=True, check=False, **given)

    def _id(self) -> str:
        name = self.get_option("remote_addr")
        try:
            return (IDS / name).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            asked = [*ROOT, "podman", "inspect", "--type", "container", "--format", "{{.Id}}", name]
            found = subprocess.run(asked, capture_output=True, check=False, text=True)
            if found.returncode != 0:
                raise AnsibleConnectionFailure(f"there is no node {name}: {found.stderr}") from None
            return found.stdout.strip()

"""A real NFS server for tests: nfs-ganesha of Debian, NFS 4 on loopback, which a guest reaches as host.guest.

Version 3 is not served: its portmapper would have to run on this machine.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bundle import until

PORT = 2049
PACKAGES = ("nfs-ganesha", "nfs-ganesha-vfs")
CONFIGURATION = """\
NFS_CORE_PARAM {{ Protocols = 4; Bind_addr = 127.0.0.1; Enable_NLM = false; Enable_RQUOTA = false; }}
NFSv4 {{ Grace_Period = 5; RecoveryRoot = {state}; }}
{exports}
"""
EXPORT = """\
EXPORT {{ Export_Id = {number}; Path = {folder}; Pseudo = /{name}; Protocols = 4; Access_Type = RO; Squash = {squash};
          Transports = TCP; SecType = sys; FSAL {{ Name = VFS; }} }}
"""


@dataclass
class NfsServer:
    """A server of the folders in `root`, each an export of its name; `squashed`: those in which root is nobody."""

    root: Path
    squashed: frozenset[str]
    process: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> None:
        """It answers when this returns, and gives out locks and states once its grace has passed."""
        exports = [
            EXPORT.format(number=number, folder=one, name=one.name, squash=self._squash(one.name))
            for number, one in enumerate(sorted((self.root / "exports").iterdir()), 1)
        ]
        (self.root / "state").mkdir(exist_ok=True)
        text = CONFIGURATION.format(state=self.root / "state", exports="".join(exports))
        (self.root / "ganesha.conf").write_text(text)
        files = {"-f": "ganesha.conf", "-L": "log", "-p": "pid"}
        said = [part for flag, name in files.items() for part in (flag, str(self.root / name))]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(["ganesha.nfsd", "-F", *said], **quiet)
        until("the NFS server", _answers, 60)

    def stop(self) -> None:
        """It is away, as a server is that lost its power."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def _squash(self, name: str) -> str:
        return "Root_Squash" if name in self.squashed else "No_Root_Squash"


@contextmanager
def nfs_server(root: Path, squashed: frozenset[str]) -> Iterator[NfsServer]:
    """A server of the folders below `root`/exports."""
    if not shutil.which("ganesha.nfsd"):
        subprocess.run(["apt-get", "-qq", "update"], check=True)
        subprocess.run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", *PACKAGES], check=True)
    server = NfsServer(root, squashed)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _answers() -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0

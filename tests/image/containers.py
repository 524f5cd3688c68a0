"""Throwaway containers of the image, on the loopback interface of this machine."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import leftovers
from bundle import engine_options

IMAGE = "localhost/alluxio-fuse:2.9.6"
FUSE_DEVICE = ("--device", "/dev/fuse", "--cap-add", "SYS_ADMIN")
_LISTENING = ["master.rpc", "master.web", "job.master.rpc", "job.master.web", "worker.rpc", "worker.web"]
_LISTENING += ["job.worker.rpc", "job.worker.data", "job.worker.web"]


def run(*command: str | Path, check: bool = True) -> str:
    """Runs a command; its standard output and error."""
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert not check or done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


def on_loopback() -> dict[str, str]:
    """Properties by which services listen on the loopback interface, on ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in _LISTENING]
    ports = {f"alluxio.{name}.port": str(one.getsockname()[1]) for name, one in zip(_LISTENING, sockets, strict=True)}
    for one in sockets:
        one.close()
    # a bind host has the name of the service for its RPC, and the data port has none
    bound = {name.removesuffix(".rpc") for name in _LISTENING if not name.endswith(".data")}
    return {**ports, **{f"alluxio.{name}.bind.host": "127.0.0.1" for name in bound}}


def throwaway(quota: str) -> dict[str, str]:
    """Properties of one Alluxio of throwaway containers, whose worker keeps so much in a folder."""
    return {
        "alluxio.master.hostname": "127.0.0.1",
        "alluxio.worker.hostname": "127.0.0.1",
        "alluxio.master.journal.type": "UFS",
        "alluxio.master.journal.folder": "/journal",
        "alluxio.master.metastore.dir": "/tmp/metastore",
        "alluxio.master.mount.table.root.ufs": "/namespace",
        "alluxio.worker.tieredstore.level0.alias": "SSD",
        "alluxio.worker.tieredstore.level0.dirs.path": "/tier",
        "alluxio.worker.tieredstore.level0.dirs.quota": quota,
        "alluxio.worker.ramdisk.size": quota,
        **on_loopback(),
    }


@contextmanager
def folder_with_mounts(folder: Path) -> Iterator[Path]:
    """A folder whose `mnt` shows on this machine what containers mount below it."""
    shared = folder / "mnt"
    shared.mkdir()
    with leftovers.mounted(shared, "--bind", shared):
        run("mount", "--make-rshared", shared)
        yield folder


class Containers:
    """Containers named `<prefix>-*`, and a folder of theirs."""

    def __init__(self, prefix: str, folder: Path) -> None:
        self.prefix, self.folder = prefix, folder

    def command(self, name: str, *options: str) -> list[str]:
        """Command line that runs a container on the network of this machine, up to the image."""
        return ["podman", "run", "--name", f"{self.prefix}-{name}", "--network", "host", *engine_options(), *options]

    def volume(self, name: str, where: str = "", mode: str = "rw") -> tuple[str, str]:
        """Options that show a folder of ours in a container, below its own name if nothing else is said."""
        return ("--volume", f"{self.folder}/{name}:{where or f'/{name}'}:{mode}")

    def running(self, name: str) -> bool:
        return run("podman", "inspect", "--format", "{{.State.Running}}", f"{self.prefix}-{name}").strip() == "true"

    def log(self, name: str) -> str:
        return run("podman", "logs", f"{self.prefix}-{name}")

    def remove(self, *names: str) -> None:
        for name in names:
            run("podman", "rm", "--force", "--ignore", "--time", "15", f"{self.prefix}-{name}")


class MasterAndWorker(Containers):
    """A master and a worker as the image's own user, which trust a CA; each is told properties of its own."""

    MEMORY = "-Xmx300m -XX:MaxDirectMemorySize=300m"
    VERBS: ClassVar = {"master": ["master-only"], "worker": ["worker-only", "--no-format"]}

    def __init__(self, prefix: str, folder: Path, ca_file: Path, properties: dict[str, dict[str, str]]) -> None:
        super().__init__(prefix, folder)
        self._ca_file = ca_file
        for name in ("journal", "namespace", "tier"):
            (folder / name).mkdir()
            os.chown(folder / name, 1000, 1000)
        for name, said in properties.items():
            (folder / f"{name}.properties").write_text("".join(f"{key}={value}\n" for key, value in said.items()))

    def start(self, name: str, *options: str, java: str = "") -> None:
        """Starts one of them. java: options of its JVM."""
        conf = "/opt/alluxio/conf"
        volumes = [*self.volume(f"{name}.properties", f"{conf}/alluxio-site.properties", "ro")]
        volumes += ["--volume", f"{self._ca_file}:{conf}/ca.pem:ro"]
        volumes += [part for one in ("journal", "namespace", "tier") for part in self.volume(one)]
        volumes += ["--env", f"ALLUXIO_{name.upper()}_JAVA_OPTS={self.MEMORY} {java}"]
        command = self.command(name, "--detach", "--user", "1000:1000", *volumes, *options)
        run(*command, IMAGE, *self.VERBS[name])

    def alluxio(self, *command: str) -> str:
        """What a command in the master's container says."""
        return run("podman", "exec", f"{self.prefix}-master", "alluxio", *command, check=False)

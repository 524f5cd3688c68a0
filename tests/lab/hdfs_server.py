"""A real HDFS for tests: one namenode and one datanode of Apache Hadoop."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests
from bundle import until

POM = Path(__file__).parent / "hadoop/pom.xml"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "alluxio-fuse"
JAVA = ["java", "-Xmx256m", "--add-opens", "java.base/java.lang=ALL-UNNAMED"]  # which its WebHDFS looks into
LOGGING = """\
log4j.rootLogger=WARN,A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.layout=org.apache.log4j.SimpleLayout
"""
PORTS = ("rpc", "web", "data", "data_web", "data_ipc")


@dataclass
class Hdfs:
    """A running HDFS; `put` writes as its superuser."""

    address: str
    folder: Path
    ports: dict[str, int]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def namenode(self) -> str:
        """What a source begins with."""
        return f"hdfs://{self.address}:{self.ports['rpc']}"

    @property
    def web(self) -> str:
        """What a dataset says as `hdfs: {web: …}`."""
        return f"http://{self.address}:{self.ports['web']}"

    def put(self, path: str, content: bytes) -> None:
        """Write a file, in place of another one."""
        self._ask("put", path, "CREATE", data=content, overwrite="true").raise_for_status()

    def make(self, path: str) -> None:
        """Make a folder."""
        self._ask("put", path, "MKDIRS").raise_for_status()

    def allow(self, path: str, mode: str) -> None:
        """Set the permissions of a file or folder, in octal digits."""
        self._ask("put", path, "SETPERMISSION", permission=mode).raise_for_status()

    def start(self) -> None:
        """Both services; they are ready when something can be written."""
        for name, main in (
            ("namenode", "namenode.NameNode"),
            ("datanode", "datanode.DataNode"),
        ):
            command = [*JAVA, "-cp", _class_path(self.folder), f"org.apache.hadoop.hdfs.server.{main}"]
            with (self.folder / f"{name}.log").open("ab") as log:
                self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log)
        until("HDFS", self._is_ready, 60)

    def stop(self) -> None:
        """Both services; files stay."""
        while self.processes:
            _, process = self.processes.popitem()
            process.kill()
            process.wait()

    def _is_ready(self) -> bool:
        try:
            return self._ask("put", "/ready", "CREATE", data=b"ready", overwrite="true").ok
        except requests.ConnectionError:
            return False

    def _ask(self, method: str, path: str, operation: str, data: bytes | None = None, **further: str) -> Any:
        asked = {"op": operation, "user.name": Path.home().owner(), **further}
        return requests.request(method, f"{self.web}/webhdfs/v1{quote(path)}", params=asked, data=data, timeout=30)


@contextmanager
def hdfs(folder: Path, address: str = "127.0.0.1") -> Iterator[Hdfs]:
    """One with its data in a folder, listening on an address, by which its services call each other, too."""
    running = Hdfs(address, folder, dict(zip(PORTS, _free(address, len(PORTS)), strict=True)))
    _configure(running)
    command = [*JAVA, "-cp", _class_path(folder), "org.apache.hadoop.hdfs.server.namenode.NameNode", "-format"]
    subprocess.run([*command, "-nonInteractive"], check=True, capture_output=True)
    try:
        running.start()
        yield running
    finally:
        running.stop()


def _configure(of: Hdfs) -> None:
    settings = {
        "fs.defaultFS": of.namenode,
        "dfs.namenode.name.dir": f"{of.folder}/names",
        "dfs.datanode.data.dir": f"{of.folder}/data",
        "dfs.namenode.http-address": f"{of.address}:{of.ports['web']}",
        "dfs.datanode.address": f"{of.address}:{of.ports['data']}",
        "dfs.datanode.http.address": f"{of.address}:{of.ports['data_web']}",
        "dfs.datanode.ipc.address": f"{of.address}:{of.ports['data_ipc']}",
        "dfs.datanode.hostname": of.address,
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.replication": "1",
        "dfs.namenode.safemode.extension": "0",
        "dfs.ls.limit": "100",  # so that some folders take more than one answer
    }
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items()
    )
    for name in ("core-site.xml", "hdfs-site.xml"):
        (of.folder / name).write_text(f"<configuration>{rows}</configuration>")
    (of.folder / "log4j.properties").write_text(LOGGING)


def _class_path(folder: Path) -> str:
    return f"{folder}:{_jars()}/*"


def _jars() -> Path:
    """Hadoop's jars, resolved once for all runs."""
    folder = CACHE / f"hadoop-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"
    if not folder.exists():
        if not shutil.which("mvn"):
            subprocess.run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", "maven"], check=True)
        part = folder.with_suffix(".part")
        subprocess.run(
            ["mvn", "-B", "-q", "-f", POM, "dependency:copy-dependencies", f"-DoutputDirectory={part}"], check=True
        )
        part.rename(folder)
    return folder


def _free(address: str, number: int) -> list[int]:
    """Ports that nothing listens on."""
    taken = [socket.create_server((address, 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports

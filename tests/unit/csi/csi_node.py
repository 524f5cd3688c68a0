"""A node in a mount namespace of its own, the plugin in a container there, and the calls of its kubelet."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import grpc
import pytest

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "images" / "alluxio" / "csi"
DRIVER, OWNER = "cache.data", "data-cache"
#: A FUSE mount whose process answers the first request, and those for its size if it is to; when it ends, the mount is
#: dead. As Alluxio, it does not count inodes.
FUSE = """
import ctypes, os, struct, sys
connection = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={connection},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
assert ctypes.CDLL(None).mount(b"silent", os.fsencode(sys.argv[1]), b"fuse", 0, options) == 0
(unique,) = struct.unpack_from("<Q", os.read(connection, 1 << 20), 8)
os.write(connection, struct.pack("<IiQ", 80, 0, unique) + struct.pack("<4I4x2I36x", 7, 31, 0, 0, 4096, 1))
print(flush=True)
while True:
    _, kind, unique = struct.unpack_from("<IIQ", os.read(connection, 1 << 20))
    if kind == 17 and sys.argv[2] == "sized":
        blocks_and_inodes = 100, 40, 40, 2**64 - 1, 2**64 - 1
        os.write(connection, struct.pack("<IiQ5Q4I24x", 96, 0, unique, *blocks_and_inodes, 4096, 255, 4096, 0))
"""


class Node:
    """The node. The plugin has folder `c`: in it the kubelet's folder, shared, and the datasets, as a slave."""

    def __init__(self, folder: Path, definitions: Path) -> None:
        self.folder, self._definitions = folder, definitions
        self.datasets, self.kubelet, self.container = folder / "mnt", folder / "kubelet", folder / "c"
        for path in (self.datasets, self.kubelet, self.container):
            path.mkdir()
        for path in (self.kubelet / "plugins" / DRIVER, self.kubelet / "plugins_registry", self.kubelet / "pods"):
            path.mkdir(parents=True)
        self._holder = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sleep", "600"])
        deadline = time.monotonic() + 10
        while os.readlink(f"/proc/{self._holder.pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt"):  # noqa: PTH115
            assert time.monotonic() < deadline
            time.sleep(0.01)
        shared = " && ".join(
            f"mount --bind {path} {path} && mount --make-shared {path}" for path in (self.datasets, self.kubelet)
        )
        self.shell(shared)
        self.plugin: subprocess.Popen[str] | None = None

    def close(self) -> None:
        """Ends all that runs here, and with it every mount."""
        if self.plugin:
            self.plugin.kill()
            self.plugin.wait()
        self._holder.kill()
        self._holder.wait()

    def enter(self) -> list[str]:
        """A command line that runs another one on the node."""
        return ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt"]

    def shell(self, script: str) -> str:
        """What a script prints on the node."""
        done = subprocess.run([*self.enter(), "bash", "-euc", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def own(self, dataset: str, owner: str = OWNER) -> Path:
        """The parent folder of a dataset, as a FUSE pod prepares it."""
        parent = self.datasets / dataset
        (parent / "data").mkdir(parents=True, exist_ok=True)
        (parent / ".owner").write_text(f"{owner}/{dataset}\n")
        return parent

    def serve(self, dataset: str, text: str = "first") -> Path:
        """Mounts what stands for a FUSE mount: a filesystem with one file."""
        parent = self.own(dataset)
        self.shell(f"mount -t tmpfs fuse {parent}/data && echo {text} > {parent}/data/file")
        return parent

    @contextmanager
    def fuse(self, dataset: str, kind: Literal["silent", "sized"]) -> Iterator[Path]:
        """A FUSE mount that hangs, or that tells its size and else hangs; afterwards it is dead."""
        parent = self.own(dataset)
        command = [*self.enter(), sys.executable, "-c", FUSE, f"{parent}/data", kind]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.readline()
            try:
                yield parent
            finally:
                running.kill()

    def start(self, *datasets: str, propagation: str = "rslave") -> None:
        """Runs the plugin as its container would, and waits for its sockets. propagation: of the datasets' mounts."""
        inside = self.container
        places = (
            f"mount -t tmpfs container {inside} && mkdir {inside}/mnt {inside}/kubelet"
            f" && mount --rbind {self.datasets} {inside}/mnt && mount --make-{propagation} {inside}/mnt"
            f" && mount --rbind {self.kubelet} {inside}/kubelet"
        )
        said = f"--driver={DRIVER} --node=n1 --owner={OWNER} --root={inside}/mnt --kubelet={inside}/kubelet"
        command = [*self.enter(), "unshare", "--mount", "--propagation", "unchanged", "bash", "-euc"]
        environment = {**os.environ, "PYTHONPATH": str(self._definitions), "GRPC_VERBOSITY": "ERROR"}
        self.plugin = subprocess.Popen(
            [*command, f"{places} && exec {sys.executable} {PLUGIN} {said} {' '.join(datasets)}"],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self.plugin.stdout is not None
        assert "serves" in self.plugin.stdout.readline()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ends the plugin; its exit code."""
        assert self.plugin is not None
        self.plugin.send_signal(how)
        return self.plugin.wait(20)

    def target(self, pod: str) -> str:
        """The folder of a pod's volume, whose parent the kubelet has made."""
        parent = self.kubelet / "pods" / pod
        parent.mkdir(exist_ok=True)
        return str(self.container / "kubelet" / "pods" / pod / "mount")

    def seen(self, pod: str) -> Path:
        """The same folder, as the node and the kubelet have it."""
        return self.kubelet / "pods" / pod / "mount"

    @contextmanager
    def consumer(self, pod: str, propagation: str) -> Iterator[list[str]]:
        """A container of the pod, with the volume at /srv; a command line that runs another one there."""
        places = f"mount --rbind {self.seen(pod)} /srv && mount --make-r{propagation} /srv && echo && exec sleep 600"
        command = [*self.enter(), "unshare", "--mount", "--propagation", "unchanged", "bash", "-euc", places]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.readline()
            try:
                yield ["nsenter", f"--mount=/proc/{running.pid}/ns/mnt"]
            finally:
                running.kill()


class Client:
    """Calls of a kubelet, through the plugin's socket."""

    def __init__(self, csi: Any, channel: grpc.Channel) -> None:
        self.csi, self._channel = csi, channel

    def call(self, service: str, method: str, **fields: Any) -> Any:
        """The answer to a call; a grpc.RpcError where it is one."""
        described = self.csi.DESCRIPTOR.services_by_name[service].methods_by_name[method]
        request, answer = (getattr(self.csi, one.name) for one in (described.input_type, described.output_type))
        path = f"/{described.containing_service.full_name}/{method}"
        ask = self._channel.unary_unary(
            path, request_serializer=request.SerializeToString, response_deserializer=answer.FromString
        )
        return ask(request(**fields), timeout=30)

    def publish(self, target: str, dataset: str = "imagenet", **fields: Any) -> None:
        """Asks for a volume of a pod."""
        mode = self.csi.VolumeCapability.AccessMode(mode=self.csi.VolumeCapability.AccessMode.MULTI_NODE_READER_ONLY)
        plain = self.csi.VolumeCapability(mount=self.csi.VolumeCapability.MountVolume(), access_mode=mode)
        said = {
            "volume_id": "one",
            "target_path": target,
            "volume_capability": plain,
            "volume_context": {"dataset": dataset},
        }
        self.call("Node", "NodePublishVolume", **{**said, **fields})

    def unpublish(self, target: str) -> None:
        """Gives a volume of a pod back."""
        self.call("Node", "NodeUnpublishVolume", volume_id="one", target_path=target)

    def refused(self, method: str, *arguments: Any, **fields: Any) -> tuple[str, str]:
        """Code and words of a call that must fail."""
        with pytest.raises(grpc.RpcError) as caught:
            getattr(self, method)(*arguments, **fields)
        return caught.value.code().name, str(caught.value.details())

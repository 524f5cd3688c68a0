"""An API server alone, with its etcd: it validates and admits objects as a cluster does, and runs none of them."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

USER = "tests"
DEPLOYER = "alluxio-fuse"  # may do nothing but what a test binds to it


@contextmanager
def api_server(programs: Path, folder: Path) -> Iterator[Path]:
    """Runs etcd and kube-apiserver from `programs` on free ports of the loopback; gives the path of a kubeconfig."""
    etcd, peer, port = free_ports(3)
    key = folder / "service-account.key"
    key.write_bytes(
        rsa.generate_private_key(65537, 2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    tokens = f"{USER},{USER},{USER},system:masters\n{DEPLOYER},{DEPLOYER},{DEPLOYER}\n"
    (folder / "tokens.csv").write_text(tokens)
    with ExitStack() as running:
        running.enter_context(
            process(
                folder / "etcd.log",
                [
                    programs / "etcd",
                    f"--data-dir={folder / 'etcd'}",
                    "--unsafe-no-fsync",
                    f"--listen-client-urls=http://127.0.0.1:{etcd}",
                    f"--advertise-client-urls=http://127.0.0.1:{etcd}",
                    f"--listen-peer-urls=http://127.0.0.1:{peer}",
                    f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                    f"--initial-cluster=default=http://127.0.0.1:{peer}",
                ],
            )
        )
        running.enter_context(
            process(
                folder / "kube-apiserver.log",
                [
                    programs / "kube-apiserver",
                    f"--etcd-servers=http://127.0.0.1:{etcd}",
                    "--bind-address=127.0.0.1",
                    "--advertise-address=127.0.0.1",
                    f"--secure-port={port}",
                    f"--cert-dir={folder / 'certificates'}",
                    f"--token-auth-file={folder / 'tokens.csv'}",
                    "--authorization-mode=RBAC",
                    "--allow-privileged",
                    "--service-cluster-ip-range=10.96.0.0/16",
                    "--service-account-issuer=https://kubernetes.default.svc",
                    f"--service-account-key-file={key}",
                    f"--service-account-signing-key-file={key}",
                    "--disable-admission-plugins=ServiceAccount",
                ],
            )
        )
        config = folder / "kubeconfig"
        config.write_text(yaml.safe_dump(kubeconfig(port)))
        wait_ready(programs / "kubectl", config)
        yield config


def kubeconfig(port: int, user: str = USER) -> dict[str, object]:
    """A kubeconfig, for the server's administrator unless another user is named."""
    cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": cluster}],
        "users": [{"name": "tests", "user": {"token": user}}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "current-context": "tests",
    }


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nothing listens on."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def process(log: Path, command: list[str | Path]) -> Iterator[None]:
    """A program in the background, ended at the end."""
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as running:
        try:
            yield
        finally:
            running.terminate()
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                running.kill()


def wait_ready(kubectl: Path, config: Path) -> None:
    """Until the API server is ready, five minutes at most."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        asked = subprocess.run(
            [kubectl, f"--kubeconfig={config}", "get", "--raw", "/readyz"], capture_output=True, check=False
        )
        if asked.returncode == 0:
            return
        time.sleep(0.3)
    raise TimeoutError(f"the API server is not ready after five minutes: {asked.stderr.decode()}")

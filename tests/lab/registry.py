"""A real image registry for tests: Debian's docker-registry, TLS with a CA of its own, and one user."""

from __future__ import annotations

import base64
import json
import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import packages
import yaml
from bundle import until
from object_store import certificates

USER = "canary-user"


@dataclass(frozen=True)
class Registry:
    """Where it is, and what a client needs: its CA, and credentials as `podman login` writes them."""

    address: str
    ca_file: Path
    auth_file: Path
    password: str

    def skopeo(self, *arguments: str) -> str:
        """Output of skopeo, as the registry's user."""
        said = ["--authfile", str(self.auth_file), "--cert-dir", str(self.ca_file.parent)]
        done = subprocess.run(
            ["skopeo", arguments[0], *said, *arguments[1:]], capture_output=True, text=True, check=True
        )
        return done.stdout

    def held(self, repository: str) -> list[str]:
        """Tags of a repository; none where there is no such repository."""
        try:
            found: dict[str, Any] = json.loads(self.skopeo("list-tags", f"docker://{self.address}/{repository}"))
        except subprocess.CalledProcessError:
            return []
        return list(found["Tags"])


@contextmanager
def registry(folder: Path, host: str = "127.0.0.1") -> Iterator[Registry]:
    """A registry that ends with the context."""
    packages.need("docker-registry")
    packages.need("skopeo")
    packages.need("htpasswd", "apache2-utils")
    certificates(folder, host)
    password = f"canary-{secrets.token_hex(12)}"
    made = subprocess.run(["htpasswd", "-Bin", USER], input=password, capture_output=True, text=True, check=True)
    (folder / "htpasswd").write_text(made.stdout)
    with socket.create_server((host, 0)) as free:
        address = f"{host}:{free.getsockname()[1]}"
    (folder / "authorities").mkdir()
    ca_file, auth_file = folder / "authorities/ca.crt", folder / "auth.json"
    ca_file.write_text((folder / "ca.crt").read_text())
    auth_file.touch(mode=0o600)
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    auth_file.write_text(json.dumps({"auths": {address: {"auth": auth}}}))
    settings = {
        "version": 0.1,
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": address, "tls": {"certificate": str(folder / "s3.crt"), "key": str(folder / "s3.key")}},
        "auth": {"htpasswd": {"realm": "tests", "path": str(folder / "htpasswd")}},
    }
    (folder / "config.yml").write_text(yaml.safe_dump(settings))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(["docker-registry", "serve", folder / "config.yml"], stdout=log, stderr=log)
    running = Registry(address, ca_file, auth_file, password)
    try:
        until("the registry listens", lambda: _answers(address))
        yield running
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True

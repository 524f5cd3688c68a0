"""A real S3 store for tests: SeaweedFS on loopback, TLS with a CA of its own."""

from __future__ import annotations

import json
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

WEED = Path(sys.executable).with_name("weed")
HTTPS_PORT = 17834
SETTINGS = {
    "ip": "127.0.0.1",
    "ip.bind": "127.0.0.1",
    "master.telemetry": "false",
    "master.port": 17333,
    "volume.port": 17080,
    "filer.port": 17888,
    "s3": "true",
    "s3.port": 17833,
    "s3.port.https": HTTPS_PORT,
    "s3.port.iceberg": 0,
    "s3.port.lance": 0,
}


@dataclass(frozen=True)
class ObjectStore:
    """Where the store is, the key of its owner, and a key that can only read and list, for deployments."""

    endpoint: str
    ca_file: Path
    owner: tuple[str, str]
    access_key: str
    secret_key: str

    def client(self) -> Any:
        """A client with the owner's key."""
        access_key, secret_key = self.owner
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            verify=str(self.ca_file),
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
        )


def certificates(folder: Path) -> None:
    """ca.crt and a server certificate for 127.0.0.1 signed by it."""

    def openssl(command: str) -> None:
        subprocess.run(["openssl", *shlex.split(command)], cwd=folder, check=True, capture_output=True)

    openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=test CA' -keyout ca.key -out ca.crt")
    openssl("req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout s3.key -out s3.csr")
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("x509 -req -in s3.csr -CA ca.crt -CAkey ca.key -days 2 -extfile san -out s3.crt")


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """A running store that ends with the context."""
    certificates(folder)
    owner = ("owner-" + secrets.token_hex(8), secrets.token_hex(16))
    reader = ("canary-" + secrets.token_hex(8), "canary-" + secrets.token_hex(16))
    store = ObjectStore(f"https://127.0.0.1:{HTTPS_PORT}", folder / "ca.crt", owner, *reader)
    actions = {owner: ["Admin", "Read", "Write", "List", "Tagging"], reader: ["Read", "List"]}
    identities = [
        {"name": key[0], "credentials": [{"accessKey": key[0], "secretKey": key[1]}], "actions": may}
        for key, may in actions.items()
    ]
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": identities}))
    data = folder / "data"
    data.mkdir()
    files = {"dir": data, "s3.config": config, "s3.cert.file": folder / "s3.crt", "s3.key.file": folder / "s3.key"}
    command = [str(WEED), "server", *(f"-{name}={value}" for name, value in {**SETTINGS, **files}.items())]
    with (folder / "weed.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        wait(store, process, folder / "weed.log")
        yield store
    finally:
        process.kill()  # its graceful end waits for peers that there are none of
        process.wait()


def wait(store: ObjectStore, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until buckets can be listed and one can be written to."""
    deadline = time.monotonic() + 60
    while True:
        try:
            client = store.client()
            client.create_bucket(Bucket="ready")
            client.put_object(Bucket="ready", Key="ready", Body=b"ready")
        except (BotoCoreError, ClientError):
            assert process.poll() is None, log.read_text()[:3000]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.5)
        else:
            return

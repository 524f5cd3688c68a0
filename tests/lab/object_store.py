"""A real S3 store for tests: SeaweedFS, on loopback or in the lab, TLS with a CA of its own."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

WEED = Path(sys.executable).with_name("weed")
HTTPS_PORT, METRICS_PORT = 17834, 17835
SERVICES = ("master", "volume", "filer", "s3")
TAKEN = ("BucketAlreadyExists", "BucketAlreadyOwnedByYou")
SETTINGS = {
    "master.telemetry": "false",
    "master.port": 17333,
    "volume.port": 17080,
    "filer.port": 17888,
    "s3": "true",
    "s3.port": 17833,
    "s3.port.https": HTTPS_PORT,
    "metricsPort": METRICS_PORT,
    "s3.port.iceberg": 0,
    "s3.port.lance": 0,
}


@dataclass(frozen=True)
class ObjectStore:
    """Where the store is, the key of its owner, and a key that can only read and list, for deployments.

    next_key: another of the latter kind.
    """

    endpoint: str
    ca_file: Path
    owner: tuple[str, str]
    access_key: str
    secret_key: str
    next_key: tuple[str, str]

    @property
    def s3(self) -> dict[str, Any]:
        """What a dataset says of the store."""
        return {"endpoint": self.endpoint, "region": "us-east-1", "path_style": True, "ca_file": str(self.ca_file)}

    @property
    def host(self) -> str:
        """The address that it listens on."""
        return self.endpoint.split("/")[2].partition(":")[0]

    def sent(self) -> int:
        """Bytes of objects, and of lists of them, that it has sent."""
        return self._counted("bucket_traffic_sent_bytes_total")

    def requests(self, kind: str = "") -> int:
        """S3 requests that it has answered; kind: of one method, as GET, by which lists are asked for, too."""
        return self._counted("request_total", f'type="{kind}"' if kind else "")

    def _counted(self, what: str, label: str = "") -> int:
        with urllib.request.urlopen(f"http://{self.host}:{METRICS_PORT}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        counted = [line for line in lines if line.startswith(f"SeaweedFS_s3_{what}{{") and label in line]
        return sum(int(float(line.split()[-1])) for line in counted)

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

    def create_bucket(self, name: str) -> None:
        """A bucket, made now or before: a client that is not answered in time asks again for what it got already."""
        try:
            self.client().create_bucket(Bucket=name)
        except ClientError as error:
            if error.response["Error"]["Code"] not in TAKEN:
                raise


def certificates(folder: Path, address: str) -> None:
    """ca.crt and a server certificate for the address signed by it."""

    def openssl(command: str) -> None:
        subprocess.run(["openssl", *shlex.split(command)], cwd=folder, check=True, capture_output=True)

    openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=test CA' -keyout ca.key -out ca.crt")
    openssl(f"req -newkey rsa:2048 -nodes -subj /CN={address} -keyout s3.key -out s3.csr")
    (folder / "san").write_text(f"subjectAltName=IP:{address}\n")
    openssl("x509 -req -in s3.csr -CA ca.crt -CAkey ca.key -days 2 -extfile san -out s3.crt")


def prepare(folder: Path, address: str) -> ObjectStore:
    """Certificates, keys and room for data; those of an earlier call stay."""
    config = folder / "s3.json"
    if not config.exists():
        (folder / "data").mkdir(parents=True)
        certificates(folder, address)
        owner = ("owner-" + secrets.token_hex(8), secrets.token_hex(16))
        readers = [("canary-" + secrets.token_hex(8), "canary-" + secrets.token_hex(16)) for _ in range(2)]
        actions = {owner: ["Admin", "Read", "Write", "List", "Tagging"], **{key: ["Read", "List"] for key in readers}}
        identities = [
            {"name": key[0], "credentials": [{"accessKey": key[0], "secretKey": key[1]}], "actions": may}
            for key, may in actions.items()
        ]
        config.touch(mode=0o600)
        config.write_text(json.dumps({"identities": identities}))
    owner, reader, following = (
        (key["accessKey"], key["secretKey"])
        for identity in json.loads(config.read_text())["identities"]
        for key in identity["credentials"]
    )
    return ObjectStore(f"https://{address}:{HTTPS_PORT}", folder / "ca.crt", owner, *reader, following)


def forget(folder: Path, access_key: str) -> None:
    """Leave a key out of what a prepared store knows when it starts."""
    config = folder / "s3.json"
    known = json.loads(config.read_text())["identities"]
    config.write_text(json.dumps({"identities": [one for one in known if one["name"] != access_key]}))


def arguments(folder: Path, address: str) -> list[str]:
    """What `weed` runs a prepared store with."""
    files = {
        "dir": folder / "data",
        "s3.config": folder / "s3.json",
        "s3.cert.file": folder / "s3.crt",
        "s3.key.file": folder / "s3.key",
    }
    settings = {"ip": address, "ip.bind": address, **SETTINGS, **files}
    return ["server", *(f"-{name}={value}" for name, value in settings.items())]


def own_address() -> str:
    """A loopback address of this process alone, so that stores of several test runs do not take each other's ports."""
    high, middle, low = os.getpid().to_bytes(3)
    return f"127.{high % 127 + 1}.{middle}.{low or 255}"


def own_sockets(folder: Path, address: str) -> list[str]:
    """What `weed` runs a store with beside those of other test runs.

    Its services call each other through sockets in /tmp that are named by their ports: with the same ports, one store
    would list and change what another one holds.
    """
    held = [socket.create_server((address, 0)) for _ in SERVICES]
    ports = {f"{service}.port.grpc": one.getsockname()[1] for service, one in zip(SERVICES, held, strict=True)}
    for one in held:
        one.close()
    files = {f"{service}.localSocket": folder / f"{service}.sock" for service in ("filer", "s3")}
    return [f"-{name}={value}" for name, value in {**ports, **files}.items()]


class RestartableStore:
    """A store that can be taken away, and comes back with what it held."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self.address = address
        self.about = prepare(folder, self.address)
        self._command = [str(WEED), *arguments(folder, self.address), *own_sockets(folder, self.address)]

    @property
    def filer(self) -> str:
        """Where its files are asked for: `address:port.port`, the latter of gRPC."""
        (grpc,) = (one.partition("=")[2] for one in self._command if one.startswith("-filer.port.grpc="))
        return f"{self.address}:{SETTINGS['filer.port']}.{grpc}"

    def start(self) -> None:
        """Run it, until it serves."""
        log = self._folder / "weed.log"
        with log.open("w") as output:
            process = subprocess.Popen(self._command, stdout=output, stderr=output, cwd=self._folder)
        self._process = process
        wait(self.about, lambda: None if process.poll() is None else log.read_text()[:3000])

    def stop(self) -> None:
        """End it."""
        self._process.kill()  # its graceful end waits for peers that there are none of
        self._process.wait()

    def revoke(self, access_key: str) -> None:
        """Know a key no more, which takes a restart."""
        self.stop()
        forget(self._folder, access_key)
        self.start()


@contextmanager
def restartable_store(folder: Path, address: str = "") -> Iterator[RestartableStore]:
    """A store that ends with the context; address: of this machine, where loopback is not what its clients reach."""
    store = RestartableStore(folder, address or own_address())
    try:
        store.start()
        yield store
    finally:
        store.stop()


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """A store that stays as it is until the context ends."""
    with restartable_store(folder) as store:
        yield store.about


def wait(store: ObjectStore, ended: Callable[[], str | None]) -> None:
    """Until buckets can be listed and one can be written to. ended: why it never will be."""
    deadline = time.monotonic() + 300
    while True:
        try:
            store.create_bucket("ready")
            store.client().put_object(Bucket="ready", Key="ready", Body=b"ready")
        except (BotoCoreError, ClientError) as error:
            why = ended() or (str(error) if time.monotonic() > deadline else None)
            if why:
                raise TimeoutError(f"the store at {store.endpoint} does not serve: {why}") from error
            time.sleep(0.5)
        else:
            return

"""Alluxio's own client of S3 finds keys as it is told to in a deployment; in none, and in no journal, is a key left.

AWS is a stand-in that verifies signatures and session tokens, tests/lab/aws_stand_in.py; its store is a real one.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from aws_stand_in import ROLE_ARN, Lent, aws_stand_in
from bundle import until
from containers import MasterAndWorker, run, throwaway
from fleets import local
from object_store import object_store, own_address

from alluxio_fuse.plan import credential_chain, plan
from alluxio_fuse.plan.intent.nodes import Aws

FILES = {"a b/é&": b"other", "plain": b"hello world"}
REGION = "eu-central-1"
STS = f"sts.{REGION}.amazonaws.com"
PROFILE = Aws(profile_file="/keys/aws/credentials")
ROLE = Aws(role_arn=ROLE_ARN, token_file="/keys/aws/token", region=REGION)  # noqa: S106 - a path
METADATA = "-Dcom.amazonaws.sdk.ec2MetadataServiceEndpointOverride"


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lent]:
    with object_store(tmp_path_factory.mktemp("store") / "s3") as store:
        store.create_bucket("training")
        for name, content in FILES.items():
            store.client().put_object(Bucket="training", Key=f"set/{name}", Body=content)
        yield Lent(store)


def certificate(folder: Path) -> Path:
    """A certificate for STS with its key, and the CA in ca.pem."""
    names = f"subjectAltName=DNS:{STS}"
    for command in (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=stand-in -keyout ca.key -out ca.pem",
        f"req -newkey rsa:2048 -nodes -subj /CN={STS} -addext {names} -keyout sts.key -out sts.csr",
        "x509 -req -in sts.csr -CA ca.pem -CAkey ca.key -days 2 -copy_extensions copy -out sts.crt",
    ):
        subprocess.run(["openssl", *shlex.split(command)], cwd=folder, check=True, capture_output=True)
    both = folder / "sts.pem"
    both.write_text((folder / "sts.crt").read_text() + (folder / "sts.key").read_text())
    return both


class Services(MasterAndWorker):
    """A master and a worker, which find keys in an environment, in the folder /keys/aws, or at an instance."""

    def __init__(self, folder: Path, endpoint: str, environment: dict[str, str]) -> None:
        properties = throwaway("64MB")
        super().__init__("keytest", folder, folder / "ca.pem", {"master": properties, "worker": properties})
        (folder / "aws").mkdir()
        os.chown(folder / "aws", 1000, 1000)
        self.endpoint, self.environment = endpoint, environment

    def put(self, name: str, text: str) -> None:
        """A file in /keys/aws, which the services' user can read."""
        path = self.folder / "aws" / name
        path.write_text(text)
        os.chown(path, 1000, 1000)
        path.chmod(0o400)

    def serve(self, address: str) -> None:
        """Both of them; STS is at an address of this machine."""
        env = [part for key, value in self.environment.items() for part in ("--env", f"{key}={value}")]
        found = [*self.volume("aws", "/keys/aws", "ro"), "--add-host", f"{STS}:{address}", *env]
        for name in self.VERBS:
            self.remove(name)
            self.start(name, *found, java=f"{METADATA}={self.endpoint}")
        until("the master serves", lambda: "PERSISTED" in self.alluxio("fs", "stat", "/"))

    def mount(self) -> str:
        """What the master answers where it is told to mount the bucket, as it is planned."""
        s3 = {"endpoint": self.endpoint, "region": "us-east-1", "path_style": True, "credential_chain": True}
        said = {"name": "set", "source": "s3://training/set", "files": 2, "bytes": "1Ki", "s3": s3}
        options = plan(local(alluxio_datasets=[said])).datasets[0].options
        told = [part for key, value in options.items() for part in ("--option", f"{key}={value}")]
        return self.alluxio("fs", "mount", "--readonly", *told, "/set", "s3://training/set")

    def told(self) -> str:
        """Everything that others may see: arguments, environment, logs, and the journal on the disk."""
        names = ("keytest-master", "keytest-worker")
        logs = [run("podman", "logs", name) for name in names]
        journal = [
            path.read_bytes().decode("latin-1") for path in (self.folder / "journal").rglob("*") if path.is_file()
        ]
        return "\n".join([run("podman", "inspect", *names), run("ps", "-e", "-ww", "-o", "args="), *logs, *journal])


WAYS = {
    "environment": {},
    "profile": credential_chain.environment(PROFILE),
    "web identity": credential_chain.environment(ROLE),
    "instance": {},
    "nothing": {"AWS_EC2_METADATA_DISABLED": "true"},
}


@pytest.fixture
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def services(way: str, lent: Lent, tmp_path: Path) -> Iterator[Services]:
    """A master that serves, and a worker."""
    address = own_address()
    both = certificate(tmp_path)
    lent.asked, lent.lenders = [], set()
    with aws_stand_in(lent, address) as endpoint, aws_stand_in(lent, address, 443, both):
        one = Services(tmp_path, endpoint, dict(WAYS[way]))
        name, key = lent.lend()
        if way == "environment":
            one.environment |= {"AWS_ACCESS_KEY_ID": name, "AWS_SECRET_ACCESS_KEY": key.secret}
            one.environment |= {"AWS_SESSION_TOKEN": key.token}
        one.put("token", lent.identity)
        keys = f"aws_access_key_id={name}\naws_secret_access_key={key.secret}\naws_session_token={key.token}\n"
        one.put("credentials", f"[default]\n{keys}")
        try:
            one.serve(address)
            yield one
        finally:
            one.remove("worker", "master")


@pytest.mark.parametrize("way", [way for way in WAYS if way != "nothing"], indirect=True)
def test_services_read_with_what_they_find(way: str, services: Services, lent: Lent) -> None:
    assert "Mounted" in services.mount()
    until("the worker reads", lambda: services.alluxio("fs", "cat", "/set/plain").endswith("hello world"))
    assert services.alluxio("fs", "cat", "/set/a b/é&").endswith("other")
    assert lent.lenders == {"instance": {"metadata"}, "web identity": {"sts"}}.get(way, set())
    assert lent.taken("s3")
    text = services.told()
    if way != "environment":  # whoever starts them so has said it to all
        assert [one for one in lent.canaries() if one in text] == []


@pytest.mark.parametrize("way", ["nothing"], indirect=True)
def test_without_any_the_master_says_so(services: Services, lent: Lent) -> None:
    assert "Unable to load AWS credentials from any provider in the chain" in services.mount()
    assert lent.taken("s3") == []

"""What a worker asks of an S3 store: each byte once, with few connections, and without a way round through itself."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import counters
from ansible_collections.alluxio.fuse.plugins.module_utils.worker_client import File, WorkerClient
from bundle import until
from containers import IMAGE, Containers, run, throwaway
from fleets import local
from object_store import ObjectStore, object_store

from alluxio_fuse.plan import plan

BLOCK = 16 << 20
CLIENTS = 4  # threads of the program that has files loaded
SMALL = {f"small/{number:03}": 20_000 + number for number in range(200)}
LARGE = {f"large/{number}": 3 * BLOCK - 1000 * number for number in range(3)}
FIRST = "first"  # what a worker asks once of a bucket, it asks with this one
SIZES = SMALL | LARGE | {FIRST: 1000}
PLANNED = ("alluxio.user.block.size.bytes.default", "alluxio.underfs.object.store.multi.range.chunk.size")


class Services(Containers):
    """A master with what is planned of blocks, and a worker."""

    def __init__(self, folder: Path, store: ObjectStore) -> None:
        super().__init__("s3test", folder)
        self.store = store
        said = {"name": "set", "source": "s3://training/set", "s3": store.s3, "files": len(SIZES), "bytes": "200Mi"}
        made = plan(local(alluxio_datasets=[said]))
        planned = made.nodes["localhost"]["master"]["properties"].amount
        self.options = {
            **made.datasets[0].options,
            "s3a.accessKeyId": store.access_key,
            "s3a.secretKey": store.secret_key,
        }
        for name in ("journal", "namespace", "tier"):
            (folder / name).mkdir()
            os.chown(folder / name, 1000, 1000)
        common = throwaway("512MB")
        self.web = f"127.0.0.1:{common['alluxio.worker.web.port']}"
        # what a client says of blocks is not told to workers: the master's properties are its own
        for name, more in (("master", {key: planned[key] for key in PLANNED}), ("worker", {})):
            text = "".join(f"{key}={value}\n" for key, value in (common | more).items())
            (folder / f"{name}.properties").write_text(text)

    def start(self) -> None:
        """Both of them, the objects mounted."""
        conf = "/opt/alluxio/conf"
        for name, verb in (("master", ["master-only"]), ("worker", ["worker-only", "--no-format"])):
            volumes = [*self.volume(f"{name}.properties", f"{conf}/alluxio-site.properties", "ro")]
            volumes += ["--volume", f"{self.store.ca_file}:{conf}/ca.pem:ro"]
            volumes += [part for one in ("journal", "namespace", "tier") for part in self.volume(one)]
            java = f"ALLUXIO_{name.upper()}_JAVA_OPTS=-Xmx300m -XX:MaxDirectMemorySize=300m"
            run(*self.command(name, "--detach", "--user", "1000:1000", "--env", java, *volumes), IMAGE, *verb)
        until("the worker serves", lambda: "Live Workers: 1" in self.alluxio("fsadmin", "report", "summary"))
        told = [part for key, value in self.options.items() for part in ("--option", f"{key}={value}")]
        assert "Mounted" in self.alluxio("fs", "mount", "--readonly", *told, "/set", "s3://training/set")

    def alluxio(self, *command: str) -> str:
        return run("podman", "exec", "s3test-master", "alluxio", *command, check=False)

    def asked(self, verb: str, paths: list[str]) -> dict[str, str]:
        """What the worker loads, gives up or compares: the digest of each file, where it is compared."""
        files = [File(number, SIZES[path], f"/set/{path}") for number, path in enumerate(paths)]
        command = ("podman", "exec", "--interactive", "s3test-master", "alluxio", "runClass")
        answers = [one for one in WorkerClient(verb, CLIENTS, 0, command).ask(iter(files)) if one]
        assert [one.failed for one in answers if one.failed] == []
        return {paths[one.number]: one.digest for one in answers}

    def forget(self) -> None:
        """The worker gives everything up, which the master tells it with its next heartbeat."""
        self.asked("free", list(SIZES))
        blocks = self.folder / "tier" / "alluxioworker"
        until("nothing is left", lambda: not any(path.is_file() for path in blocks.iterdir()))

    def counted(self, name: str) -> int:
        """What the worker has counted."""
        return int(counters.total(counters.flatten(counters.fetch(self.web)), f"Worker.{name}"))


def closed_by_clients(store: ObjectStore) -> set[str]:
    """Connections to the store that whoever began them has closed, in the last minute."""
    address = store.endpoint.removeprefix("https://")
    return set(run("ss", "-Htn", "state", "time-wait", "dst", address).splitlines())


@pytest.fixture(scope="module")
def content() -> dict[str, bytes]:
    generator = random.Random(7)
    return {path: generator.randbytes(size) for path, size in SIZES.items()}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory, content: dict[str, bytes]) -> Iterator[Services]:
    with object_store(tmp_path_factory.mktemp("store") / "s3") as store:
        store.create_bucket("training")
        client: Any = store.client()
        for path, data in content.items():
            client.put_object(Bucket="training", Key=f"set/{path}", Body=data)
        one = Services(tmp_path_factory.mktemp("services"), store)
        try:
            one.start()
            one.alluxio("fs", "ls", "-R", "/set")  # names, which are asked of the store, too
            one.asked("load", [FIRST])
            yield one
        finally:
            one.remove("worker", "master")


@pytest.mark.parametrize("paths", [list(SMALL), list(LARGE)], ids=["small", "large"])
def test_each_byte_is_sent_once(services: Services, content: dict[str, bytes], paths: list[str]) -> None:
    services.forget()
    size = sum(SIZES[path] for path in paths)
    blocks = sum(-(-SIZES[path] // BLOCK) for path in paths)
    requests, sent = services.store.requests("GET"), services.store.sent()
    services.asked("load", paths)
    assert services.store.requests("GET") - requests == blocks
    assert services.store.sent() - sent == size
    digests = services.asked("compare", paths)
    assert digests == {path: hashlib.sha256(content[path]).hexdigest() for path in paths}


def test_small_files_share_connections(services: Services) -> None:
    services.forget()
    closed = closed_by_clients(services.store)
    services.asked("load", list(SMALL))
    assert len(closed_by_clients(services.store) - closed) < len(SMALL) / 10


def test_a_worker_does_not_take_itself_for_another_one(services: Services) -> None:
    services.forget()
    counted = services.counted("CacheUfsBlocks")
    services.asked("load", list(SIZES))
    assert services.counted("CacheUfsBlocks") - counted == sum(-(-size // BLOCK) for size in SIZES.values())
    assert services.counted("CacheRemoteBlocks") == 0

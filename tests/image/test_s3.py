"""How a worker reads from an S3 store: each byte once, on few connections, and not by way of itself."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import counters
from ansible_collections.alluxio.fuse.plugins.module_utils.worker_client import Answer, File, WorkerClient
from bundle import until
from containers import MasterAndWorker, throwaway
from fleets import local
from object_store import HTTPS_PORT, ObjectStore, object_store
from relay import Relay, relay

from alluxio_fuse.plan import plan

BLOCK = 16 << 20
PIECE = 4 << 20  # the ranges of a second mount, of which blocks are made
CLIENTS = 4  # threads of the program that has files loaded
FIRST = {"first": 1000}  # what a worker asks once of a bucket, it asks with this one
SMALL = {f"small/{number:03}": 20_000 + number for number in range(200)}
LARGE = {f"large/{number}": 3 * BLOCK - 1000 * number for number in range(3)}
MANY = {f"many/{number:03}": 20_000 + number for number in range(100)}
OWN = {"own/small": 20_000, "own/large": 2 * BLOCK}
CUT = {"cut/large": 3 * BLOCK}
WRITTEN = {"written": BLOCK}
# each is loaded by one test: a worker may keep what it is to give up
SIZES = FIRST | SMALL | LARGE | MANY | OWN | CUT | WRITTEN
RANGE = "alluxio.underfs.object.store.multi.range.chunk.size"
MOUNTS: dict[str, dict[str, str]] = {"/set": {}, "/pieces": {RANGE: str(PIECE)}}
PLANNED = ("alluxio.user.block.size.bytes.default", RANGE)


class Services(MasterAndWorker):
    """A master with what is planned of blocks, and a worker; both reach the store by a relay."""

    def __init__(self, folder: Path, store: ObjectStore, port: int) -> None:
        self.store = store
        s3 = {**store.s3, "endpoint": f"https://{store.host}:{port}"}
        said = {"name": "set", "source": "s3://training/set", "s3": s3, "files": len(SIZES), "bytes": "200Mi"}
        made = plan(local(alluxio_datasets=[said]))
        planned = made.nodes["localhost"]["master"]["properties"].amount
        keys = {"s3a.accessKeyId": store.access_key, "s3a.secretKey": store.secret_key}
        self.options = {**made.datasets[0].options, **keys}
        common = throwaway("1GB")
        self.web = f"127.0.0.1:{common['alluxio.worker.web.port']}"
        # workers get what a master is told of stores, and not the size of blocks, which is a client's
        told = {"master": common | {key: planned[key] for key in PLANNED}, "worker": common}
        super().__init__("s3test", folder, store.ca_file, told)

    def mount(self, path: str, more: dict[str, str]) -> None:
        """The objects of a prefix, with what only this mount is told of them; their names are asked for."""
        told = [part for key, value in (self.options | more).items() for part in ("--option", f"{key}={value}")]
        mounted = self.alluxio("fs", "mount", "--readonly", *told, path, f"s3://training{path}")
        assert "Mounted" in mounted, mounted
        self.alluxio("fs", "ls", "-R", path)

    def ask(self, verb: str, paths: Iterable[str], mount: str = "/set") -> dict[str, Answer]:
        """What the worker says that it has loaded or compared."""
        names = list(paths)
        files = [File(number, SIZES[path], f"{mount}/{path}") for number, path in enumerate(names)]
        command = ("podman", "exec", "--interactive", "s3test-master", "alluxio", "runClass")
        return {names[one.number]: one for one in WorkerClient(verb, CLIENTS, 0, command).ask(iter(files)) if one}

    def load(self, paths: Iterable[str], mount: str = "/set") -> None:
        """The worker loads files, all of them."""
        assert [one for one in self.ask("load", paths, mount).values() if one.failed] == []

    def counted(self, name: str) -> int:
        """What the worker has counted."""
        return int(counters.total(counters.flatten(counters.fetch(self.web)), f"Worker.{name}"))


@pytest.fixture(scope="module")
def content() -> dict[str, bytes]:
    generator = random.Random(7)
    return {path: generator.randbytes(size) for path, size in SIZES.items()}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, content: dict[str, bytes]) -> Iterator[ObjectStore]:
    with object_store(tmp_path_factory.mktemp("store") / "s3") as one:
        one.create_bucket("training")
        for mount in MOUNTS:
            for path, data in content.items():
                one.client().put_object(Bucket="training", Key=f"{mount[1:]}/{path}", Body=data)
        yield one


@pytest.fixture(scope="module")
def passed_on(store: ObjectStore) -> Iterator[Relay]:
    with relay(store.host, HTTPS_PORT) as one:
        yield one


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory, store: ObjectStore, passed_on: Relay) -> Iterator[Services]:
    one = Services(tmp_path_factory.mktemp("services"), store, passed_on.port)
    try:
        one.start("master")
        one.start("worker")
        until("the worker serves", lambda: "Live Workers: 1" in one.alluxio("fsadmin", "report", "summary"))
        for mount, more in MOUNTS.items():
            one.mount(mount, more)
            one.load(FIRST, mount)
        yield one
    finally:
        one.remove("worker", "master")


@pytest.mark.parametrize(
    ("mount", "paths", "piece"), [("/set", SMALL, BLOCK), ("/set", LARGE, BLOCK), ("/pieces", LARGE, PIECE)]
)
def test_each_byte_is_sent_once(
    services: Services, content: dict[str, bytes], mount: str, paths: dict[str, int], piece: int
) -> None:
    requests, sent = services.store.requests("GET"), services.store.sent()
    services.load(paths, mount)
    wanted = sum(-(-size // piece) for size in paths.values())
    until("the store has counted", lambda: services.store.requests("GET") - requests >= wanted)
    assert services.store.requests("GET") - requests == wanted
    assert services.store.sent() - sent == sum(paths.values())
    digests = {path: one.digest for path, one in services.ask("compare", paths, mount).items()}
    assert digests == {path: hashlib.sha256(content[path]).hexdigest() for path in paths}


def test_small_files_share_connections(services: Services, passed_on: Relay) -> None:
    before = passed_on.connections
    services.load(MANY)
    assert passed_on.connections - before < len(MANY) / 10


def test_a_worker_does_not_take_itself_for_another_one(services: Services) -> None:
    counted = services.counted("CacheUfsBlocks")
    services.load(OWN)
    assert services.counted("CacheUfsBlocks") - counted == sum(-(-size // BLOCK) for size in OWN.values())
    assert services.counted("CacheRemoteBlocks") == 0


@pytest.mark.parametrize("mount", MOUNTS)
def test_what_has_become_shorter_is_not_loaded(services: Services, content: dict[str, bytes], mount: str) -> None:
    """Of three blocks one is left, one is cut, and one is gone: the worker keeps the first alone, and says so."""
    (path,) = CUT
    key = {"Bucket": "training", "Key": f"{mount[1:]}/{path}"}
    services.store.client().put_object(**key, Body=content[path][: BLOCK + PIECE + 1])
    assert "has not got all of it" in services.ask("load", CUT, mount)[path].failed
    assert f"workers hold {BLOCK} of {SIZES[path]} bytes" in services.ask("compare", CUT, mount)[path].failed


def test_versions_of_an_object_are_not_mixed(services: Services, content: dict[str, bytes]) -> None:
    """Its block takes 256 requests, and it is written again and again meanwhile, with as many bytes."""
    (path,) = WRITTEN
    versions = itertools.cycle([content[path], content[path][::-1]])

    def write() -> None:
        services.store.client().put_object(Bucket="training", Key=f"often/{path}", Body=next(versions))

    write()
    services.mount("/often", {RANGE: str(BLOCK // 256)})
    with ThreadPoolExecutor(1) as pool:
        loaded = pool.submit(services.ask, "load", WRITTEN, "/often")
        while not loaded.done():
            write()
    assert "has not got all of it" in loaded.result()[path].failed
    assert f"key: often/{path} bucket: training has changed while it was read" in services.log("worker")

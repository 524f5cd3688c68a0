"""`make bench-warm`: how long the same objects take to be on a node, a first epoch, and what readers notice meanwhile.

One S3 store behind all ways; each begins without a byte on the node, in interleaved rounds, and is followed by a read
of every digest. Needs root: page caches are dropped and mounts made.
usage: warm.py [FILE]      writes the result as Markdown to FILE, too
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import leftovers
import peers
from ansible_collections.alluxio.fuse.plugins.module_utils import reader
from ansible_collections.alluxio.fuse.plugins.module_utils.reader import Entry
from bench import BUCKET, BUDGET_MB, PREFIX, STAGES, WORK, in_memory, machine, upload
from bundle import playbook, podman, succeed, until
from object_store import ObjectStore, object_store
from peers import PEERS, Place, mounted

from alluxio_fuse.dataset import sample

NAME = "bench-warm"
SOURCE = Path(f"/var/lib/{NAME}-sample")
STATE = Path(f"/var/lib/{NAME}")
SHAPE = sample.Shape(images=2000, shards=4)
DATA = Path(f"/mnt/{NAME}")
HOT = "hot"
ROUNDS = 3
READERS = 4
WATCHED_S = 15.0  # readers are watched so long
LIMITS = (64, 16, 4)  # of the rate without a limit, the parts that limited tasks may take
VERIFIED = 8  # processes that compare digests


class Took(NamedTuple):
    """What bringing all objects took."""

    seconds: float
    cpu: float
    requests: int
    sent: int


@dataclass(frozen=True)
class Way:
    """A way to bring the objects: how a node comes to have none, how it gets them, and what is wrong with them then."""

    forget: Callable[[], object]
    bring: Callable[[], object]
    wrong: Callable[[], int]


def main() -> None:
    """Deploys, measures, shows, takes everything away."""
    leftovers.remove()
    leftovers.label_processes()
    sample.make(SOURCE, SHAPE)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{NAME}-", dir="/var/lib")))
        folder.chmod(0o755)
        store = stack.enter_context(object_store(folder))
        store.create_bucket(BUCKET)
        for prefix in (PREFIX, HOT):
            upload(store, SOURCE, prefix)
        stack.enter_context(deployed(store))
        _, entries = reader.load(str(STATE / "manifests/set.jsonl"))
        memory = stack.enter_context(in_memory())
        places = {
            name: Place(WORK / name, memory / name, BUCKET, PREFIX, BUDGET_MB, SOURCE) for name in (*PEERS, "copy")
        }
        for name in PEERS:
            stack.enter_context(mounted(name, store, places[name]))
        juicefs, copied = places["juicefs"], places["copy"]
        copied.cache.mkdir()
        ways = {
            "task, into workers": Way(lambda: task("--evict"), task, lambda: task("--verify-only")),
            "task, onto the stage": Way(
                forget_stage, lambda: task("--into", "stage"), lambda: task("--into", "stage", "--verify-only")
            ),
            "alluxio fs load": Way(lambda: task("--evict"), fs_load, lambda: task("--verify-only")),
            "juicefs warmup": Way(
                lambda: peers.forget("juicefs", store, juicefs),
                lambda: peers.juicefs_warm(juicefs),
                lambda: compared(juicefs.mount, entries),
            ),
            "rclone copy": Way(
                lambda: empty(copied.cache),
                lambda: peers.rclone_copy(store, copied),
                lambda: compared(copied.cache, entries),
            ),
        }
        took = rounds(ways, store)
        read = rounds(first_epochs(store, places, entries, ways), store)
        rate = sum(entry.size for entry in entries) / median(one.seconds for one in took["task, into workers"])
        noticed = notice(entries, [int(rate / part) for part in LIMITS])
    text = shown(took, read, entries, noticed)
    print(text)
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(markdown(text))


@contextmanager
def deployed(store: ObjectStore) -> Iterator[None]:
    """The objects as dataset `set`, which ways bring, and once more as `hot`, which readers read meanwhile."""
    sources = {name: f"s3://{BUCKET}/{prefix}" for name, prefix in (("set", PREFIX), ("hot", HOT))}
    keys = {"access_key": store.access_key, "secret_key": store.secret_key}
    variables = {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 1000,
        "alluxio_datasets": [
            {"name": name, "source": source, "s3": store.s3, "stage": "require" if name == "set" else "off"}
            for name, source in sources.items()
        ],
        "alluxio_credentials": {"set": keys, "hot": keys},
    }
    with leftovers.deployment(variables):
        for stage in STAGES:
            print(f"{NAME}: {stage}", flush=True)
            succeed(playbook(f"playbooks/{stage}.yml", **variables))
        succeed(playbook("playbooks/warm.yml", **variables, alluxio_warm={"verify": "only"}))
        yield


def task(*how: str, dataset: str = "set") -> int:
    """A warm-up task of the node, waited for; its exit code."""
    command = [str(STATE / "warm/alluxio-warm"), "start", "--dataset", dataset, "--quiet", *how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr, flush=True)
    return done.returncode


def forget_stage() -> None:
    """Neither a copy, nor blocks in workers."""
    task("--into", "stage", "--evict")
    task("--evict")


def fs_load() -> None:
    """Alluxio's own command, until it says that it has succeeded."""
    alluxio = ("exec", f"{NAME}-master", "/opt/alluxio/bin/alluxio", "fs", "load", "/set")
    podman(*alluxio, "--submit")
    while True:
        lines = podman(*alluxio, "--progress", "--format", "JSON").splitlines()
        state = json.loads(next(line for line in lines if line.startswith("{")))
        if state["mJobState"] == "SUCCEEDED":
            return
        assert state["mJobState"] == "RUNNING", state


def empty(folder: Path) -> None:
    """Removes what a folder holds."""
    subprocess.run(["find", str(folder), "-mindepth", "1", "-delete"], check=True)


def compared(root: Path, entries: list[Entry], processes: int = VERIFIED) -> int:
    """Files whose digest is another one."""
    return int(reader.verify(str(root), entries, processes)["wrong"])


def first_epochs(
    store: ObjectStore, places: dict[str, Place], entries: list[Entry], ways: dict[str, Way]
) -> dict[str, Way]:
    """Ways to read every digest once, while no byte is on the node; of two, a warm-up is part of it."""
    mounts = {
        name: epoch(partial(peers.forget, name, store, places[name]), places[name].mount, entries) for name in PEERS
    }
    staged, warmed = ways["task, onto the stage"], ways["juicefs warmup"]
    return {
        "mount": epoch(lambda: forget_hot(entries[0]), DATA / "hot/data", entries),
        "staged, then read": epoch(staged.forget, DATA / "set/data", entries, first=staged.bring),
        **mounts,
        "juicefs warmup, then read": epoch(warmed.forget, places["juicefs"].mount, entries, first=warmed.bring),
    }


def epoch(
    forget: Callable[[], object], root: Path, entries: list[Entry], first: Callable[[], object] = lambda: None
) -> Way:
    """A way whose readers compare all digests, after what comes first."""
    wrong: list[int] = []

    def read() -> None:
        first()
        wrong.append(compared(root, entries, READERS))

    return Way(forget, read, lambda: wrong[-1])


def forget_hot(one: Entry) -> None:
    """Neither blocks in workers, nor pages in the client cache of `hot`, whose FUSE begins anew."""
    task("--evict", dataset="hot")
    container, cache = f"{NAME}-fuse-hot", STATE / "client-cache/hot"
    podman("stop", container)
    empty(cache)
    podman("start", container)
    until("FUSE serves it", (DATA / "hot/data" / one.path).exists)


def rounds(ways: dict[str, Way], store: ObjectStore) -> dict[str, list[Took]]:
    """Each way in turn, several times. A way that brings other bytes ends the bench."""
    took: dict[str, list[Took]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            way.forget()
            Path("/proc/sys/vm/drop_caches").write_text("3\n")
            begin, busy, asked, sent = time.monotonic(), reader.busy_seconds(), store.requests(), store.sent()
            way.bring()
            seconds, cpu = time.monotonic() - begin, reader.busy_seconds() - busy
            took[name].append(Took(seconds, cpu, store.requests() - asked, store.sent() - sent))
            if way.wrong():
                raise SystemExit(f"{name}: it brought other bytes")
            print(f"  {name:25} {seconds:6.1f} s", flush=True)
    return took


class Watched(NamedTuple):
    """Latencies of small files in milliseconds, and files per second."""

    p50: float
    p99: float
    files_per_s: float


def notice(entries: list[Entry], limits: list[int]) -> dict[str, list[Watched]]:
    """What readers of the client cache notice of a load: at half of what they can, and at all of it."""
    small = [entry for entry in entries if entry.size < 1 << 20]
    capacity = median(watched(small, None).files_per_s for _ in range(ROUNDS))
    limited = {f"a task at {limit / 2**20:.1f} MiB/s": str(limit) for limit in limits}
    loads = {"no task": None, **limited, "a task without a limit": "0"}
    found: dict[str, list[Watched]] = {}
    for _ in range(ROUNDS):
        for pace, files_per_s in (("half", capacity / 2), ("saturated", None)):
            for load, bandwidth in loads.items():
                if bandwidth is not None:
                    task("--evict")
                    begun = begin_load(bandwidth)
                found.setdefault(f"{pace}, {load}", []).append(watched(small, files_per_s))
                if bandwidth is not None:
                    subprocess.run([STATE / "warm/alluxio-warm", "cancel", begun], check=False, capture_output=True)
                    subprocess.run([STATE / "warm/alluxio-warm", "watch", begun], check=False, capture_output=True)
    return found


def begin_load(bandwidth: str) -> str:
    """A task that goes on while readers are watched; its name."""
    command = [STATE / "warm/alluxio-warm", "start", "--dataset", "set", "--bandwidth", bandwidth, "--background"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def watched(entries: list[Entry], files_per_s: float | None) -> Watched:
    """Processes that read whole files for a while, each at its share of a rate, or as fast as it can.

    They let go of a file's pages, so that the next one to read it asks FUSE again.
    """
    pause = 0.0 if files_per_s is None else READERS / files_per_s
    root = DATA / "hot/data"

    def read(seeds: list[int]) -> list[float]:
        order, times, until = random.Random(seeds[0]), list[float](), time.monotonic() + WATCHED_S
        following = time.monotonic()
        while time.monotonic() < until:
            begin = time.monotonic()
            with Path(root, order.choice(entries).path).open("rb", buffering=0) as file:
                file.read()
                times.append(time.monotonic() - begin)
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            following += pause
            time.sleep(max(0.0, following - time.monotonic()))
        return times

    times = [value for share in reader.fork_map(read, [[seed] for seed in range(READERS)]) for value in share]
    cuts = quantiles(times, n=100)
    return Watched(cuts[49] * 1e3, cuts[98] * 1e3, len(times) / WATCHED_S)


def shown(
    took: dict[str, list[Took]], read: dict[str, list[Took]], entries: list[Entry], noticed: dict[str, list[Watched]]
) -> str:
    """Three tables of medians."""
    files, size = len(entries), sum(entry.size for entry in entries)
    lines = [f"{files} files, {size / 1e6:.0f} MB, every digest compared after each; medians of {ROUNDS}", ""]
    lines += [*table(took, files, size), "", f"first epoch, {READERS} readers, who compare every digest", ""]
    lines += table(read, files, size)
    lines += ["", f"small files from the client cache, {READERS} readers", ""]
    lines.append(f"  {'readers, and meanwhile':40} {'files/s':>8} {'p50 ms':>7} {'p99 ms':>7} {'p99, ratio':>11}")
    for name, seen in noticed.items():
        alone = noticed[f"{name.partition(',')[0]}, no task"]
        ratio = median(one.p99 / before.p99 for one, before in zip(seen, alone, strict=True))
        lines.append(
            f"  {name:40} {median(one.files_per_s for one in seen):8.0f} {median(one.p50 for one in seen):7.2f}"
            f" {median(one.p99 for one in seen):7.2f} {ratio:11.2f}"
        )
    return "\n".join(lines)


def table(took: dict[str, list[Took]], files: int, size: int) -> Iterator[str]:
    """A line for each way, below a heading."""
    heading = f"  {'way':25} {'s':>7} {'(min-max)':>13} {'files/s':>8} {'MB/s':>6} {'CPU s/GB':>9} {'requests':>9}"
    yield f"{heading} {'of size':>8}"
    for name, rows in took.items():
        seconds = median(one.seconds for one in rows)
        span = f"{min(one.seconds for one in rows):.1f}-{max(one.seconds for one in rows):.1f}"
        yield (
            f"  {name:25} {seconds:7.1f} {span:>13} {files / seconds:8.0f} {size / seconds / 1e6:6.0f}"
            f" {median(one.cpu for one in rows) / size * 1e9:9.1f} {median(one.requests for one in rows):9.0f}"
            f" {median(one.sent for one in rows) / size:8.2f}"
        )


def markdown(text: str) -> str:
    """docs/bench-warm.md."""
    return f"""# Time to warm

Written by `make bench-warm` on {time.strftime("%Y-%m-%d", time.gmtime())}: {machine()};
store, services, ways and readers on this one machine. Ratios within the run carry over to other machines, figures do
not.

{SHAPE.images} small files and {SHAPE.shards} large ones in one S3 store behind TLS. Each way begins without a byte on
the node and without pages. CPU seconds are the whole machine's, the store's included, for each GB of the dataset.
`of size`: bytes of objects, and of lists of them, that the store sent for each byte of the dataset. JuiceFS keeps
objects of its own, so its requests are for those.

```text
{text}
```

The second table is a first epoch: the readers wait for the store, unless a warm-up comes before, which is part of its
row. The dataset of `mount` is not staged; that of `staged, then read` is served by the kernel once it is copied. All
of them have their caches in memory.

The third table is what a training notices of a warm-up. `half`: readers ask for half of what they can read. A limit is
for that case; who reads as fast as the node can shares its processors with whatever else runs.
"""


if __name__ == "__main__":
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was deployed is taken away on the way out
    main()
    print(f"bench    {time.monotonic() - started:.0f} s")

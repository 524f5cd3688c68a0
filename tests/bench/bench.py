"""`make bench`: the sample through Alluxio as deployed, staged, with Alluxio's own defaults, through other products.

One S3 store behind all of them, caches in memory, everything resident, read in the same interleaved rounds by the same
reader as from the disk, digests compared. Ends with a line for each aim. Needs root: it drops page caches, and mounts.
usage: bench.py [FILE]      writes the result as Markdown to FILE, too
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import calls
import copies
import leftovers
from aims import LEAST_PASSES, Aim, aims
from bundle import CHECKOUT, playbook, succeed
from measuring import Measuring
from object_store import ObjectStore, object_store
from peers import PEERS, Place, mounted

from alluxio_fuse.check import table
from alluxio_fuse.check.verdict import Check
from alluxio_fuse.dataset import sample
from alluxio_fuse.plan import Plan
from alluxio_fuse.targets import targets

NAME = "bench"
SHAPE = sample.Shape(images=2000, shards=4)
BUDGET_MB = 1500  # of each cache
BUCKET, PREFIX = "training", "set"
WORK = Path(f"/var/lib/{NAME}-peers")
SOURCE = Path(f"/var/lib/{NAME}-sample")
STARTS = 5
START_LIMIT_S = 120
STAGES = ("preflight", "plan", "nodes", "services", "warm")
JOBS = {"a second run, without its check": STAGES, "status": ("status",)}
RUNS = 3


@dataclass(frozen=True)
class Deployed:
    """A deployment: its variables, and what is read on this machine."""

    variables: dict[str, Any]
    target: dict[str, Any]


def main() -> None:
    """Deploys everything, measures, shows, takes everything away."""
    leftovers.remove()
    leftovers.label_processes()
    sample.make(SOURCE, SHAPE)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{NAME}-", dir="/var/lib")))
        folder.chmod(0o755)
        store = stack.enter_context(object_store(folder))
        store.create_bucket(BUCKET)
        upload(store, SOURCE)
        bundle = stack.enter_context(deployed(NAME, 1000, "tuned", store))
        ours = bundle.target
        upstream = stack.enter_context(deployed(f"{NAME}-upstream", 2000, "upstream", store)).target
        compare = [{"name": "upstream", "mount_point": upstream["mount_point"], "metrics": upstream["metrics"]}]
        memory = stack.enter_context(in_memory())
        staged = {}
        for thousands, (name, said) in enumerate(copies.said(WORK / "disk").items(), 3):
            copied = stack.enter_context(deployed(f"{NAME}-{name}", thousands * 1000, "tuned", store, **said))
            staged[name] = copies.with_staged_files(name, copied.target)
            copies.leave_fuse(f"{NAME}-{name}")
        for name in PEERS:
            at = Place(WORK / name, memory / name, BUCKET, PREFIX, BUDGET_MB, SOURCE)
            point = stack.enter_context(mounted(name, store, at))
            compare.append({"name": name, "mount_point": str(point), "state": "cached", "metrics": {}})
        shutil.copytree(SOURCE, memory / "set")
        compare.append({"name": "memory", "mount_point": str(memory / "set"), "state": "memory", "metrics": {}})
        measuring = Measuring(NAME, ours | {"compare": compare}, staged, SOURCE, store)
        chosen = measuring.prepare()
        result = measuring.rounds()
        explained = calls.explained(
            ours["mount_point"], str(memory / "set"), measuring.small(), ours["metrics"]["fuse"][0]
        )
        starts = [start_up(Path(ours["mount_point"])) for _ in range(STARTS)]
        jobs = {name: seconds(stages, bundle.variables) for name, stages in JOBS.items()}
    text = shown(result, chosen, explained, starts, jobs)
    print(text)
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(markdown(text, result))


def upload(store: ObjectStore, source: Path, prefix: str = PREFIX) -> None:
    """A sample into the bucket, which is there."""
    client = store.client()
    files = [path for path in source.rglob("*") if path.is_file() and not path.name.startswith(".")]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda p: client.upload_file(str(p), BUCKET, f"{prefix}/{p.relative_to(source)}"), files))


@contextmanager
def deployed(
    name: str, offset: int, profile: str, store: ObjectStore, stage: str = "off", **said: Any
) -> Iterator[Deployed]:
    """A deployment of the bundle with its caches filled; what it reads, from its plan."""
    variables = {
        "alluxio_name": name,
        "alluxio_environment": name,
        "alluxio_port_offset": offset,
        "alluxio_profile": profile,
        "alluxio_datasets": [{"name": "set", "source": f"s3://{BUCKET}/{PREFIX}", "s3": store.s3, "stage": stage}],
        "alluxio_credentials": {"set": {"access_key": store.access_key, "secret_key": store.secret_key}},
        **said,
    }
    with leftovers.deployment(variables):
        for each in STAGES:
            print(f"{name}: {each}", flush=True)
            succeed(playbook(f"playbooks/{each}.yml", **variables))
        plan = Plan.load(json.loads((CHECKOUT / f"runs/plan-{name}.json").read_text()))
        (target,) = targets(plan, "localhost")
        yield Deployed(variables, target)


@contextmanager
def in_memory() -> Iterator[Path]:
    """A tmpfs for the peers' caches and the files that no FUSE stands before; beside it, a folder on the disk."""
    with leftovers.folder(WORK):
        (WORK / "memory").mkdir()
        (WORK / "disk").mkdir()
        with leftovers.mounted(WORK / "memory", "-t", "tmpfs", "-o", f"size={4 * BUDGET_MB}m", NAME):
            yield WORK / "memory"


def start_up(point: Path) -> float:
    """Seconds from the start of the FUSE container to the first byte that is read through its mount."""
    container = f"{NAME}-fuse-set"
    subprocess.run(["podman", "stop", container], check=True, capture_output=True)
    begin = time.monotonic()
    subprocess.run(["podman", "start", container], check=True, capture_output=True)
    while time.monotonic() < begin + START_LIMIT_S:
        with (
            suppress(OSError, StopIteration),
            next(each for each in point.rglob("*") if each.is_file()).open("rb") as file,
        ):
            if file.read(1):
                break
        time.sleep(0.05)
    return time.monotonic() - begin


def seconds(stages: tuple[str, ...], variables: dict[str, Any]) -> float:
    """How long some stages take together on a deployment that is as planned; the median of a few runs."""
    first, *others = (f"playbooks/{stage}.yml" for stage in stages)
    times = []
    for _ in range(RUNS):
        begin = time.monotonic()
        succeed(playbook(first, *others, **variables))
        times.append(time.monotonic() - begin)
    return median(times)


def shown(result: Check, chosen: dict[str, int], explained: str, starts: list[float], jobs: dict[str, float]) -> str:
    """The table, what a small file costs call by call, how long playbooks take, then the aims."""
    (dataset,) = result.datasets
    lines = [
        table.render(result),
        "",
        "one small file, one reader, client-cache, microseconds (medians)",
        explained,
        "",
    ]
    lines.append(f"read-ahead chosen for large files of peers, KiB: {chosen}")
    lines += [f"{name}: {took:.1f} s (median of {RUNS})" for name, took in jobs.items()]
    start = Aim(
        name="start_up_s", value=median(starts), target=10, at_most=True, versus=f"{STARTS} starts to a first byte"
    )
    return "\n".join([*lines, *(aim.line() for aim in [*aims(dataset.rows), start])])


def machine() -> str:
    """What the figures were taken on."""
    memory = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    cpus = sum(line.startswith("processor") for line in Path("/proc/cpuinfo").read_text().splitlines())
    kernel = Path("/proc/sys/kernel/osrelease").read_text().strip()
    return f"{cpus} processors, {int(memory.split()[1]) >> 20} GiB of memory, Linux {kernel}"


def markdown(text: str, result: Check) -> str:
    """docs/bench.md."""
    foreign = result.datasets[0].foreign_cpu
    return f"""# Side by side

Written by `make bench` on {result.made[:10]}: {machine()};
store, services and readers on this one machine, other work on {foreign:.0%} of its processors between the passes.
Ratios within the run carry over to other machines, figures do not.

{SHAPE.images} small files and {SHAPE.shards} large ones, in one S3 store behind TLS. `mount` is this bundle's,
`upstream` Alluxio's own defaults. s3fs, rclone and JuiceFS have caches of the same size in memory, too, and the same
timeouts of 7200 s; each mount but that of the defaults has the best of the same read-aheads. `{copies.MEMORY}` is the
set [staged](staging.md) whole in memory, `{copies.DISK}` on the disk beside the sample, `{copies.PART}` what of a set
staged in part is a copy behind an overlay. Copies in memory have large pages, as the bundle mounts their tmpfs;
`memory` and the caches of the peers lie on a plain one. Rounds are interleaved, digests compared after each pass that
began without pages. An aim counts from {LEAST_PASSES} proven passes on.
Paddle's study (ImageNet-mini, one T4) set a local copy, ossfs, the kernel's cache and a user-space cache over a cluster
side by side: here `disk`, `s3fs`, and the states page-cache and client-cache of `mount`. Why aims are missed:
[fast-path.md](fast-path.md).

```text
{text}
```
"""


if __name__ == "__main__":
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was deployed is taken away on the way out
    main()
    print(f"bench    {time.monotonic() - started:.0f} s")

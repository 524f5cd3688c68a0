"""What docs/train.md and docs/recovery.md say of memory-mapped arrays and of DALI, on a mount and on a staged copy."""

from __future__ import annotations

import hashlib
import io
import json
import random
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import contained
import leftovers
import pytest
import trees
from ansible_collections.alluxio.fuse.plugins.module_utils import counters, fuse_connection, programs, residency
from bundle import C1_ALONE, CHECKOUT, kill, stages, succeed, until
from staged import DEPLOYED

from alluxio_fuse.plan import Plan
from alluxio_fuse.targets import targets

NAME = "loaded"
DALI_IMAGE = "localhost/alluxio-fuse-test-dali:bookworm"
DALI = (  # what else it needs is Debian's, beside PyTorch; decoders would need more
    *("nvidia-dali-cuda120==2.4.0", "astunparse==1.6.3", "gast==0.7.0", "makefun==1.16.0", "nvtx==0.2.17"),
    *("optree==0.20.0", "packaging==26.0", "typing-extensions==4.16.0"),
)
ARRAY_BYTES, WINDOWS, WINDOW_BYTES = 64 << 20, 64, 4096
WAYS = {("memmap", 512): (40, 200), ("memmap", 16): (2, 12), ("random_map", 512): (1, 3), ("pread", 512): (1, 3)}
SHARDS, MEMBERS, MEMBER_BYTES = 2, 64, 1 << 18
FAULT_AT = 3  # batches
BATCH = 4
BUS_ERROR = 135  # 128 and SIGBUS, as a shell counts
Epochs = list[dict[str, Any]]


@dataclass(frozen=True)
class Loaded:
    """The deployment: a dataset that FUSE serves, `set`, and `copy`, the same files staged."""

    source: Path
    metrics: dict[str, list[str]]

    def path(self, dataset: str) -> Path:
        """The folder that readers have."""
        return Path(f"/mnt/{NAME}/{dataset}/data")


def write_shards(folder: Path) -> None:
    """Archives of large members: a reader of the first ones has not read the others."""
    for shard in range(SHARDS):
        with tarfile.open(folder / f"shard-{shard}.tar", "w") as archive:
            for number in range(MEMBERS):
                about = tarfile.TarInfo(f"{number:04}.bin")
                about.size = MEMBER_BYTES
                archive.addfile(about, io.BytesIO(random.Random(shard * MEMBERS + number).randbytes(MEMBER_BYTES)))


def members(folder: Path) -> list[str]:
    """Digests of the members of all shards, in order."""
    found = []
    for shard in range(SHARDS):
        with tarfile.open(folder / f"shard-{shard}.tar") as archive:
            files = [cast("IO[bytes]", archive.extractfile(one)) for one in archive]
            found += [hashlib.sha256(file.read()).hexdigest() for file in files]
    return found


@pytest.fixture(scope="module")
def loaded() -> Iterator[Loaded]:
    small = {path: size for path, size in trees.FILES.items() if path.startswith("class-")}
    arrays = {f"arrays/{way}-{ahead}.bin": ARRAY_BYTES for way, ahead in WAYS}
    with trees.source(NAME, small) as folder:
        write_shards(folder)
        other = folder.with_name("copy")
        subprocess.run(["cp", "-r", folder, other], check=True)
        trees.fill(folder, arrays)
        variables = {
            "alluxio_name": NAME,
            "alluxio_environment": NAME,
            "alluxio_port_offset": 4100,
            **C1_ALONE,
        }
        copy = {"name": "copy", "source": f"file://{other}", "stage": "require"}
        both = {**variables, "alluxio_datasets": [copy, {"name": "set", "source": f"file://{folder}"}]}
        with leftovers.deployment(both):
            succeed(stages(*DEPLOYED, **variables, alluxio_datasets=[copy]))
            succeed(stages(*DEPLOYED[:-1], **both))  # nobody has read the other one
            plan = Plan.load(json.loads((CHECKOUT / f"runs/plan-{NAME}.json").read_text()))
            (metrics,) = (one["metrics"] for one in targets(plan, "localhost") if one["name"] == "set")
            yield Loaded(folder, metrics)


@pytest.fixture(scope="module")
def dali(image: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image with PyTorch, and DALI in it."""
    return contained.image_with(tmp_path_factory.mktemp("dali"), image, DALI_IMAGE, *DALI)


@pytest.mark.parametrize(("way", "read_ahead_kb"), WAYS)
def test_what_windows_of_an_array_cost(
    loaded: Loaded, image: str, tmp_path: Path, way: str, read_ahead_kb: int
) -> None:
    """The kernel fetches its read-ahead for each window of a mapping, unless it is told that reads are random."""
    least, most = WAYS[way, read_ahead_kb]
    contained.bring(tmp_path, "windows.py")
    root = loaded.path("set")
    file = f"{root}/arrays/{way}-{read_ahead_kb}.bin"
    places = [WINDOW_BYTES * one for one in random.Random(7).sample(range(ARRAY_BYTES // WINDOW_BYTES), WINDOWS)]
    arguments = (f"{tmp_path}/windows.py", way, file, str(WINDOW_BYTES), *map(str, places))
    command = contained.command(image, f"{NAME}-windows", root.parent, tmp_path, *arguments)
    device = fuse_connection.device_of(str(root))
    settings = {"read_ahead_kb": read_ahead_kb}
    with fuse_connection.control() as connections, fuse_connection.for_now(device, settings, connections):
        before = counters.snapshot(loaded.metrics, counters.SOURCES)
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        after = counters.snapshot(loaded.metrics, counters.SOURCES)
    original = (loaded.source / f"arrays/{way}-{read_ahead_kb}.bin").read_bytes()
    assert said == hashlib.sha256(b"".join(original[place : place + WINDOW_BYTES] for place in places)).hexdigest()
    wanted = WINDOWS * WINDOW_BYTES
    by_kernel = (residency.resident_share([file]) or 0) * ARRAY_BYTES / wanted
    calls, by_client, by_workers = (after[key] - before[key] for key in ("fuse_calls", "client_external", "worker"))
    shares = f"kernel {by_kernel:.1f}, client cache {by_client / wanted:.1f}, workers {by_workers / wanted:.1f} times"
    print(f"{way}, {read_ahead_kb} KiB: {calls:.0f} calls, {shares}")
    assert least <= by_kernel <= most
    assert by_client / wanted > by_kernel  # whole pages


@pytest.fixture
def load(loaded: Loaded, dali: str, tmp_path: Path) -> Callable[..., tuple[Epochs, int]]:
    """Lets DALI read; in its third batch something happens. What became of each epoch, and how the program ended."""
    contained.bring(tmp_path, "loads_dali.py", "telling.py")

    def run(
        tars: bool, mmap: bool, happen: Callable[[], None] = lambda: None, dataset: str = "set"
    ) -> tuple[Epochs, int]:
        root = loaded.path(dataset)
        found = sorted(loaded.source.glob("*.tar" if tars else "class-*/*"))
        names = [path.relative_to(loaded.source) for path in (found if tars else found[: len(found) // BATCH * BATCH])]
        wanted = members(loaded.source) if tars else [trees.digest(loaded.source / name) for name in names]
        paths = [f"{root}/{name}" for name in names]
        until("FUSE serves", lambda: Path(paths[0]).exists(), 60)
        residency.forget(paths)
        orders = {"paths": paths, "tars": tars, "mmap": mmap, "batches": len(wanted) // BATCH}
        (tmp_path / "orders.json").write_text(json.dumps(orders))
        scripts = (f"{tmp_path}/loads_dali.py", f"{tmp_path}/orders.json")
        container = f"{NAME}-dali"
        command = contained.command(dali, container, root.parent, tmp_path, *scripts)
        epochs: Epochs = []
        batches = status = 0
        with programs.running(command, tmp_path / "said", container) as program:
            try:
                while len(epochs) < 2 and not (epochs and epochs[-1]["event"] == "whole"):
                    told = program.event("batch", "broken", "whole")
                    if told["event"] == "batch":
                        batches += 1
                        if batches == FAULT_AT:
                            happen()
                        continue
                    epochs.append(told)
                    if told["event"] == "whole":
                        assert told["digests"] == wanted
                program.finish()
            except programs.ProgramError as error:
                print(error)
                status = int(str(error).removeprefix("it ended with status ").partition(":")[0])
        assert batches > FAULT_AT
        return epochs, status

    return run


def fuse_killed() -> None:
    kill(f"{NAME}-fuse-set")


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("tars", [True, False])
def test_dali_reads_an_epoch(load: Callable[..., tuple[Epochs, int]], loaded: Loaded, tars: bool, mmap: bool) -> None:
    before = counters.snapshot(loaded.metrics, counters.SOURCES)
    (only,), status = load(tars, mmap)
    after = counters.snapshot(loaded.metrics, counters.SOURCES)
    assert (only["event"], status) == ("whole", 0)
    print(f"tars {tars}, mmap {mmap}: {after['fuse_calls'] - before['fuse_calls']:.0f} calls")


def test_a_lost_mapping_ends_the_training(load: Callable[..., tuple[Epochs, int]]) -> None:
    """DALI reads in threads of the training's own process: SIGBUS ends all of it."""
    assert load(True, True, fuse_killed) == ([], BUS_ERROR)


@pytest.mark.parametrize("tars", [True, False])
def test_without_mappings_a_lost_file_is_an_error(load: Callable[..., tuple[Epochs, int]], tars: bool) -> None:
    (first, second), status = load(tars, False, fuse_killed)
    assert (first["event"], first["kind"], status) == ("broken", "RuntimeError", 0)
    assert second["event"] == "whole", second


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("tars", [True, False])
def test_staged_files_are_not_lost(load: Callable[..., tuple[Epochs, int]], tars: bool, mmap: bool) -> None:
    (only,), status = load(tars, mmap, lambda: kill(f"{NAME}-fuse-copy"), "copy")
    assert (only["event"], status) == ("whole", 0)

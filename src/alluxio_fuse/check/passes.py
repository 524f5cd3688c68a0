"""Which files are read when: slices of the manifest's seeded order, each a pass of the reader.

A byte is read for the first time only once, so cold and worker states are measured while the caches are filled:
JVM warm-up, cold slices, load into workers, then the read-through that fills the client cache, whose first read of each
slice is the worker state. What is resident then is a prefix of the seeded order, which the check reads again and again.
The client cache of a dataset that is staged in part is for what follows the staged files: its first readers fill it,
here the warm-up passes.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict

from alluxio_fuse.check.profiles import KINDS, WAYS, Kind, heading, impossible, numbers
from alluxio_fuse.plan.intent.work import CheckBudget, Profile

Pass = dict[str, Any]
Files = tuple[Kind, int, int]  # of a kind, the first and the one after the last

COLD_SLICES = 3
FILL_SLICES = 5
WARM_UP_SHARE = 0.10  # of the small files
WARM_UP_BYTES = 128_000_000  # at most: where no cache keeps them, every node reads them from the store in each repeat
COLD_SHARE = 0.05  # of the files, in each slice
COLD_BYTES = 128_000_000  # a cold slice need not be longer to be told from noise
AGREE = 0.10  # a JVM counts as warm when two passes in a row differ by less
WARM_UP = {"agree": AGREE, "repeats": 8, "verify": False}
CACHE_FILL = 0.95  # of a client cache smaller than its dataset: the rest would be evicted while it is filled
PROBE_BYTES = 64_000_000  # of each kind, where nothing may be disturbed
PROBE_FILE_BYTES = 256_000_000  # or one file, up to this size
LEAST_STEPS = 3  # batches of each accelerator; fewer tell nothing of how well it is fed
COPY_BYTES = 512_000_000  # of small files, where the local disk has to be given a copy to be compared with


class Training(BaseModel):
    """The node's accelerators: how many, samples of a batch, seconds of computing on it, least utilisation."""

    model_config = ConfigDict(extra="forbid")

    accelerators: int
    batch: int
    compute_s: float
    utilisation: float


class CheckSettings(BaseModel):
    """How it is measured: rounds, reader processes, bytes of each kind, whether caches may be dropped.

    at_once: whether all nodes read at the same time.
    """

    model_config = ConfigDict(extra="forbid")

    passes: int
    readers: int
    bytes: int
    disruptive: bool
    profiles: list[Profile] = []
    at_once: bool = True
    training: Training | None = None
    budget: CheckBudget = CheckBudget()


def first_passes(header: Mapping[str, Any], mount: str, disruptive: bool, cold: bool = True) -> list[Pass]:
    """What is read before anything is loaded: JVM warm-up, and cold slices on the node that reads first."""
    passes = []
    for kind, name, first, last in _first_slices(header, cold):
        warm_up = WARM_UP if name == "warm-up" else {}
        state = "warm-up" if warm_up else "cold"
        # what was never read is in no page cache, and opening it to forget it would warm its name
        emptied = before(disruptive) if warm_up or disruptive else None
        passes.append(_pass(f"{name}, {kind} files", ("mount", state, mount), (kind, first, last), emptied) | warm_up)
    return passes


def fill_passes(
    header: Mapping[str, Any],
    mount: str,
    cache_bytes: int,
    disruptive: bool,
    *,
    again: bool = False,
    cold: bool = True,
) -> list[Pass]:
    """The read-through of what the client cache can hold; `again` reads what the first passes have read, too."""
    passes = []
    for kind in KINDS:
        begin = 0 if again else max((last for of, _, _, last in _first_slices(header, cold) if of == kind), default=0)
        end = resident_files(header, kind, cache_bytes)
        for number, (first, last) in enumerate(_cut(begin, end, FILL_SLICES), 1):
            name = f"{'refill' if again else 'worker'} {number}, {kind} files"
            passes.append(_pass(name, ("mount", "worker", mount), (kind, first, last), before(disruptive)))
    return passes


def rounds(header: Mapping[str, Any], dataset: Mapping[str, Any], settings: CheckSettings) -> list[Pass]:
    """The check: interleaved rounds over mount, mounts to compare with and local disk, after a JVM warm-up of each.

    The disk is the source itself where that is a folder, else a copy of the small files that are read.
    """
    passes: list[Pass] = []
    for kind in KINDS:
        end = files_to_read(header, kind, dataset, settings)
        for path, root, state, more in _targets(dataset, kind) if end else ():
            files = (kind, *_files_in(header, kind, dataset, state, end))
            if not _length(files):
                continue
            dropped = before(settings.disruptive)
            if state not in ("disk", "staged") and (kind == warm_up_kind(header) or _is_of_rest(dataset, state)):
                warm_up = _pass(f"JVM warm-up, {path}, {kind} files", (path, "warm-up", root), files, dropped)
                passes.append(warm_up | more | WARM_UP | {"round": 0})
            for number in range(1, settings.passes + 1):
                # a mount with Alluxio's own options keeps no pages from one open to the next
                kept = path in ("mount", "disk") and state == _served(dataset, path) and more.get("medium") != "memory"
                again = [("page-cache", None)] if kept else []
                for held, emptied in [(state, dropped), *again]:
                    name = f"{number}: {path}, {held}, {kind} files"
                    one = _pass(name, (path, held, root), files, emptied) | more
                    # a page-cache pass reads the very pages whose digests were compared after the pass before it
                    passes.append(one | {"round": number, "verify": path != "disk" and emptied is not None})
    passes += _other_ways(header, dataset, settings)
    sized = [one | {"bytes": _bytes_of(header, one)} for one in passes]
    return sorted(sized, key=lambda one: one["round"])


def together(header: Mapping[str, Any], dataset: Mapping[str, Any], settings: CheckSettings) -> list[Pass]:
    """What all nodes read at the same moments: a pass for each round and kind, empty where there is none to be made."""
    every = rounds(header, dataset, settings)
    made = {(one["round"], one["kind"]): one for one in every if one["path"] == "mount" and one["before"]}
    return [
        one | {"name": f"{number}: all nodes at once, {kind} files", "verify": False}
        if (one := made.get((number, kind), {}))
        else {}
        for number in range(1, settings.passes + 1)
        for kind in KINDS
    ]


def _other_ways(header: Mapping[str, Any], dataset: Mapping[str, Any], settings: CheckSettings) -> Iterator[Pass]:
    """The same files in other ways, and their names: where caches may be dropped, since that is for once."""
    for row, (kind, way, profile, *_) in WAYS.items() if settings.disruptive else ():
        end = files_to_read(header, kind, dataset, settings)
        wanted = _trainable(settings.training, end) if row == "training" else profile in (None, *settings.profiles)
        if not wanted or impossible(row, header, end):
            continue
        for path, root, state, more in _targets(dataset, kind):
            files = (kind, *_files_in(header, kind, dataset, state, end))
            if (path == "mount" and state != _served(dataset, path)) or not _length(files):
                continue
            for number in range(1, settings.passes + 1):
                for counts in numbers(row, settings.readers, _length(files)):
                    title = heading(row, counts["readers"], counts.get("held"))
                    yield (
                        _pass(f"{number}: {path}, {state}, {title}", (path, state, root), files, "drop")
                        | more
                        | {"kind": row, "select": kind, "way": way, "round": number, "verify": False, **counts}
                        | (
                            {"emulated": settings.training.model_dump()}
                            if row == "training" and settings.training
                            else {}
                        )
                    )


def _trainable(training: Training | None, files: int) -> bool:
    """Whether there are enough files, each a sample, for a few batches of every accelerator."""
    return training is not None and files >= LEAST_STEPS * training.batch * training.accelerators


def _targets(dataset: Mapping[str, Any], kind: Kind) -> Iterator[tuple[str, str, str, Pass]]:
    """Path, folder, state with an empty page cache, and what else a pass there needs."""
    yield "mount", *_of_mount(dataset)
    if stage := dataset.get("stage"):
        yield "mount", stage["path"], "staged", {"medium": stage["medium"]}
    for other in dataset.get("compare", []):
        yield other["name"], other["mount_point"], other.get("state", "worker"), {"metrics": other["metrics"]}
    if disk := dataset["folder"] or (dataset["disk_copy"] if kind == "small" else None):
        yield "disk", disk, "disk", {"source": bool(dataset["folder"])}


def _served(dataset: Mapping[str, Any], path: str) -> str:
    """The state in which readers of a path find a dataset."""
    if path != "mount":
        return path
    return "staged" if dataset.get("stage") else _of_mount(dataset)[1]


def _of_mount(dataset: Mapping[str, Any]) -> tuple[str, str, Pass]:
    direct = dataset.get("direct", False)
    state = "cold" if direct else "client-cache" if dataset["client_cache_bytes"] else "worker"
    return dataset["mount_point"], state, {"direct": True} if direct else {}


def files_to_read(header: Mapping[str, Any], kind: Kind, dataset: Mapping[str, Any], settings: CheckSettings) -> int:
    """How many files of a kind each pass of the check reads: resident ones, within the bytes that may be read."""
    limits = [settings.bytes]
    if not settings.disruptive:
        limits.append(PROBE_BYTES)
    if not dataset["folder"] and kind == "small":
        limits.append(COPY_BYTES)
    cache = 0 if dataset.get("cache_of_rest") else dataset["client_cache_bytes"]
    resident = resident_files(header, kind, cache) if cache else header[kind]["files"]
    return min(resident, _files_of(header, kind, min(limits))) if files_within(header, kind, settings) else 0


def staged_files(header: Mapping[str, Any], kind: Kind, dataset: Mapping[str, Any]) -> int:
    """How many files of a kind are staged, from the beginning of the seeded order."""
    return int(dataset.get("staged_files", {}).get(kind, header[kind]["files"]))


def _files_in(
    header: Mapping[str, Any], kind: Kind, dataset: Mapping[str, Any], state: str, end: int
) -> tuple[int, int]:
    """First and last file that passes in a state read; `end`: the last of those that all other passes read."""
    if state == "staged":
        return 0, min(end, staged_files(header, kind, dataset))
    if not _is_of_rest(dataset, state):
        return 0, end
    copied = {one: int(dataset.get("staged_files", {}).get(one, 0)) for one in KINDS}
    left = {one: header[one]["files"] - copied[one] for one in KINDS}
    rest = sum(header[one]["bytes"] * left[one] / header[one]["files"] for one in KINDS if left[one])
    cache = dataset["client_cache_bytes"]
    held = int(left[kind] * (cache * CACHE_FILL / rest if cache < rest else 1))
    return copied[kind], copied[kind] + min(end, held)


def _is_of_rest(dataset: Mapping[str, Any], state: str) -> bool:
    """Whether readers in a state find what a copy of a part does not hold."""
    return state == "client-cache" and bool(dataset.get("cache_of_rest"))


def files_within(header: Mapping[str, Any], kind: Kind, settings: CheckSettings) -> bool:
    """Whether one file of a kind is no more than may be read at a time."""
    most = settings.bytes if settings.disruptive else min(settings.bytes, PROBE_FILE_BYTES)
    return int(header[kind]["bytes"]) <= most * int(header[kind]["files"])


def warm_up_kind(header: Mapping[str, Any]) -> Kind:
    """The kind of files that the JVM is warmed by: small ones, since it is opening that takes it thousands of times."""
    return "small" if header["small"]["files"] else "large"


def first_slices(header: Mapping[str, Any], kind: str, state: str) -> int:
    """How many slices a dataset has files for that are read for the first time: `cold`, or of a `worker`."""
    cold = [last for of, name, _, last in _first_slices(header, cold=True) if of == kind and name.startswith("cold")]
    return len(cold) if state == "cold" else len(_cut(max(cold, default=0), header[kind]["files"], FILL_SLICES))


def before(disruptive: bool) -> str:
    """How a pass empties the page cache: of the whole node, or of its own files alone, which disturbs nobody else."""
    return "drop" if disruptive else "forget"


def resident_files(header: Mapping[str, Any], kind: Kind, cache_bytes: int) -> int:
    """How many files of a kind, from the beginning of the seeded order, a client cache is filled with."""
    share = min(1.0, cache_bytes * CACHE_FILL / header["bytes"]) if cache_bytes < header["bytes"] else 1.0
    return int(header[kind]["files"] * share)


def resident_bytes(header: Mapping[str, Any], cache_bytes: int) -> int:
    """About how many bytes the filled client cache holds of the dataset."""
    return sum(
        header[kind]["bytes"] * resident_files(header, kind, cache_bytes) // header[kind]["files"]
        for kind in KINDS
        if header[kind]["files"]
    )


def _first_slices(header: Mapping[str, Any], cold: bool) -> Iterator[tuple[Kind, str, int, int]]:
    """Kind, name, first and last file of the warm-up and, if wanted, of each cold slice."""
    files = header["small"]["files"]
    warm_up = min(int(files * WARM_UP_SHARE), _files_of(header, "small", WARM_UP_BYTES))
    if warm_up:
        yield "small", "warm-up", 0, warm_up
    for kind in KINDS if cold else ():
        files, at = header[kind]["files"], warm_up if kind == "small" else 0
        length = max(1, min(int(files * COLD_SHARE), _files_of(header, kind, COLD_BYTES)))
        for number in range(1, min(COLD_SLICES, (files - at) // 2) + 1):
            yield kind, f"cold {number}", at, at + length
            at += length


def _files_of(header: Mapping[str, Any], kind: Kind, limit: int) -> int:
    """Files of a kind that are about `limit` bytes together, one at least."""
    files, size = header[kind]["files"], header[kind]["bytes"]
    return files if size <= limit else max(1, int(files * limit / size))


def _bytes_of(header: Mapping[str, Any], one: Pass) -> int:
    """About how many bytes a pass reads."""
    kind = header[one.get("select") or one["kind"]]
    return int(kind["bytes"] * (one["last"] - one["first"]) / kind["files"])


def _cut(begin: int, end: int, slices: int) -> list[tuple[int, int]]:
    """[begin, end) in at most `slices` parts of equal length."""
    slices = min(slices, end - begin)
    if slices < 1:
        return []
    cuts = [begin + (end - begin) * index // slices for index in range(slices + 1)]
    return list(pairwise(cuts))


def _length(files: Files) -> int:
    _, first, last = files
    return last - first


def _pass(name: str, target: tuple[str, str, str], files: Files, before: str | None) -> Pass:
    path, state, root = target
    kind, first, last = files
    return {
        "name": name,
        "path": path,
        "state": state,
        "root": root,
        "kind": kind,
        "first": first,
        "last": last,
        "before": before,
    }

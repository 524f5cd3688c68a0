"""Reads files as a training does, and says how fast and whether the bytes are right.

Standard library only, Python 3.9 or newer, no other file needed: it runs in an Ansible module on a node, in a pod, and
by hand (python3 reader.py --help). Timed passes count bytes and do not compute digests, since that would cost the very
processors that are measured; an untimed pass follows, which compares digests of what the page cache kept of it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import random
import resource
import signal
import struct
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

MANIFEST_VERSION = 3
SHA256, MD5 = ALGORITHMS = ("sha256", "md5")
BUFFER_BYTES = 1 << 20
RECORD_BUFFER_BYTES = 256 << 10  # what TensorFlow's TFRecordDataset reads ahead by default
SPARE_FILES = 64  # that a process may have open besides those that it is to hold
MAX_PROBLEMS = 10  # of each pass, in the result
Problem = dict[str, str]


class Entry(NamedTuple):
    """A file of the manifest: path below the source, bytes, and its digest, as `digest_of` has it."""

    path: str
    size: int
    digest: str | None


class Selection(NamedTuple):
    """Files of one kind from `first` up to `last` in the seeded order (None: to the end)."""

    kind: str
    first: int
    last: int | None


class Share(NamedTuple):
    """What one process has read. Times are of the monotonic clock, in seconds; latencies in seconds per file."""

    begin: float
    end: float
    files: int
    bytes: int
    records: int
    latencies: array[float]
    first_bytes: array[float]
    problems: list[dict[str, Any]]
    cpu: float
    storage_bytes: int
    clock_step: float


def load(path: str) -> tuple[dict[str, Any], list[Entry]]:
    """Header of a manifest, and the files that a check reads."""
    rows = read_manifest(path)
    header = next(rows)
    return header, [Entry(row["path"], row["size"], digest_of(row)) for row in rows if is_read(row)]


def read_manifest(path: str) -> Iterator[dict[str, Any]]:
    """The header of a manifest, and one row after the other: JSON lines."""
    with Path(path).open(encoding="ascii") as lines:
        header = json.loads(next(lines))
        if header.get("version") != MANIFEST_VERSION:
            raise ValueError(
                f"{path} is of version {header.get('version')}, and version {MANIFEST_VERSION} is read:"
                " playbooks/nodes.yml makes it anew"
            )
        yield header
        yield from map(json.loads, lines)


def digest_of(row: dict[str, Any]) -> str | None:
    """The digest that a row of a manifest has, as `sha256:` or `md5:` and hexadecimal digits; None without one."""
    digest = row.get("digest", {})
    return f"{digest['algorithm']}:{digest['value']}" if "value" in digest else None


def algorithm_of(digest: str | None) -> str:
    """What a digest was computed by; sha256 where there is none."""
    return digest.partition(":")[0] if digest else SHA256


def wrong_digest(digest: str) -> str:
    """What is said of a file that has another one."""
    return "wrong digest" if algorithm_of(digest) == SHA256 else "wrong digest, by its ETag"


def is_read(row: dict[str, Any]) -> bool:
    """Whether an entry of a manifest is a file that a check reads."""
    return row["type"] == "file" and not row.get("left_out") and not row.get("unreadable")


def seed_of(header: dict[str, Any]) -> int:
    """The seed of a manifest: in its order files are measured, cached and staged."""
    seed: int = header["digested"]["seed"]
    return seed


def select(header: dict[str, Any], entries: list[Entry], selection: Selection) -> list[Entry]:
    """The selected files, in an order that depends on the manifest's seed and on paths alone: slices are disjoint."""
    limit, seed = header["large_bytes"], seed_of(header)
    kept = [entry for entry in entries if (entry.size >= limit) == (selection.kind == "large")]
    kept.sort(key=lambda entry: hashlib.blake2b(f"{seed}/{entry.path}".encode("utf-8", "surrogateescape")).digest())
    return kept[selection.first : selection.last]


def shuffled(entries: list[Entry], seed: str) -> list[Entry]:
    """A training's epoch: all files in a random order."""
    order = list(entries)
    random.Random(seed).shuffle(order)
    return order


def timed(root: str, entries: list[Entry], readers: int, way: str = "read", held: int = 0) -> dict[str, Any]:
    """Figures and problems of going over every file in `readers` processes, each begun when all are ready.

    Ways: `read` from open to end to close, `records` the same record by record, `stat`, and `list` of their folders;
    `hold` reads while so many files as `held` stay open, or as many as the limit of open files allows.
    """
    held = min(held, (_most_open() - SPARE_FILES) * readers) if held else 0
    ways = {"records": _read_records, "stat": _stat, "list": _lister(root, entries), "hold": _holder(held // readers)}
    work = ways.get(way, _read_file)
    reads, wanted, unit = way in ("read", "records", "hold"), entries, "names" if way == "list" else "bytes"
    if way == "list":
        entries = _folders(entries)
    # as many processes as divide the files evenly: an odd file at the end would be measured alone
    readers = max(1, -(-len(entries) // max(1, -(-len(entries) // readers))))
    busy = busy_seconds()
    shares = fork_map(lambda share: read_share(root, share, work, unit), [entries[i::readers] for i in range(readers)])
    busy = busy_seconds() - busy
    found = figures(shares, wanted, busy)
    if not reads:
        names = sum(share.bytes for share in shares) if way == "list" else found["files"]
        found |= {"files": names, "files_per_s": names / found["seconds"], "cpu_s_per_gb": None}
        found |= {"bytes": 0, "expected_bytes": 0, "mb_per_s": 0.0}
    return found | {"readers": readers, **({"held": held} if way == "hold" else {})}


def figures(shares: list[Share], wanted: list[Entry], busy: float) -> dict[str, Any]:
    """What several shares come to together; `busy` seconds of the node's processors went by."""
    seconds = max(share.end for share in shares) - min(share.begin for share in shares)
    read = sum(share.bytes for share in shares)
    files = sum(share.files for share in shares)
    problems = [problem for share in shares for problem in share.problems]
    latencies = sorted(value for share in shares for value in share.latencies)
    return {
        "expected_files": len(wanted),
        "expected_bytes": sum(entry.size for entry in wanted),
        "files": files,
        "bytes": read,
        "records": sum(share.records for share in shares),
        "seconds": seconds,
        "files_per_s": files / seconds,
        "mb_per_s": read / seconds / 1e6,
        "p50_ms": _percentile(latencies, 0.50) * 1e3,
        "p99_ms": _percentile(latencies, 0.99) * 1e3,
        "first_byte_ms": _percentile(sorted(v for share in shares for v in share.first_bytes), 0.50) * 1e3,
        "latency_ms": _histogram(latencies),
        "clock_step_s": max((share.clock_step for share in shares), key=abs),
        "reader_cpu_s": sum(share.cpu for share in shares),
        "cpu_s_per_gb": busy / read * 1e9 if read else None,
        "load": os.getloadavg()[0],
        "storage_bytes": sum(share.storage_bytes for share in shares),
        "wrong": len(problems),
        "problems": problems[:MAX_PROBLEMS],
    }


def _folders(entries: list[Entry]) -> list[Entry]:
    """The folders of some files, each with how many of them it holds in place of a size."""
    held: dict[str, int] = {}
    for entry in entries:
        folder = entry.path.rpartition("/")[0]
        held[folder] = held.get(folder, 0) + 1
    return [Entry(folder, count, None) for folder, count in held.items()]


def verify(root: str, entries: list[Entry], readers: int) -> dict[str, Any]:
    """Compares size and digest of every file with the manifest, untimed."""
    shares = fork_map(lambda share: _verify_share(root, share), [entries[i::readers] for i in range(readers)])
    problems = [problem for share in shares for problem in share]
    return {
        "compared": len(entries),
        "digested": sum(entry.digest is not None for entry in entries),
        "wrong": len(problems),
        "problems": problems[:MAX_PROBLEMS],
    }


def fork_map(work: Callable[[list[Any]], Any], shares: list[list[Any]]) -> list[Any]:
    """work(share) of each share in a process of its own, all begun together when all are ready."""
    gate, opener = os.pipe()
    pipes, children = [], []
    for share in shares:
        result, answer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(opener)
            os._exit(_child(work, share, gate, answer))
        os.close(answer)
        pipes.append(result)
        children.append(child)
    try:
        ready = [os.read(pipe, 1) for pipe in pipes]
        os.close(gate)
        os.close(opener)
        answers = []
        for pipe in pipes:
            with os.fdopen(pipe, "rb") as stream:
                answers.append(stream.read())
    except BaseException:  # somebody has given up waiting: nobody goes on reading
        for child in children:
            os.kill(child, signal.SIGKILL)
        raise
    finally:
        for child in children:
            os.waitpid(child, 0)
    if b"" in answers or b"" in ready:
        raise RuntimeError("a reader process died (out of memory?)")
    outcomes = [pickle.loads(answer) for answer in answers]  # noqa: S301 (our own children's)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return outcomes


def _child(work: Callable[[list[Any]], Any], share: list[Any], gate: int, answer: int) -> int:
    with os.fdopen(answer, "wb") as stream:
        stream.write(b"r")
        stream.flush()
        os.read(gate, 1)
        try:
            outcome = work(share)
        except Exception as error:  # any failure belongs to the parent
            outcome = error
        pickle.dump(outcome, stream)
    return 0


def read_share(root: str, entries: list[Entry], work: Callable[..., Any] | None = None, unit: str = "bytes") -> Share:
    """One process's files, one after the other; what `work` (None: read it) counts is compared with each one's size."""
    work = work or _read_file
    buffers = [bytearray(BUFFER_BYTES)]
    latencies, first_bytes = array("d"), array("d")
    problems: list[Problem] = []
    files = total = count = 0
    storage, usage, begin = _storage_bytes(), _cpu(), time.perf_counter()
    clock = time.time()
    for entry in entries:
        opened = time.perf_counter()
        try:
            size, first, records = work(f"{root}/{entry.path}", buffers)
        except OSError as error:
            problems.append({"path": entry.path, "what": error.strerror or str(error)})
            continue
        except ValueError as error:
            problems.append({"path": entry.path, "what": str(error)})
            continue
        latencies.append(time.perf_counter() - opened)
        first_bytes.append(first - opened)
        files, total, count = files + 1, total + size, count + records
        if size != entry.size:
            problems.append({"path": entry.path, "what": f"{size} of {entry.size} {unit}"})
    end = time.perf_counter()
    step = time.time() - clock - (end - begin)
    cpu, storage = _cpu() - usage, _storage_bytes() - storage
    return Share(begin, end, files, total, count, latencies, first_bytes, problems, cpu, storage, step)


def _read_file(path: str, buffers: list[bytearray]) -> tuple[int, float, int]:
    """Bytes, time of the first byte, records (none)."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size, first = _read_to_end(fd, buffers)
    finally:
        os.close(fd)
    return size, first, 0


def _read_to_end(fd: int, buffers: list[bytearray]) -> tuple[int, float]:
    """Bytes, time of the first byte."""
    size = length = os.readv(fd, buffers)
    first = time.perf_counter()
    while length:
        length = os.readv(fd, buffers)
        size += length
    return size, first


def _read_records(path: str, _buffers: list[bytearray]) -> tuple[int, float, int]:
    """The same, record by record as a TFRecord reader does; a ValueError where the framing ends early."""
    size = count = 0
    with open(path, "rb", buffering=RECORD_BUFFER_BYTES) as stream:  # noqa: PTH123 (the buffer is the point)
        head = stream.read(12)
        first = time.perf_counter()
        while head:
            length = struct.unpack("<Q", head[:8])[0] if len(head) == 12 else 0
            if len(head) < 12 or len(stream.read(length + 4)) != length + 4:
                raise ValueError(f"the record at byte {size} is cut short")
            size, count, head = size + 16 + length, count + 1, stream.read(12)
    return size, first, count


def _holder(held: int) -> Callable[..., tuple[int, float, int]]:
    """Reads a file and leaves it open; the one that was opened `held` files before is closed then."""
    opened: deque[int] = deque()

    def work(path: str, buffers: list[bytearray]) -> tuple[int, float, int]:
        opened.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        size, first = _read_to_end(opened[-1], buffers)
        if len(opened) > held:
            os.close(opened.popleft())
        return size, first, 0

    return work


def _most_open() -> int:
    """Files that each process of ours may have open, when the limit is raised to where it may be raised to."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def _stat(path: str, _buffers: list[bytearray]) -> tuple[int, float, int]:
    """What the file system says of a file's size."""
    return os.stat(path).st_size, time.perf_counter(), 0  # noqa: PTH116 (a Path for each would be measured, too)


def _lister(root: str, entries: list[Entry]) -> Callable[..., tuple[int, float, int]]:
    """Lists a folder and counts which of the files it names."""
    known: dict[str, set[str]] = {}
    for entry in entries:
        folder, _, name = entry.path.rpartition("/")
        known.setdefault(f"{root}/{folder}", set()).add(name)

    def work(path: str, _buffers: list[bytearray]) -> tuple[int, float, int]:
        with os.scandir(path) as found:
            return len(known[path].intersection(item.name for item in found)), time.perf_counter(), 0

    return work


def _verify_share(root: str, entries: list[Entry]) -> list[Problem]:
    buffer = bytearray(BUFFER_BYTES)
    view = memoryview(buffer)
    problems: list[Problem] = []
    for entry in entries:
        try:
            size, digest = file_digest(f"{root}/{entry.path}", view, entry.digest)
        except OSError as error:
            problems.append({"path": entry.path, "what": error.strerror or str(error)})
            continue
        if size != entry.size:
            problems.append({"path": entry.path, "what": f"{size} of {entry.size} bytes"})
        elif entry.digest not in (None, digest):
            problems.append({"path": entry.path, "what": wrong_digest(entry.digest)})
    return problems


def file_digest(path: str, view: memoryview, like: str | None = None) -> tuple[int, str]:
    """Size and digest of a file, read through the buffer `view`; by the algorithm of the digest `like`, else sha256."""
    digest, size = hashlib.new(algorithm_of(like), usedforsecurity=False), 0
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while length := os.readv(fd, [view]):
            digest.update(view[:length])
            size += length
    finally:
        os.close(fd)
    return size, f"{digest.name}:{digest.hexdigest()}"


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _storage_bytes() -> int:
    """Bytes that this process has fetched from block devices."""
    try:
        fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    except OSError:  # a hardened kernel without task accounting
        return 0
    return int(fields["read_bytes"])


def busy_seconds() -> float:
    """Processor seconds of the whole node spent on anything, so the FUSE process and the worker count."""
    ticks = [int(value) for value in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    idle, waiting, stolen = ticks[3], ticks[4], ticks[7]
    return (sum(ticks[:8]) - idle - waiting - stolen) / os.sysconf("SC_CLK_TCK")


def _percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _histogram(seconds: list[float]) -> list[list[float]]:
    """Pairs of upper bound in milliseconds (steps of a quarter octave) and number of files, empty steps left out."""
    counts: dict[float, int] = {}
    for value in seconds:
        bound = 0.01
        while bound < value * 1e3:
            bound *= 2**0.25
        counts[bound] = counts.get(bound, 0) + 1
    return [[round(bound, 5), counts[bound]] for bound in sorted(counts)]


def main() -> None:
    """By hand or in a pod: prints one JSON object; exit status 1 when a byte is wrong."""
    parser = argparse.ArgumentParser(description="Read the files of a manifest below ROOT, timed, then compare them.")
    parser.add_argument("manifest", help="JSON lines made by dataset_manifest")
    parser.add_argument("root", help="mount point or any directory that should hold the dataset")
    parser.add_argument("--kind", choices=["small", "large"], default="small")
    parser.add_argument("--readers", type=int, default=4, help="processes (4)")
    parser.add_argument(
        "--way",
        choices=["read", "records", "stat", "list"],
        default="read",
        help="read files (default), read them record by record as TFRecord, ask for their sizes, list their folders",
    )
    parser.add_argument("--held", type=int, default=0, help="files to hold open while others are read (0)")
    parser.add_argument("--seed", type=int, help="of the order in which they are read (that of the manifest)")
    parser.add_argument("--first", type=int, default=0, help="first file of the seeded order (0)")
    parser.add_argument("--last", type=int, help="file after the last one (to the end)")
    parser.add_argument("--no-verify", action="store_true", help="skip the digests: then no figure proves anything")
    args = parser.parse_args()
    header, entries = load(args.manifest)
    files = select(header, entries, Selection(args.kind, args.first, args.last))
    if not files:
        parser.error(f"the manifest has no {args.kind} file there")
    way = "hold" if args.held else args.way
    seed = seed_of(header) if args.seed is None else args.seed
    result = timed(args.root, shuffled(files, f"{seed}"), args.readers, way, args.held)
    if not args.no_verify:
        result["verified"] = verify(args.root, files, args.readers)
    json.dump(result, sys.stdout, indent=1)
    sys.exit(bool(result["wrong"] or result.get("verified", {}).get("wrong")))


if __name__ == "__main__":
    main()

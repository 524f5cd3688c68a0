"""Large files read by fio: an explicit list of files, and every byte of them accounted for.

fio reads whole blocks alone and still ends well: of a file that is not a multiple of the block size it leaves the end
out. So each file is a job for its whole blocks and one for the rest, one after the other, and what fio says that it has
read is compared with the sizes of the manifest.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils.reader import Entry, busy_seconds


class Pattern(NamedTuple):
    """How files are read. block: what is no multiple of it is left for a job of its own. settings: of fio."""

    block: int
    settings: dict[str, str]


BLOCK_BYTES = 1 << 20
PATTERNS = {
    "fio": Pattern(BLOCK_BYTES, {"bs": str(BLOCK_BYTES)}),
    # the sizes in which training on ImageNet reads, in per cent, at random places, each byte once
    "mix": Pattern(2048, {"bssplit": "2K/1:4K/2:8K/4:16K/8:32K/13:64K/38:128K/33:256K/1", "rw": "randread"}),
    # sequences of 2048 to 32768 tokens of two bytes
    "tokens": Pattern(4096, {"bssplit": "4K/20:8K/20:16K/20:32K/20:64K/20", "rw": "randread"}),
    # as safetensors reads weights
    "mapped": Pattern(BLOCK_BYTES, {"bs": str(BLOCK_BYTES), "ioengine": "mmap"}),
}
TIMEOUT_S = 1800
COMMON = {"rw": "read", "ioengine": "psync", "invalidate": "0", "thread": "1"}


def timed(root: str, entries: list[Entry], readers: int, pattern: str = "fio") -> dict[str, Any]:
    """The same figures as reader.timed gives; latencies are of blocks, not of files. pattern: one of `PATTERNS`."""
    jobs = list(_jobs(root, entries, readers, PATTERNS[pattern]))
    command = ["fio", "--readonly", "--output-format=json"]
    for chain, number, fields in jobs:
        waits = {"wait_for": f"{chain}.{number - 1}"} if number else {}
        command += [
            f"--{name}={value}" for name, value in {"name": f"{chain}.{number}", **COMMON, **fields, **waits}.items()
        ]
    busy, blocks = busy_seconds(), _blocks()
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    busy, blocks = busy_seconds() - busy, _blocks() - blocks
    try:
        answer = json.loads(done.stdout[done.stdout.index("{") :])
    except ValueError:
        raise OSError(f"fio ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}") from None
    return _figures(answer, entries, min(readers, len(entries)), busy) | {"storage_bytes": blocks * 512}


def _jobs(root: str, entries: list[Entry], readers: int, pattern: Pattern) -> Any:
    """Chain, number in it, settings: each reader's files one after the other, whole blocks before the rest."""
    block, how = pattern
    for chain in range(min(readers, len(entries))):
        number = 0
        for entry in entries[chain::readers]:
            whole = entry.size - entry.size % block
            name = f"{root}/{entry.path}".replace(":", "\\:")
            rest = entry.size - whole
            for offset, size, blocks in ((0, whole, how), (whole, rest, {"bs": rest})):
                if size:
                    yield chain, number, {"filename": name, "offset": offset, "size": size, **blocks}
                    number += 1


def _figures(answer: dict[str, Any], entries: list[Entry], readers: int, busy: float) -> dict[str, Any]:
    chains: dict[str, float] = {}
    for job in answer["jobs"]:
        chain = job["jobname"].partition(".")[0]
        chains[chain] = chains.get(chain, 0.0) + job["read"]["runtime"] / 1e3
    read = sum(job["read"]["io_bytes"] for job in answer["jobs"])
    expected = sum(entry.size for entry in entries)
    failed = [job["jobname"] for job in answer["jobs"] if job["error"]]
    seconds = max([1e-3, *chains.values()])
    slowest = [job["read"]["clat_ns"]["percentile"] for job in answer["jobs"] if "percentile" in job["read"]["clat_ns"]]
    problems = [{"path": "fio", "what": f"job {name} failed"} for name in failed]
    if read != expected:
        problems.append({"path": "fio", "what": f"{read} of {expected} bytes"})
    return {
        "readers": readers,
        "expected_files": len(entries),
        "expected_bytes": expected,
        "files": len(entries),
        "bytes": read,
        "records": 0,
        "seconds": seconds,
        "files_per_s": len(entries) / seconds,
        "mb_per_s": read / seconds / 1e6,
        "p50_ms": _worst(slowest, "50.000000"),
        "p99_ms": _worst(slowest, "99.000000"),
        "first_byte_ms": 0.0,
        "latency_ms": [],
        "clock_step_s": 0.0,
        "reader_cpu_s": sum(job["usr_cpu"] + job["sys_cpu"] for job in answer["jobs"]) / 100 * seconds,
        "cpu_s_per_gb": busy / read * 1e9 if read else None,
        "load": os.getloadavg()[0],
        "wrong": len(problems),
        "problems": problems,
    }


def _blocks() -> int:
    """Blocks of 512 bytes that fio has fetched from block devices."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock


def _worst(percentiles: list[dict[str, int]], name: str) -> float:
    return max((found.get(name, 0) for found in percentiles), default=0) / 1e6

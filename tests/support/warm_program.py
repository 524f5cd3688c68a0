"""A stand-in for the image's program `alluxio.image.Warm`, where no Alluxio runs: `warm_program.py FOLDER … VERB 8 0`.

It speaks that program's lines. In FOLDER, `store` has files as the under store has them, `workers` those that workers
hold. `away` there says that the store does not answer, `room` how many bytes workers hold, `slow` the seconds that a
file takes. Every read of the store is a line of `reads`: one for a file that several ask for at once.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import sys
import time
from pathlib import Path
from urllib.parse import unquote

DIGESTS = {"SHA-256": "sha256", "MD5": "md5"}  # by their names in Java


def main() -> None:
    """One line out for each line in."""
    folder, verb = Path(sys.argv[1]), sys.argv[-3]
    for line in sys.stdin:
        number, size, algorithm, path = line.rstrip("\n").split("\t")
        name = unquote(path, errors="surrogateescape").strip("/")
        print(number, *_one(folder, verb, int(size), algorithm, name), sep="\t", flush=True)


def _one(folder: Path, verb: str, size: int, algorithm: str, name: str) -> tuple[str, ...]:
    stored = folder / "store" / name
    slow = folder / "slow"
    if slow.exists():
        time.sleep(float(slow.read_text()))
    if not stored.exists():
        return "failed", f'Path "/{name}" does not exist.'
    if stored.stat().st_size != size:
        return "failed", f"it has {stored.stat().st_size} bytes, and the manifest says {size}"
    return _in_workers(folder, verb, size, algorithm, name)


def _in_workers(folder: Path, verb: str, size: int, algorithm: str, name: str) -> tuple[str, ...]:
    held = folder / "workers" / name
    if verb == "free":
        held.unlink(missing_ok=True)
        return "ok", str(size), ""
    if verb == "compare":
        if not held.exists():
            return "failed", f"workers hold 0 of {size} bytes"
        digest = hashlib.new(DIGESTS[algorithm], held.read_bytes())
        return "ok", str(size), digest.hexdigest()
    with (folder / "reads").open("a") as reads:
        fcntl.flock(reads, fcntl.LOCK_EX)
        if held.exists():
            return "ok", "0", ""
        if (folder / "away").exists():
            return "failed", "the store does not answer"
        reads.write(name + "\n")
        _give_up(folder, size)
        held.parent.mkdir(parents=True, exist_ok=True)
        part = held.with_name(f".{held.name}.part")
        shutil.copyfile(folder / "store" / name, part)
        part.replace(held)
    return "ok", str(size), ""


def _give_up(folder: Path, size: int) -> None:
    """What was loaded longest ago makes room."""
    room = folder / "room"
    if room.exists():
        held = sorted(
            (one for one in (folder / "workers").rglob("*") if one.is_file()), key=lambda one: one.stat().st_mtime_ns
        )
        while held and sum(one.stat().st_size for one in held) + size > int(room.read_text()):
            held.pop(0).unlink()


if __name__ == "__main__":
    main()

"""A stand-in for the image's program `alluxio.image.Warm`, where no Alluxio runs: `warm_program.py FOLDER … VERB 8 0`.

It speaks that program's lines. In FOLDER, `store` has files as the under store has them, `workers` those that workers
hold. `away` there says that the store does not answer. Every read of the store is a line of `reads`.
"""

from __future__ import annotations

import hashlib
import os
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
    if held.exists():
        return "ok", "0", ""
    if (folder / "away").exists():
        return "failed", "the store does not answer"
    with (folder / "reads").open("a") as reads:
        reads.write(name + "\n")
    held.parent.mkdir(parents=True, exist_ok=True)
    part = held.with_name(f".{held.name}.{os.getpid()}")
    shutil.copyfile(folder / "store" / name, part)
    part.replace(held)
    return "ok", str(size), ""


if __name__ == "__main__":
    main()

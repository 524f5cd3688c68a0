#!/usr/bin/env python3
"""A reader as training has them: every file of a tree in a new order each epoch, its digest compared, until killed.

usage: reading.py ROOT DIGESTS SEED [PAUSE]      DIGESTS: JSON {path: sha256}; PAUSE: seconds after each file

Prints a line for each read, `begun ended outcome bytes path` (times in seconds of the epoch); the outcome is ok, wrong,
or the name of an errno.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path


def read(path: Path, digest: str) -> tuple[str, int]:
    """What a read came to, and its bytes; its pages are given back, so that the next one asks the mount again."""
    try:
        with path.open("rb") as stream:
            content = stream.read()
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        time.sleep(0.05)
        return errno.errorcode.get(error.errno or 0, "unknown"), 0
    return "ok" if hashlib.sha256(content).hexdigest() == digest else "wrong", len(content)


def main(root: str, digests: str, seed: str, pause: str = "0") -> None:
    """Read until killed."""
    known = json.loads(Path(digests).read_text())
    order, names = random.Random(int(seed)), sorted(known)
    while True:
        order.shuffle(names)
        for name in names:
            begun = time.time()
            outcome, size = read(Path(root, name), known[name])
            print(f"{begun:.3f} {time.time():.3f} {outcome} {size} {name}", flush=True)
            time.sleep(float(pause))


if __name__ == "__main__":
    main(*sys.argv[1:])

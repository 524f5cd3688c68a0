"""A PyTorch DataLoader that reads a dataset until an epoch is whole, and tells what became of each epoch.

usage: loads.py ORDERS      ORDERS: a JSON file {root, pieces: [[path, place, size]], read, patient, persistent}
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from patient import Patient
from telling import STEP_S, tell, until_back
from torch.utils.data import DataLoader, Dataset


class Pieces(Dataset):
    """Pieces of files: path, place and size. `read` says how one is read; a process keeps its own files open."""

    def __init__(self, root: str, pieces: list[tuple[str, int, int]], read: str) -> None:
        self._root, self._pieces, self._kept = root, pieces, {}
        self._failed = 0
        self._read = getattr(self, read)

    def __len__(self) -> int:
        return len(self._pieces)

    def __getitem__(self, number: int) -> tuple[str, bytes, int, int]:
        """Path, bytes, how often this process has failed to read so far, and its number."""
        path, place, size = self._pieces[number]
        try:
            return path, self._read(f"{self._root}/{path}", place, size), self._failed, os.getpid()
        except OSError:
            self._failed += 1
            raise

    def opens(self, path: str, place: int, size: int) -> bytes:
        with Path(path).open("rb") as file:
            file.seek(place)
            return file.read(size)

    def keeps(self, path: str, place: int, size: int) -> bytes:
        if path not in self._kept:
            self._kept[path] = Path(path).open("rb")  # noqa: SIM115 - kept open
        self._kept[path].seek(place)
        return self._kept[path].read(size)

    def maps(self, path: str, place: int, size: int) -> bytes:
        if path not in self._kept:
            with Path(path).open("rb") as file:
                self._kept[path] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._kept[path][place : place + size]

    def forget(self) -> None:
        for file in self._kept.values():
            with suppress(OSError):  # of a mount that is gone
                file.close()
        self._kept.clear()


def epoch(loader: Any) -> None:
    """Read all pieces, in order, and tell the digest of each file."""
    found: dict[str, Any] = {}
    failed = 0
    for batch in loader:
        for path, data, failures, _ in batch:
            found.setdefault(path, hashlib.sha256()).update(data)
            failed = max(failed, failures)
        tell("batch", processes=[batch[0][-1]])
        time.sleep(STEP_S)
    tell("whole", failed=failed, at=time.time(), digests={path: digest.hexdigest() for path, digest in found.items()})


def main() -> None:
    orders = json.loads(Path(sys.argv[1]).read_text())
    samples: Any = Pieces(orders["root"], orders["pieces"], orders["read"])
    if orders["patient"]:
        samples = Patient(samples)
    workers = {"num_workers": 2, "persistent_workers": orders["persistent"]}
    loader = DataLoader(samples, batch_size=4, collate_fn=list, **workers)
    for _ in range(2):
        try:
            epoch(loader)
            return
        except Exception as error:
            tell("broken", kind=type(error).__name__, errno=getattr(error, "errno", None), text=str(error))
        until_back(f"{orders['root']}/{orders['pieces'][0][0]}")


main()

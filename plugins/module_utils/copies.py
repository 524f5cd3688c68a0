"""Copies of files of a dataset on the local disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils import reader


def make(root: str, files: Iterable[reader.Entry], folder: Path) -> None:
    """Copy files below `root` to a folder that is made anew; what is written is on the medium afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    for entry in files:
        copy = folder / entry.path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(f"{root}/{entry.path}", copy)
    os.sync()  # reading them asks the device, and not what waits to be written

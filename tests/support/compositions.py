"""Ways in which bytes on a node's own media become what a consumer reads, as real mounts of small files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE = "train/file"
WAYS = ("tmpfs", "bind of memory", "bind of a disk", "merged overlay", "data-only overlay")


@contextmanager
def composition(way: str, folder: Path) -> Iterator[Path]:
    """A folder that holds FILE and is mounted in one of WAYS; below `folder`, which is on a disk."""
    point, media = folder / "data", folder / "media"
    for made in (point, media):
        made.mkdir()
    if way != "bind of a disk":
        _run("mount", "-t", "tmpfs", "media", str(media))
    try:
        for layer in ("meta", "stage", "neighbour"):
            (media / layer / "train").mkdir(parents=True)
            (media / layer / FILE).write_bytes(b"x" * 4096)
        _mount(way, media, point)
        yield point
    finally:
        _run("umount", "--lazy", "--quiet", str(point), check=False)
        if way != "bind of a disk":
            _run("umount", "--lazy", str(media))


def _mount(way: str, media: Path, point: Path) -> None:
    match way:
        case "tmpfs":
            _run("mount", "-t", "tmpfs", "stage", str(point))
            (point / "train").mkdir()
            (point / FILE).write_bytes(b"x" * 4096)
        case "merged overlay":
            layers = f"{media / 'stage'}:{media / 'neighbour'}"
            _run("mount", "-t", "overlay", "-o", f"ro,lowerdir={layers}", "stage", str(point))
        case "data-only overlay":
            entry = media / "meta" / FILE
            os.setxattr(entry, "trusted.overlay.redirect", f"/{FILE}".encode())
            os.setxattr(entry, "trusted.overlay.metacopy", b"")
            layers = f"{media / 'meta'}::{media / 'stage'}"
            _run("mount", "-t", "overlay", "-o", f"ro,metacopy=on,lowerdir={layers}", "stage", str(point))
        case _:
            _run("mount", "--bind", str(media / "stage"), str(point))


def _run(*command: str, check: bool = True) -> None:
    subprocess.run(command, check=check, capture_output=True)

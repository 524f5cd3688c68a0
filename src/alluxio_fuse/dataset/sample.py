"""The sample dataset: JPEGs of ImageNet's sizes in class folders, and TFRecord shards of them.

The same shape and seed give the same bytes. A marker written last says that the folder is complete; one written first
says which sample is being made, so that an interrupted run is continued and another sample's leftovers are not kept.
"""

import json
import multiprocessing
import os
import random
import shutil
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from alluxio_fuse.dataset import jpeg, tfrecord

VERSION = 1
DONE = ".sample.json"
BEGUN = ".sample-begun.json"
MEAN_IMAGE_BYTES = 114_660  # ImageNet as MLPerf Storage describes it
_SIGMA = 0.45  # spread of the logarithm of ImageNet's file sizes
_LARGEST = 10 * MEAN_IMAGE_BYTES
_IMAGES_PER_CLASS = 100


class ForeignFolderError(Exception):
    """The folder holds something that this generator has not made."""


@dataclass(frozen=True)
class Shape:
    """What is made: `images` files of 114,660 bytes in the mean and `shards` files of about `shard_bytes`."""

    images: int = 4000
    shards: int = 6
    shard_bytes: int = 128_000_000
    seed: int = 2012

    @property
    def classes(self) -> int:
        """Number of class folders."""
        return max(1, self.images // _IMAGES_PER_CLASS)

    def label(self, index: int) -> int:
        """Class of image `index`, counted from 1."""
        return index % self.classes + 1

    def image_path(self, index: int) -> str:
        """Path of image `index` below the sample's folder."""
        name = f"n{self.label(index):08d}"
        return f"train/{name}/{name}_{index // self.classes:05d}.JPEG"

    def shard_path(self, index: int) -> str:
        """Path of shard `index` below the sample's folder."""
        return f"tfrecord/train-{index:05d}-of-{self.shards:05d}"

    def image_sizes(self) -> list[int]:
        """Bytes of each image: log-normal, with exactly ImageNet's mean over the whole set."""
        draw = random.Random(f"{self.seed}/sizes")
        wanted = [draw.lognormvariate(0, _SIGMA) for _ in range(self.images)]
        scale = self.images * MEAN_IMAGE_BYTES / sum(wanted)
        sizes = [min(_LARGEST, max(jpeg.SMALLEST, int(size * scale))) for size in wanted]
        rest = self.images * MEAN_IMAGE_BYTES - sum(sizes)
        share, odd = divmod(rest, self.images)
        return [size + share + (index < odd) for index, size in enumerate(sizes)]

    def describe(self) -> dict[str, int]:
        """What the markers say."""
        return {"version": VERSION, **asdict(self)}


def is_complete(folder: Path, shape: Shape) -> bool:
    """Whether the folder holds this very sample: the marker alone is not enough, a file may have been removed."""
    if _read(folder / DONE) != shape.describe():
        return False
    images = zip(range(shape.images), shape.image_sizes(), strict=True)
    return all(_has_size(folder / shape.image_path(index), size) for index, size in images) and all(
        (folder / shape.shard_path(index)).exists() for index in range(shape.shards)
    )


def make(folder: Path, shape: Shape, processes: int = os.cpu_count() or 1) -> None:
    """Makes what is missing of the sample; raises ForeignFolderError before touching a folder of somebody else."""
    _begin(folder, shape)
    for parent in {Path(path).parent for path in _paths(shape)}:
        (folder / parent).mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("fork")) as pool:
        _drain(pool.map(partial(_make_image, folder, shape), range(shape.images), shape.image_sizes(), chunksize=16))
        _drain(pool.map(partial(_make_shard, folder, shape), range(shape.shards)))
    (folder / BEGUN).replace(folder / DONE)


def _begin(folder: Path, shape: Shape) -> None:
    done, begun = _read(folder / DONE), _read(folder / BEGUN)
    if folder.exists() and any(folder.iterdir()) and done is None and begun is None:
        raise ForeignFolderError(f"{folder} is not empty and holds no generated sample")
    folder.mkdir(parents=True, exist_ok=True)
    if shape.describe() not in (begun, done):
        for made in ("train", "tfrecord"):
            shutil.rmtree(folder / made, ignore_errors=True)
    (folder / DONE).unlink(missing_ok=True)
    _write(folder / BEGUN, json.dumps(shape.describe()).encode())


def _paths(shape: Shape) -> list[str]:
    return [shape.image_path(i) for i in range(shape.images)] + [shape.shard_path(i) for i in range(shape.shards)]


def _make_image(folder: Path, shape: Shape, index: int, size: int) -> None:
    path = folder / shape.image_path(index)
    if not _has_size(path, size):
        _write(path, jpeg.encode(size, f"{shape.seed}/image/{index}"))


def _make_shard(folder: Path, shape: Shape, index: int) -> None:
    path = folder / shape.shard_path(index)
    if path.exists():
        return
    order = random.Random(f"{shape.seed}/shard/{index}")
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as out:
        while out.tell() < shape.shard_bytes:
            image = order.randrange(shape.images)
            encoded = (folder / shape.image_path(image)).read_bytes()
            out.write(tfrecord.frame(tfrecord.example(encoded, shape.label(image))))
    temporary.replace(path)


def _has_size(path: Path, size: int) -> bool:
    return path.exists() and path.stat().st_size == size


def _drain(results: Iterable[None]) -> None:
    """Waits for all results, so that the first error is raised here."""
    for _ in results:
        pass


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, json.JSONDecodeError):
        return None

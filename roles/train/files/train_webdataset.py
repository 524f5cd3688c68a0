"""ImageNet's usual training with PyTorch, as train_pytorch.py has it, on WebDataset's tar shards.

Each loader reads whole shards from their first byte to their last. What WebDataset reads of one passes through a hash.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import torch
import webdataset
from harness import MEBIBYTE, Harness, Orders, asked, named, order, seed_of
from PIL import Image
from torch.utils.data import DataLoader, IterableDataset
from train_pytorch import batches, change, made_up, prepared, steps
from webdataset import gopen, tariterators

IMAGES = ("jpg", "jpeg", "png", "ppm", "webp")
LABEL = "cls"
Ended = list[tuple[str, str, int, int, int]]  # of each shard what Epoch.saw takes


class Shard:
    """WebDataset's own stream of a shard; what is read of it is hashed."""

    def __init__(self, path: str, digest: Any) -> None:
        self._path, self._before = path, asked()
        self._stream, self._digest, self._size = gopen(path), digest, 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        try:
            data: bytes = self._stream.read(size)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from error
        self._digest.update(data)
        self._size += len(data)
        return data

    def end(self) -> tuple[str, int, int, int]:
        """Read what is left, behind the last file or behind a damaged place: digest, size, calls, storage_bytes."""
        while self.read(MEBIBYTE):
            pass
        self._stream.close()
        calls, storage_bytes = asked()
        return named(self._digest), self._size, calls - self._before[0], storage_bytes - self._before[1]


class Proven(IterableDataset):
    """Batches of images from this loader's shards, with the shards that ended meanwhile, and what could not be used."""

    def __init__(self, orders: Orders, epoch: int) -> None:
        self._orders, self._epoch, self._change = orders, epoch, change(orders)
        self._opened, self._ended, self._bad = "", Ended(), ""

    def __iter__(self) -> Iterator[tuple[Any, Any, Ended, str]]:
        numbers = order(len(self._orders.files), self._orders.seed, self._epoch)
        shards = [{"url": self._orders.files[number]} for number in numbers]
        samples = webdataset.DataPipeline(
            lambda: iter(shards),
            webdataset.split_by_worker,
            self._streams,
            partial(tariterators.tar_file_expander, handler=self._cannot_use),
            tariterators.group_by_keys,
        )
        batch: list[tuple[Any, int]] = []
        for sample in samples:
            try:
                batch.append(self._image(sample))
            except (OSError, ValueError) as error:
                self._cannot_use(error, sample["__key__"])
            if len(batch) == self._orders.batch:
                yield self._made(batch)
                batch = []
        yield self._made(batch)

    def _streams(self, shards: Iterable[dict[str, str]]) -> Iterator[dict[str, Any]]:
        for shard in shards:
            self._opened = shard["url"]
            stream = Shard(f"{self._orders.root}/{self._opened}", self._orders.hash_of(self._opened))
            yield {**shard, "stream": stream}
            self._ended.append((self._opened, *stream.end()))

    def _cannot_use(self, error: Exception, sample: str = "") -> bool:
        """Remember the first reason why a shard or a sample of it cannot be used; True: go on with the next one."""
        why = error if isinstance(error, OSError) else error.args[0]  # WebDataset adds to the arguments
        self._bad = self._bad or ": ".join(filter(None, (self._opened, sample, str(why))))
        return True

    def _made(self, batch: list[tuple[Any, int]]) -> tuple[Any, Any, Ended, str]:
        ended, self._ended = self._ended, Ended()
        if not batch:
            return None, None, ended, self._bad
        return torch.stack([image for image, _ in batch]), torch.tensor([label for _, label in batch]), ended, self._bad

    def _image(self, sample: dict[str, Any]) -> tuple[Any, int]:
        """A random crop of a sample's image, and its label."""
        encoded = next((sample[suffix] for suffix in IMAGES if suffix in sample), None)
        if encoded is None or LABEL not in sample:
            raise ValueError(f"no image ({', '.join(IMAGES)}), or no label ({LABEL})")
        label, classes = int(sample[LABEL]), len(self._orders.classes)
        if not 0 <= label < classes:
            raise ValueError(f"alluxio_train.classes: {classes}: label {label} is not below it; write more")
        torch.manual_seed(seed_of(self._orders.seed, self._epoch, f"{sample['__url__']}/{sample['__key__']}"))
        return self._change(Image.open(io.BytesIO(encoded)).convert("RGB")), label


def main() -> None:
    """Train as ordered."""
    harness = Harness()
    orders = harness.orders
    trainer, device = prepared(harness)
    harness.ready(framework=f"webdataset {webdataset.__version__}, torch {torch.__version__}", device=device)
    kept = [] if orders.root else batches(orders)
    harness.tell("listed", images=0 if orders.root else orders.images, seconds=0.0)
    failed = ""
    for epoch in harness.epochs():
        if failed:
            break
        found = Proven(orders, epoch.number)
        taken = [numbers for numbers, _ in steps(orders.images, orders, epoch.number, harness.among)]
        loader = DataLoader(found, batch_size=None, num_workers=orders.loaders, pin_memory=bool(orders.gpus))
        for images, labels, *proof in epoch.batches(loader if orders.root else made_up(kept, taken)):
            if proof:
                ended, bad = proof
                failed = failed or bad
                for shard in ended:
                    epoch.saw(*shard)
            if images is not None:
                epoch.step(*trainer.step(images, labels))
    if failed:
        sys.exit(failed)


if __name__ == "__main__":
    main()

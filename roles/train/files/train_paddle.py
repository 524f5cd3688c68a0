"""Training with PaddlePaddle: DatasetFolder, random crops, Adam; mixed precision on GPUs."""

from __future__ import annotations

import io
import random
import sys
import time
from typing import Any

import numpy as np
import paddle
from harness import Harness, Orders, order, seed_of
from paddle.io import BatchSampler, DataLoader, Dataset
from paddle.vision import datasets, models, transforms
from PIL import Image

MEAN, SPREAD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]  # of ImageNet's channels
MADE_UP_BATCHES = 4


class Proven(Dataset):
    """DatasetFolder whose images come with the digest of the bytes that they were decoded from."""

    def __init__(self, orders: Orders) -> None:
        super().__init__()
        self._orders, self.epoch = orders, 0
        below = f"{orders.folder}/" if orders.folder else ""
        root = f"{orders.root}/{below}".rstrip("/")
        wanted = set(orders.files)
        found = datasets.DatasetFolder(root)
        names = [(f"{below}{path[len(root) + 1 :]}", found.classes[label]) for path, label in found.samples]
        numbers = {name: number for number, name in enumerate(orders.classes)}
        self.images = [(name, numbers[label]) for name, label in names if name in wanted]
        self._change = transforms.Compose(
            [
                transforms.RandomResizedCrop(orders.size),
                transforms.RandomHorizontalFlip(),
                transforms.Transpose(),
                transforms.Normalize(MEAN, SPREAD),
            ]
        )

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, number: int) -> tuple[Any, ...]:
        name, label = self.images[number]
        sample = self._orders.read(name)
        seed = seed_of(self._orders.seed, self.epoch, name)
        random.seed(seed)  # Paddle's transforms draw from both
        np.random.seed(seed % 2**32)
        image = self._change(Image.open(io.BytesIO(sample.data)).convert("RGB"))
        return image.astype("float32"), label, name, sample.digest, len(sample.data), sample.calls, sample.storage_bytes


class Ordered(BatchSampler):
    """The epoch's order, a batch at a time."""

    def __init__(self, numbers: list[int], batch: int) -> None:
        self._batches = [numbers[at : at + batch] for at in range(0, len(numbers), batch)]

    def __iter__(self) -> Any:
        return iter(self._batches)

    def __len__(self) -> int:
        return len(self._batches)


def network(orders: Orders) -> Any:
    """One of Paddle's models, or `tiny`, by which tests on processors see that everything works."""
    paddle.seed(orders.seed)
    classes = len(orders.classes)
    if orders.model != "tiny":
        return getattr(models, orders.model)(num_classes=classes)
    layers = [paddle.nn.Conv2D(3, 8, 7, stride=4), paddle.nn.BatchNorm2D(8), paddle.nn.ReLU()]
    return paddle.nn.Sequential(
        *layers, paddle.nn.AdaptiveAvgPool2D(1), paddle.nn.Flatten(), paddle.nn.Linear(8, classes)
    )


def batches(orders: Orders) -> list[tuple[Any, Any]]:
    """Made-up batches: what the processors or GPUs can do at best costs no reading."""
    drawn = np.random.default_rng(orders.seed)
    shape = (orders.batch, 3, orders.size, orders.size)
    kept = [paddle.to_tensor(drawn.standard_normal(shape, dtype="float32")) for _ in range(MADE_UP_BATCHES)]
    labels = paddle.to_tensor(drawn.integers(len(orders.classes), size=orders.batch))
    return [(images, labels) for images in kept]


def made_up(kept: list[tuple[Any, Any]], orders: Orders) -> Any:
    """An epoch of these batches, again and again."""
    for step, begin in enumerate(range(0, orders.images, orders.batch)):
        images, labels = kept[step % MADE_UP_BATCHES]
        count = min(orders.batch, orders.images - begin)
        yield images[:count], labels[:count]


def loader(found: Proven, orders: Orders, epoch: int) -> Any:
    """The loader of one epoch: as many processes as ordered, images in the epoch's order."""
    found.epoch = epoch
    batches = Ordered(order(len(found), orders.seed, epoch), orders.batch)
    return DataLoader(found, batch_sampler=batches, num_workers=orders.loaders)


def main() -> None:
    """Train as ordered."""
    harness = Harness()
    orders = harness.orders
    if orders.gpus > 1:
        sys.exit("this program trains on one GPU")
    if orders.gpus and not paddle.device.cuda.device_count():
        sys.exit("a GPU is ordered, and paddle sees none")
    paddle.set_device("gpu" if orders.gpus else "cpu")
    gpu = paddle.device.cuda.get_device_name() if orders.gpus else None
    model = network(orders)
    optimizer = paddle.optimizer.Adam(learning_rate=1e-3, parameters=model.parameters())
    scaler = paddle.amp.GradScaler(enable=bool(orders.gpus))
    harness.ready(framework=f"paddle {paddle.__version__}", device=gpu or "cpu")
    begun = time.perf_counter()
    found = Proven(orders) if orders.root else None
    kept = [] if found else batches(orders)
    harness.tell("listed", images=len(found) if found else orders.images, seconds=time.perf_counter() - begun)
    model.train()
    for epoch in harness.epochs():
        source = loader(found, orders, epoch.number) if found else made_up(kept, orders)
        for images, labels, *proof in epoch.batches(source):
            for number, name in enumerate(proof[0] if proof else ()):
                epoch.saw(name, *(part[number] for part in proof[1:]))
            with paddle.amp.auto_cast(enable=bool(orders.gpus)):
                answers = model(images)
                loss = paddle.nn.functional.cross_entropy(answers, labels.reshape([-1, 1]))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
            best = answers.detach().topk(min(5, answers.shape[1]), axis=1)[1].numpy() == labels.numpy()[:, None]
            epoch.step(float(loss), len(labels), int(best[:, 0].sum()), int(best.any(axis=1).sum()))


if __name__ == "__main__":
    main()

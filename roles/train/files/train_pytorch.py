"""ImageNet's usual training with PyTorch: torchvision's ImageFolder, random crops, SGD; mixed precision on GPUs.

Started by torchrun, processes of one or several nodes train together (DistributedDataParallel): each one takes its
share of every step. A step has `batch` images of each node.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from typing import Any

import torch
from harness import Alone, Harness, Orders, order, seed_of
from PIL import Image
from torch import distributed, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, models, transforms

MEAN, SPREAD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]  # of ImageNet's channels, as torchvision's models want them
MADE_UP_BATCHES = 4
RAMP_STEPS = 500  # in which the learning rate rises to its full height: from the first step on, losses would explode
WARMING_STEPS = 3  # of each size of a batch: a GPU's libraries load and choose their kernels meanwhile


def change(orders: Orders) -> Any:
    """What is done with each image."""
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(orders.size),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, SPREAD),
        ]
    )


class Proven(Dataset):
    """ImageFolder whose images come with the digest of the bytes that they were decoded from."""

    def __init__(self, orders: Orders) -> None:
        self._orders, self.epoch = orders, 0
        below = f"{orders.folder}/" if orders.folder else ""
        root = f"{orders.root}/{below}".rstrip("/")
        found = datasets.ImageFolder(root)
        wanted = set(orders.files)
        names = [(f"{below}{path[len(root) + 1 :]}", found.classes[label]) for path, label in found.samples]
        numbers = {name: number for number, name in enumerate(orders.classes)}
        self.images = [(name, numbers[label]) for name, label in names if name in wanted]
        self._change = change(orders)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, number: int) -> tuple[Any, ...]:
        name, label = self.images[number]
        sample = self._orders.read(name)
        torch.manual_seed(seed_of(self._orders.seed, self.epoch, name))
        image = self._change(Image.open(io.BytesIO(sample.data)).convert("RGB"))
        return image, label, name, sample.digest, len(sample.data), sample.calls, sample.storage_bytes


def network(orders: Orders) -> nn.Module:
    """One of torchvision's models, or `tiny`, by which tests on processors see that everything works."""
    torch.manual_seed(orders.seed)
    classes = len(orders.classes)
    if orders.model != "tiny":
        model: nn.Module = getattr(models, orders.model)(num_classes=classes)
        return model
    layers = [nn.Conv2d(3, 8, 7, stride=4), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(8, classes))


def batches(orders: Orders) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Made-up batches, where loaders would put them: what the processors or GPUs can do at best costs no reading."""
    torch.manual_seed(orders.seed)
    labels = torch.randint(len(orders.classes), (orders.batch,))
    kept = [torch.randn(orders.batch, 3, orders.size, orders.size) for _ in range(MADE_UP_BATCHES)]
    return [(images.pin_memory() if orders.gpus else images, labels) for images in kept]


class Together(Alone):
    """One of the processes that torchrun started: gloo joins processors, and nccl GPUs."""

    def __init__(self, orders: Orders) -> None:
        self.rank, self.place, self.world = (int(os.environ[key]) for key in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
        self._device = torch.device("cuda", self.place) if orders.gpus else torch.device("cpu")
        if orders.gpus:
            torch.cuda.set_device(self._device)
        distributed.init_process_group("nccl" if orders.gpus else "gloo")

    def wait(self) -> None:
        """Until all are here."""
        distributed.barrier()

    def sums(self, numbers: list[float]) -> list[float]:
        """Of the numbers of all."""
        added = torch.tensor(numbers, dtype=torch.float64, device=self._device)
        distributed.all_reduce(added)
        return list(added.tolist())

    def end(self) -> None:
        """End this process without taking the interpreter apart.

        A group of gloo that goes waits for its threads with the interpreter's lock held, and they may wait for that
        lock, to let go of a tensor (seen with torch 1.13: a process never ended).
        """
        os._exit(0)


def steps(count: int, orders: Orders, epoch: int, among: Alone) -> list[tuple[list[int], int]]:
    """An epoch's steps: the images of this process in each, which may be none in the last one, and of all processes."""
    numbers = order(count, orders.seed, epoch)
    size = orders.batch * among.world // max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    whole = [numbers[begin : begin + size] for begin in range(0, count, size)]
    return [(among.share(batch), len(batch)) for batch in whole]


def made_up(kept: list[tuple[torch.Tensor, torch.Tensor]], taken: list[list[int]]) -> Iterator[Any]:
    """An epoch of these batches, again and again."""
    for step, numbers in enumerate(taken):
        images, labels = kept[step % MADE_UP_BATCHES]
        yield images[: len(numbers)], labels[: len(numbers)]


def loader(found: Proven, orders: Orders, epoch: int, taken: list[list[int]]) -> Any:
    """The loader of one epoch: as many processes as ordered, images as they are taken by step."""
    found.epoch = epoch
    return DataLoader(found, batch_sampler=taken, num_workers=orders.loaders, pin_memory=bool(orders.gpus))


class Trainer:
    """A model with what trains it."""

    def __init__(self, orders: Orders, device: torch.device, among: Alone) -> None:
        self._device, self._mixed, self._among = device, bool(orders.gpus), among
        self.model = network(orders).to(device, memory_format=torch.channels_last)
        nodes = 1
        if among.world > 1:
            self.model = nn.parallel.DistributedDataParallel(self.model, [device] if orders.gpus else None)
            nodes = among.world // int(os.environ["LOCAL_WORLD_SIZE"])
        elif orders.gpus > 1:
            self.model = nn.DataParallel(self.model, list(range(orders.gpus)))
        self.model.train()
        self._rate, self._steps = 0.1 * orders.batch * nodes / 256, 0
        self._optimizer = torch.optim.SGD(self.model.parameters(), lr=self._rate, momentum=0.9, weight_decay=1e-4)
        self._scaler = torch.cuda.amp.GradScaler(enabled=self._mixed)

    def step(self, images: torch.Tensor, labels: torch.Tensor, whole: int = 0) -> tuple[float, int, int, int]:
        """Train on a batch, this process's part of `whole` images (0: all of them): the step's loss, images, and how
        many had their class first, or among the first five.
        """
        count = len(labels)
        whole = whole or count
        if not count:  # others have images left, and wait for gradients of this process
            images, labels = images.new_zeros(1, *images.shape[1:]), labels.new_zeros(1)
        shown = images.to(self._device, memory_format=torch.channels_last, non_blocking=True)
        expected = labels.to(self._device, non_blocking=True)
        with torch.autocast(self._device.type, enabled=self._mixed):
            answers = self.model(shown)
            loss = nn.functional.cross_entropy(answers, expected)
        self._steps += 1
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * min(1.0, self._steps / RAMP_STEPS)
        self._optimizer.zero_grad(set_to_none=True)
        # gradients are averaged over processes, whose parts may differ in size
        self._scaler.scale(loss * (count * self._among.world / whole)).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        best = (answers.detach().topk(min(5, answers.shape[1]), dim=1).indices == expected[:, None])[:count]
        found = int(best[:, 0].sum()), int(best.any(dim=1).sum())
        if self._among.world == 1:
            return loss.item(), count, *found
        added, top1, top5 = self._among.sums([loss.item() * count, *found])
        return added / whole, whole, int(top1), int(top5)


def warm_up(orders: Orders, device: torch.device, among: Alone) -> None:
    """Train a model that is thrown away, so that the first epoch is timed with kernels loaded and chosen."""
    thrown_away = Trainer(orders, device, among)
    sizes = {whole: len(taken) for taken, whole in steps(orders.images or orders.batch, orders, 1, among)}
    for whole, count in sizes.items():
        batch = torch.randn(count, 3, orders.size, orders.size), torch.zeros(count, dtype=torch.long)
        for _ in range(WARMING_STEPS):
            thrown_away.step(*batch, whole)


def prepared(harness: Harness) -> tuple[Trainer, str]:
    """What trains as ordered, and the name of the device."""
    orders = harness.orders
    if orders.gpus > torch.cuda.device_count():
        raise RuntimeError(f"{orders.gpus} GPUs are ordered, and torch sees {torch.cuda.device_count()}")
    if "WORLD_SIZE" in os.environ:
        harness.among = Together(orders)
    among = harness.among
    device = torch.device("cuda", among.place) if orders.gpus else torch.device("cpu")
    gpu = torch.cuda.get_device_name(device) if orders.gpus else None
    if orders.gpus:
        torch.backends.cudnn.benchmark = True
        warm_up(orders, device, among)
    else:
        torch.use_deterministic_algorithms(True)
    return Trainer(orders, device, among), gpu or "cpu"


def main() -> None:
    """Train as ordered."""
    harness = Harness()
    orders = harness.orders
    trainer, device = prepared(harness)
    harness.ready(framework=f"torch {torch.__version__}", device=device)
    begun = time.perf_counter()
    found = Proven(orders) if orders.root else None
    kept = [] if found else batches(orders)
    count = len(found) if found else orders.images
    harness.tell("listed", images=count, seconds=time.perf_counter() - begun)
    nothing = torch.zeros(0, 3, orders.size, orders.size), torch.zeros(0, dtype=torch.long)
    for epoch in harness.epochs():
        planned = steps(count, orders, epoch.number, harness.among)
        taken = [numbers for numbers, _ in planned if numbers]
        source = epoch.batches(loader(found, orders, epoch.number, taken) if found else made_up(kept, taken))
        for numbers, whole in planned:
            images, labels, *proof = next(source) if numbers else nothing
            for number, name in enumerate(proof[0] if proof else ()):
                epoch.saw(name, *(part[number] for part in proof[1:]))
            epoch.step(*trainer.step(images, labels, whole))
        next(source, None)  # of a loader that has nothing left, processes end
    harness.among.end()


if __name__ == "__main__":
    main()

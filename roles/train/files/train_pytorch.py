"""ImageNet's usual training with PyTorch: torchvision's ImageFolder, random crops, SGD; mixed precision on GPUs."""

from __future__ import annotations

import io
import sys
import time
from typing import Any

import torch
from harness import Harness, Orders, order, seed_of
from PIL import Image
from torch import nn
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


def made_up(kept: list[tuple[torch.Tensor, torch.Tensor]], orders: Orders) -> Any:
    """An epoch of these batches, again and again."""
    for step, begin in enumerate(range(0, orders.images, orders.batch)):
        images, labels = kept[step % MADE_UP_BATCHES]
        count = min(orders.batch, orders.images - begin)
        yield images[:count], labels[:count]


def loader(found: Proven, orders: Orders, epoch: int) -> Any:
    """The loader of one epoch: as many processes as ordered, images in the epoch's order."""
    found.epoch = epoch
    return DataLoader(
        found,
        batch_size=orders.batch,
        sampler=order(len(found), orders.seed, epoch),
        num_workers=orders.loaders,
        pin_memory=bool(orders.gpus),
    )


class Trainer:
    """A model with what trains it."""

    def __init__(self, orders: Orders, device: torch.device) -> None:
        self._device, self._mixed = device, bool(orders.gpus)
        self.model = network(orders).to(device, memory_format=torch.channels_last)
        if orders.gpus > 1:
            self.model = nn.DataParallel(self.model, list(range(orders.gpus)))
        self.model.train()
        self._rate, self._steps = 0.1 * orders.batch / 256, 0
        self._optimizer = torch.optim.SGD(self.model.parameters(), lr=self._rate, momentum=0.9, weight_decay=1e-4)
        self._scaler = torch.cuda.amp.GradScaler(enabled=self._mixed)

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> tuple[float, int, int, int]:
        """Train on one batch: its loss, images, and how many had their class first, or among the first five."""
        shown = images.to(self._device, memory_format=torch.channels_last, non_blocking=True)
        expected = labels.to(self._device, non_blocking=True)
        with torch.autocast(self._device.type, enabled=self._mixed):
            answers = self.model(shown)
            loss = nn.functional.cross_entropy(answers, expected)
        self._steps += 1
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * min(1.0, self._steps / RAMP_STEPS)
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        best = answers.detach().topk(min(5, answers.shape[1]), dim=1).indices == expected[:, None]
        return loss.item(), len(expected), int(best[:, 0].sum()), int(best.any(dim=1).sum())


def warm_up(orders: Orders, device: torch.device) -> None:
    """Train a model that is thrown away, so that the first epoch is timed with kernels loaded and chosen."""
    thrown_away = Trainer(orders, device)
    sizes = {min(orders.batch, orders.images or orders.batch), orders.images % orders.batch} - {0}
    for size in sizes:
        batch = torch.randn(size, 3, orders.size, orders.size), torch.zeros(size, dtype=torch.long)
        for _ in range(WARMING_STEPS):
            thrown_away.step(*batch)


def prepared(orders: Orders) -> tuple[Trainer, str]:
    """What trains as ordered, and the name of the device."""
    if orders.gpus > torch.cuda.device_count():
        sys.exit(f"{orders.gpus} GPUs are ordered, and torch sees {torch.cuda.device_count()}")
    device = torch.device("cuda" if orders.gpus else "cpu")
    gpu = torch.cuda.get_device_name(device) if orders.gpus else None
    if orders.gpus:
        torch.backends.cudnn.benchmark = True
    else:
        torch.use_deterministic_algorithms(True)
    if orders.gpus:
        warm_up(orders, device)
    return Trainer(orders, device), gpu or "cpu"


def main() -> None:
    """Train as ordered."""
    harness = Harness()
    orders = harness.orders
    trainer, device = prepared(orders)
    harness.ready(framework=f"torch {torch.__version__}", device=device)
    begun = time.perf_counter()
    found = Proven(orders) if orders.root else None
    kept = [] if found else batches(orders)
    harness.tell("listed", images=len(found) if found else orders.images, seconds=time.perf_counter() - begun)
    for epoch in harness.epochs():
        source = loader(found, orders, epoch.number) if found else made_up(kept, orders)
        for images, labels, *proof in epoch.batches(source):
            for number, name in enumerate(proof[0] if proof else ()):
                epoch.saw(name, *(part[number] for part in proof[1:]))
            epoch.step(*trainer.step(images, labels))


if __name__ == "__main__":
    main()

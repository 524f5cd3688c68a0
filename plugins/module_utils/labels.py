"""Images of a dataset: in a folder for each class, as torchvision's ImageFolder has them, or in shards with labels."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import reader

IMAGES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")  # what ImageFolder takes
USUAL = "train"  # the folder that ImageNet's training images are in
LEAST_CLASSES = 2
SHARDS = {
    "tfrecord": (re.compile(r"\.tfrecords?$|-\d{5}-of-\d{5}$"), "train-00000-of-01024 or train-0.tfrecord"),
    "tar": (re.compile(r"\.tar$"), "train-000000.tar"),
}
Orders = dict[str, Any]
Manifest = tuple[dict[str, Any], list[reader.Entry]]  # its header and its files, as reader.load has them


class Part(NamedTuple):
    """One of so many trainings, each of which has images of its own."""

    number: int
    of: int


WHOLE = Part(0, 1)


class TooFewError(ValueError):
    """There are not enough images for all parts."""


def ordered(manifest: Manifest, orders: Orders, part: Part = WHOLE) -> tuple[str, list[reader.Entry]]:
    """The folder and the files of an epoch, as filter train_orders tells it; ValueError: there are none."""
    header, entries = manifest
    shards = orders["shards"]
    if orders.get("emulated"):
        folder, files = everything(entries, orders.get("folder"))
    elif not shards:
        folder, files = labelled(entries, orders.get("folder"))
    else:
        folder, files = sharded(entries, shards["kind"], orders.get("folder"))
    return folder, chosen((header, files), shards["count"] if shards else orders.get("images"), part)


def told(files: list[reader.Entry], orders: Orders) -> Orders:
    """Orders as the program gets them: with names of files and classes, and how many images made-up batches have.

    How many images are in shards shows when they are read: until then it follows from the size of ImageNet's.
    """
    shards = orders["shards"]
    if shards:
        classes = [str(number) for number in range(shards["classes"])]
        images = max(1, sum(entry.size for entry in files) // shards["image_bytes"])
    else:
        classes = sorted({class_of(entry.path, orders["folder"]) for entry in files} - {""})
        images = len(files)
    algorithms = {entry.path: reader.algorithm_of(entry.digest) for entry in files}
    about = {
        "files": [entry.path for entry in files],
        "algorithms": {path: kind for path, kind in algorithms.items() if kind != reader.SHA256},
        "classes": classes,
        "images": images,
    }
    return {key: value for key, value in orders.items() if key != "shards"} | about


def everything(entries: list[reader.Entry], folder: str | None = None) -> tuple[str, list[reader.Entry]]:
    """The folder (`train`, or the whole dataset, where none is named), and all files below it."""
    for name in (folder,) if folder is not None else (USUAL, ""):
        if found := [entry for entry in entries if entry.path.startswith(f"{name}/" if name else "")]:
            return name, found
    raise ValueError(f"its folder {folder}: no file in it" if folder else "the dataset: no file in it")


def sharded(entries: list[reader.Entry], kind: str, folder: str | None = None) -> tuple[str, list[reader.Entry]]:
    """The folder with shards (`train`, or the whole dataset, where none is named), and the shards below it."""
    pattern, example = SHARDS[kind]
    for below in (folder,) if folder is not None else (USUAL, ""):
        inside = f"{below}/" if below else ""
        shards = [entry for entry in entries if entry.path.startswith(inside) and pattern.search(entry.path)]
        if shards:
            return below, shards
    where = f"its folder {folder}" if folder else "the dataset"
    raise ValueError(f"{where}: no shard in it that is called like {example}")


def labelled(entries: list[reader.Entry], folder: str | None = None) -> tuple[str, list[reader.Entry]]:
    """The folder with a folder for each class (`train`, or the whole dataset, where none is named), and its images.

    ValueError: there are no labels in it.
    """
    for below in (folder,) if folder is not None else (USUAL, ""):
        images = [entry for entry in entries if class_of(entry.path, below)]
        if len({class_of(entry.path, below) for entry in images}) >= LEAST_CLASSES:
            return below, images
    where = f"its folder {folder}" if folder else "the dataset" if folder == "" else "the dataset and its folder train"
    raise ValueError(f"{where}: no folder for each class with images in it, so nothing says what an image shows")


def class_of(path: str, folder: str) -> str:
    """The class of an image by its path; empty for what is no image of a class."""
    below = f"{folder}/" if folder else ""
    name, _, rest = path[len(below) :].partition("/")
    return name if path.startswith(below) and rest and rest.lower().endswith(IMAGES) else ""


def chosen(manifest: Manifest, count: int | None, part: Part = WHOLE) -> list[reader.Entry]:
    """So many of the images (None: all), the first of the order that caches are filled in; in order of paths.

    Each part has so many of its own.
    """
    header, images = manifest
    size = count or len(images) // part.of
    if part.of > 1 and size * part.of > len(images):
        raise TooFewError(f"{part.of} times {size} images are wanted, and there are {len(images)}")
    small = {**header, "large_bytes": 1 << 62}
    wanted = reader.Selection("small", part.number * size, (part.number + 1) * size)
    return sorted(reader.select(small, images, wanted))


def about(manifest: Manifest, orders: Orders, part: Part = WHOLE) -> dict[str, Any]:
    """What is trained on as ordered: {folder, shards, images, classes, bytes, digested}.

    Or why nothing is: {few: why} or {unlabelled: why}. shards: how many, 0 where each image is a file.
    """
    try:
        folder, files = ordered(manifest, orders, part)
    except TooFewError as error:
        return {"few": str(error)}
    except ValueError as error:
        return {"unlabelled": str(error)}
    all_told = told(files, {**orders, "folder": folder})
    return {
        "folder": folder,
        "shards": len(files) if orders["shards"] else 0,
        "images": all_told["images"],
        "classes": len(all_told["classes"]),
        "bytes": sum(entry.size for entry in files),
        "digested": sum(entry.digest is not None for entry in files),
    }

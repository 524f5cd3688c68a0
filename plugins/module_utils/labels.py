"""Images of a dataset in a folder for each class, as ImageNet and torchvision's ImageFolder have them."""

from __future__ import annotations

from ansible_collections.alluxio.fuse.plugins.module_utils import reader

IMAGES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")  # what ImageFolder takes
USUAL = "train"  # the folder that ImageNet's training images are in
LEAST_CLASSES = 2


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


def chosen(images: list[reader.Entry], count: int | None, seed: int) -> list[reader.Entry]:
    """So many of the images (None: all), the first of the seeded order that caches are filled in; in order of paths."""
    small = {"large_bytes": 1 << 62}
    return sorted(reader.select(small, images, seed, reader.Selection("small", 0, count)))

"""Images with packages, and programs in containers that see a dataset."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from bundle import CHECKOUT, engine_options

HERE = CHECKOUT / "tests/train"
MOST_S = 240  # a program that hangs is ended


def image_with(folder: Path, image: str, tag: str, *packages: str) -> str:
    """Build an image: another one, and packages in it without what they need, which is Debian's."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *packages]
    subprocess.run(pip, check=True)
    build = ["podman", "build", "--quiet", "--pull=never", "--isolation=chroot", "--tag", tag]
    build += ["--build-context", f"packages={folder}", "--build-arg", f"IMAGE={image}"]
    command = [*build, "--file", str(HERE / "Containerfile.packages"), str(HERE)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return tag


def bring(folder: Path, *programs: str) -> None:
    """Copy programs of these tests to where a container sees them."""
    for name in programs:
        shutil.copy(HERE / name, folder)


def command(image: str, container: str, dataset: Path, folder: Path, *arguments: str) -> list[str]:
    """The command line of a Python program of `folder` in a container that sees a dataset's folder, and its remounts.

    Its processes have the numbers that this machine gives them.
    """
    return [
        *("podman", "run", "--interactive", "--rm", f"--name={container}", "--network=none", "--pull=never"),
        *(*engine_options(), f"--timeout={MOST_S}", "--pid=host"),
        *(f"--volume={dataset}:{dataset}:ro,rslave", f"--volume={folder}:{folder}"),
        *("--entrypoint=python3", image, "-u", *arguments),
    ]

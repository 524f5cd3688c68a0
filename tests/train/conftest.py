"""What trainings of the tests share."""

from __future__ import annotations

import subprocess

import pytest
from bundle import CHECKOUT
from torch_image import IMAGE


@pytest.fixture(scope="session")
def image() -> str:
    """Built once: an image with PyTorch."""
    subprocess.run(["tests/lab/node/build", "bookworm"], cwd=CHECKOUT, check=True)
    build = ["podman", "build", "--quiet", "--pull=never", "--isolation=chroot", "--tag", IMAGE]
    subprocess.run([*build, str(CHECKOUT / "tests/train")], check=True, stdout=subprocess.DEVNULL)
    return IMAGE

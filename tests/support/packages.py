"""Debian's packages that tests need on this machine."""

from __future__ import annotations

import shutil
import subprocess


def need(program: str, package: str = "") -> None:
    """Install the package of a program, which has its name if no other is said, where it is missing."""
    if not shutil.which(program):
        subprocess.run(["apt-get", "-qq", "update"], check=True)
        subprocess.run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", package or program], check=True)

"""What the tests of platform fluid share: the vendor's models."""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from fluid_systems import Nodes, four_nodes

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements/fluid.txt"
sys.path[:0] = [str(ROOT / "tests/chart"), str(ROOT / "tools"), str(ROOT / "tests/support")]


@pytest.fixture(scope="session")
def fluid() -> ModuleType:
    """The models of `fluid-pysdk`, installed once into the user's cache, beside no other package."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "alluxio-fuse"
    place = cache / f"fluid-pysdk-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    if not place.exists():
        fresh = place.with_suffix(".new")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--require-hashes", "--target", fresh, "-r", LOCK], check=True)
        fresh.rename(place)
    sys.path.insert(0, str(place))
    return importlib.import_module("fluid")


@pytest.fixture(scope="session")
def nodes() -> Nodes:
    """Four nodes of V100."""
    return four_nodes()

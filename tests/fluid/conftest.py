"""What the tests of platform fluid share: the vendor's models, and the two source systems as plans."""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements/fluid.txt"
sys.path[:0] = [str(ROOT / "tests/chart"), str(ROOT / "tools"), str(ROOT / "tests/support")]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden objects anew; review the diff")


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
def nodes() -> dict[str, dict[str, Any]]:
    """Four nodes of V100, as the module `cluster_facts` returns them."""
    labels = {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}
    return {f"node-{number}": {"labels": labels} for number in range(4)}

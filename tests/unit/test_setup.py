"""scripts/setup in two terminals at once: one would pull packages away from under the other."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_it_waits_for_another_one() -> None:
    command = [str(ROOT / "scripts/setup"), "dev"]
    with (ROOT / "pyproject.toml").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as second:
            with pytest.raises(subprocess.TimeoutExpired):
                second.wait(2)
            fcntl.flock(held, fcntl.LOCK_UN)
            assert second.wait(60) == 0

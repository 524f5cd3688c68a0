"""Molecule's scenarios: apply, predict, apply again, verify, remove and compare, on podman nodes with systemd."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).parents[2]
SCENARIOS = sorted({path.parent.name for path in CHECKOUT.glob("molecule/*/molecule.yml")} - {"shared"})


def suites(scenario: str) -> set[str]:
    """The Debian suites of a scenario's nodes."""
    usual, own = (
        yaml.safe_load((CHECKOUT / "molecule" / name / "inventory.yml").read_text())["nodes"]
        for name in ("shared", scenario)
    )
    return {node.get("suite", usual["vars"]["suite"]) for node in own["hosts"].values()}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: str) -> None:
    subprocess.run(["tests/lab/node/build", *sorted(suites(scenario))], cwd=CHECKOUT, check=True)
    tools = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["molecule", "--base-config", "molecule/shared/molecule.yml", "test", "--scenario-name", scenario],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stdout[-8000:]
